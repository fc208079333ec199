"""Files of `torch.save` in PyTorch's place: each library reads what the other wrote."""

from __future__ import annotations

import argparse
import collections
import datetime
import enum
import io
import pathlib
import pickle
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from typing import Any, ClassVar, NamedTuple

import cloudpickle
import numpy as np
import pytest
import torch

import oneflow as flow
from tests.checkpoint.both_libraries import DIRECTIONS, OURS, saved
from tests.in_place import no_subclass_yet

DTYPES = (
    *("float64", "float32", "float16", "bfloat16", "complex64", "complex128", "bool", "uint8"),
    *("int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
)


class Point(NamedTuple):
    """A tuple with names."""

    x: Any
    y: Any


class Colour(enum.Enum):
    """An enumeration."""

    red = 1


@dataclass
class Settings:
    """An object of a program."""

    rate: float
    weight: Any


class Named(collections.OrderedDict):
    """A container of a program."""


def double(x: Any) -> Any:
    """A function of a program."""
    return x * 2


def _views(library: Any) -> Any:
    x = library.arange(24.0).reshape(2, 3, 4)
    parts = [x.transpose(0, 2), x[1], x[:, 1, ::2], x[0].t(), x.flatten(), x[1, 2, 3]]
    return {"parts": parts, "whole": x, "expanded": x[:1, :1].expand(2, 3, 4)}


def _part_alone(library: Any) -> Any:
    return library.arange(100.0)[40:60:2]


def _conjugates(library: Any) -> Any:
    z = library.tensor([1 + 2j, 3 - 1j])
    return [z, z.conj(), library.view_as_real(library.tensor([1 + 2j]))]


def _parts_of_conjugates(library: Any) -> Any:
    z = library.tensor([[1 + 2j, 3 - 4j]])
    return [z.conj().imag, z.conj()[:, 1:].imag, z.mH.imag, z.conj().real]


def _parts_of_numbers_seen_as_complex(library: Any) -> Any:
    x = library.arange(4.0).view(2, 2)
    return [x, library.view_as_complex(x).conj().imag, x[0]]


def _parameters(library: Any) -> Any:
    weight = library.nn.Parameter(library.ones(2, 3))
    frozen = library.nn.Parameter(library.zeros(2), requires_grad=False)
    named = library.nn.Parameter(library.zeros(2))
    named.group = {"name": "a", "mean": library.ones(1)}
    return {"a": weight, "tied": weight, "view": weight.detach().t(), "b": frozen, "c": named}


def _attributes(library: Any) -> Any:
    x = library.ones(2)
    x.note, x.other = "a", [library.zeros(1)]
    return [x, x, library.nn.Buffer(library.ones(1), persistent=False)]


def _with_gradients(library: Any) -> Any:
    x = library.ones(2, requires_grad=True)
    return [x, x * 2, (x * 2).detach()]


def _detached(library: Any) -> Any:
    x = library.ones(2, requires_grad=True)
    return [x, x.detach()]


def _tied(library: Any) -> Any:
    x = library.ones(2)
    return [library.nn.Parameter(x), library.nn.Parameter(x)]


def _unsigned_parts(library: Any) -> Any:
    kinds = library.uint16, library.uint32, library.uint64
    wholes = [library.tensor([1, 2, 3], dtype=kind) for kind in kinds]
    return [[x, x[1:], x[::2]] for x in wholes]


def _model_state(library: Any) -> Any:
    layers = library.nn.Linear(3, 4), library.nn.BatchNorm1d(4), library.nn.ReLU()
    model = library.nn.Sequential(*layers)
    for number, parameter in enumerate(model.parameters()):
        parameter.data.fill_(number + 0.5)
    return model.state_dict()


#: Data that PyTorch loads without being asked to trust a file.
PLAIN: dict[str, Callable[[Any], Any]] = {
    **{
        f"of {name}": lambda library, name=name: library.tensor(
            [[0, 1, 1], [1, 0, 1]], dtype=getattr(library, name)
        )
        for name in DTYPES
    },
    "views": _views,
    "part alone": _part_alone,
    "conjugates": _conjugates,
    "parameters": _parameters,
    "attributes": _attributes,
    "gradients": _with_gradients,
    "detached": _detached,
    "cut alike": lambda library: [x := library.ones(2), x.detach(), x[1:], x[1:]],
    "parameters of one memory": _tied,
    "unsigned parts": _unsigned_parts,
    "state dict": _model_state,
    "a number": lambda library: library.tensor(3.5),
    "empty": lambda library: [library.empty(0), library.empty(0, 3), library.empty(2, 0, 5)],
    "meta": lambda library: library.empty(2, 3, device="meta", dtype=library.float16),
    "coordinates": lambda library: library.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse(),
    "repeated": lambda library: library.sparse_coo_tensor(
        library.tensor([[1, 1], [0, 0]]), library.tensor([1.0, 2.0]), (2, 3)
    ),
    "rows": lambda library: library.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr(),
    "types": lambda library: [library.float16, library.bool, library.complex64, library.int64],
    "devices": lambda library: [library.device("cpu"), library.device("cuda", 1)],
    "size": lambda library: [library.Size([2, 3]), library.Size([])],
    "numbers": lambda library: [0, -1, 2**40, 2**80, 1.5, float("inf"), True, None, 1 + 2j],
    "texts": lambda library: ["", "a\nb", "ü€", "x" * 300, b"\x00\xff", bytearray(b"a")],
    "containers": lambda library: (
        {"a": [1, (2,), ()], 3: {"b": set(), (1, 2): {1, 2}}},
        collections.OrderedDict([("b", 1), ("a", library.ones(1))]),
        collections.Counter("aab"),
    ),
    "same objects": lambda library: [same := [library.ones(1)], same, {"again": same}],
}


class Subclassed(torch.Tensor):
    """A class of tensors for PyTorch."""


with no_subclass_yet():

    class OurSubclassed(flow.Tensor):
        """A class of tensors."""


def _of_subclass(library: Any) -> Any:
    kind = Subclassed if library is torch else OurSubclassed
    x = library.arange(6.0).reshape(2, 3).as_subclass(kind)
    x.note = "b"
    return x


def _nested(library: Any) -> Any:
    value: list[Any] = [library.ones(1)]
    for _ in range(200):
        value = [value]
    return value


#: What is loaded from files that are trusted.
TRUSTED: dict[str, Callable[[Any], Any]] = {
    "named tuple": lambda library: Point(library.ones(2), [1]),
    "namespace": lambda library: argparse.Namespace(lr=0.1, dtype=library.float16, kind=int),
    "object": lambda library: Settings(0.1, library.arange(3)),
    "enumeration": lambda library: {Colour.red: library.ones(1)},
    "default dict": lambda library: collections.defaultdict(dict, a=library.ones(1)),
    "container of its own": lambda library: Named(a=library.ones(2)),
    "function": lambda library: [double, len, library.nn.functional.relu],
    "compiled functions": lambda library: [
        *(library.relu, library.nn.functional.gelu, library.special.erf, library.sigmoid),
        *(library.linalg.svd, library.fft.fft),
    ],
    "classes": lambda library: [library.nn.Linear, library.optim.Adam, library.Tensor, Settings],
    "array": lambda library: [np.arange(6).reshape(2, 3), np.float32(1.5), np.array("text")],
    "path and date": lambda library: [pathlib.PurePosixPath("a/b"), datetime.date(2024, 2, 29)],
    "no bytes": lambda library: b"",
    "deque": lambda library: collections.deque([library.ones(1)], maxlen=3),
    "slices": lambda library: [slice(1, None), range(3), frozenset({1}), Ellipsis],
    "storage": lambda library: library.arange(3.0).untyped_storage(),
    "nested": _nested,
}


def described(value: Any, seen: dict[Any, int] | None = None) -> Any:
    """Describe an object of either library, with the places at which memory is the same."""
    seen = {} if seen is None else seen
    if isinstance(value, torch.Tensor | flow.Tensor):
        return _described_tensor(value, seen)
    if isinstance(value, torch.UntypedStorage | flow.UntypedStorage):
        return "bytes", value.tolist()
    if isinstance(value, torch.TypedStorage | flow.TypedStorage):
        # PyTorch loads bytes as elements of a type.
        return "bytes", value.untyped().tolist()
    if isinstance(value, torch.device | flow.device):
        return "device", value.type, value.index if value.type != "cpu" else None
    if isinstance(value, dict | argparse.Namespace | Settings):
        content = value if isinstance(value, dict) else vars(value)
        pairs = [(described(key, seen), described(item, seen)) for key, item in content.items()]
        kind = collections.OrderedDict if hasattr(value, "_metadata") else type(value)
        return kind.__name__, pairs, described(getattr(value, "_metadata", None), seen)
    if isinstance(value, list | tuple | collections.deque):
        return type(value).__name__, [described(item, seen) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return "array", value.dtype.str, value.tolist()
    if isinstance(value, type) or callable(value):
        home = value.__module__ or "torch"
        name = value.__name__.removeprefix("linalg_").removeprefix("special_")
        return "torch" if home.startswith(("oneflow", "torch")) else home, name.removeprefix("fft_")
    return type(value).__name__.lower(), str(value).replace("oneflow.", "torch.")


def _described_tensor(x: Any, seen: dict[Any, int]) -> Any:
    is_parameter = isinstance(x, torch.nn.Parameter | flow.nn.Parameter)
    kind = "Parameter" if is_parameter else type(x).__name__.removeprefix("Our")
    kind = "Tensor" if kind in ("Buffer", "SparseTensor") else kind
    attributes = {key: item for key, item in vars(x).items() if key != "_is_buffer"}
    what = (kind, str(x.dtype).split(".")[1], tuple(x.shape), x.requires_grad)
    layout = str(x.layout).split(".")[1]
    if layout == "sparse_coo":
        return (*what, x._indices().tolist(), x._values().tolist(), x.is_coalesced())
    if layout == "sparse_csr":
        parts = x.crow_indices(), x.col_indices(), x.values()
        return (*what, [part.tolist() for part in parts])
    if x.device.type == "meta":
        return (*what, tuple(x.stride()))
    memory = x.untyped_storage()
    key = seen.setdefault(memory.data_ptr(), len(seen)) if memory.nbytes() else None
    place = tuple(x.stride()), x.storage_offset(), memory.nbytes(), x.is_conj(), key
    values = x.detach()
    values = values.float() if what[1] == "bfloat16" else values
    return (*what, place, values.resolve_conj().tolist(), described(attributes, seen))


@pytest.mark.parametrize("is_archive", [True, False], ids=["archive", "plain"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
def test_plain_data(name: str, direction: str, is_archive: bool) -> None:
    if not is_archive and name in ("of uint16", "of uint32", "of uint64", "unsigned parts"):
        pytest.skip("PyTorch's old files hold no elements of this type")
    writer, reader = DIRECTIONS[direction]
    value = PLAIN[name](writer)
    file = saved(writer, value, _use_new_zipfile_serialization=is_archive)
    loaded = reader.load(file, weights_only=True)
    assert described(loaded) == described(PLAIN[name](torch))


@pytest.mark.parametrize("is_archive", [True, False], ids=["archive", "plain"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", TRUSTED)
@pytest.mark.filterwarnings("ignore:TypedStorage:UserWarning")
def test_objects_in_files_that_are_trusted(name: str, direction: str, is_archive: bool) -> None:
    writer, reader = DIRECTIONS[direction]
    file = saved(writer, TRUSTED[name](writer), _use_new_zipfile_serialization=is_archive)
    loaded = reader.load(file, weights_only=False)
    assert described(loaded) == described(TRUSTED[name](torch))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("module", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
def test_pickle_modules_and_protocols(module: Any, protocol: int) -> None:
    value = {"x": OURS.arange(4).view(2, 2).t(), "class": OURS.nn.Linear, "own": Settings(1, None)}
    file = saved(OURS, value, pickle_module=module, pickle_protocol=protocol)
    for library in (torch, OURS):
        file.seek(0)
        loaded = library.load(file, weights_only=False)
        assert loaded["x"].tolist() == [[0, 2], [1, 3]]
        assert loaded["class"] is library.nn.Linear
        assert loaded["own"] == value["own"]


class Renaming:
    """A module like `pickle` whose class leads an old name to a new one, and refuses another."""

    load = staticmethod(pickle.load)

    class Unpickler(pickle.Unpickler):
        """Reads pickles."""

        asked: ClassVar[list[str]] = []

        def find_class(self, module: str, name: str) -> Any:
            """Look a name up."""
            self.asked.append(name)
            if name == "Ordered":
                return Settings
            return super().find_class(module, name)


class Ordered(Settings):
    """A class that was renamed later."""


@pytest.mark.parametrize("library", [torch, OURS], ids=["theirs", "ours"])
@pytest.mark.parametrize("is_archive", [True, False], ids=["archive", "plain"])
def test_a_programs_unpickler_is_asked(library: Any, is_archive: bool) -> None:
    value = {"x": library.ones(2), "old": Ordered(1, None), "layer": library.nn.Linear(2, 2)}
    file = saved(library, value, _use_new_zipfile_serialization=is_archive)
    Renaming.Unpickler.asked.clear()
    loaded = library.load(file, pickle_module=Renaming, weights_only=False)
    assert type(loaded["old"]) is Settings
    assert loaded["x"].tolist() == [1, 1]
    assert isinstance(loaded["layer"], library.nn.Linear)
    assert {"_rebuild_tensor_v2", "Ordered", "Linear"} <= set(Renaming.Unpickler.asked)


def test_functions_without_a_name_are_saved_by_a_module_that_can() -> None:
    file = saved(OURS, {"f": lambda x: x + 1, "x": OURS.ones(2)}, pickle_module=cloudpickle)
    loaded = torch.load(file, weights_only=False)
    assert loaded["f"](1) == 2
    assert loaded["x"].tolist() == [1, 1]
    with pytest.raises((pickle.PicklingError, AttributeError)):
        saved(OURS, {"f": lambda x: x})


def test_files_appear_whole_or_not_at_all(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.pt"
    OURS.save({"x": OURS.ones(2)}, path)
    assert torch.load(str(path))["x"].tolist() == [1, 1]
    before = path.read_bytes()
    with pytest.raises(TypeError):
        OURS.save({"x": OURS.zeros(2), "lock": threading.Lock()}, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    OURS.save({"x": OURS.ones(2)}, path)
    assert path.read_bytes() == before
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist"):
        OURS.save(1, tmp_path / "none" / "a.pt")
    with pytest.raises(AttributeError, match="'write' attribute"):
        OURS.save(1, 3)


def test_numbers_lie_at_multiples_of_64_and_can_be_mapped(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.pt"
    OURS.save([OURS.ones(3), OURS.arange(5), "x" * 1000], path)
    loaded = torch.load(path, mmap=True)
    assert [loaded[0].tolist(), loaded[1].tolist()] == [[1, 1, 1], [0, 1, 2, 3, 4]]
    reader: Any = torch._C.PyTorchFileReader(str(path))
    offsets = [reader.get_record_offset(f"data/{key}") for key in (0, 1)]
    assert [offset % 64 for offset in offsets] == [0, 0]
    assert reader.get_record("byteorder") == b"little"


@pytest.mark.parametrize("is_archive", [True, False], ids=["archive", "plain"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("make", [_parts_of_conjugates, _parts_of_numbers_seen_as_complex])
def test_parts_of_conjugates_have_their_sign(
    make: Callable[[Any], Any], direction: str, is_archive: bool
) -> None:
    writer, reader = DIRECTIONS[direction]
    file = saved(writer, make(writer), _use_new_zipfile_serialization=is_archive)
    expected = [x.tolist() for x in make(torch)]
    assert [x.tolist() for x in reader.load(file)] == expected


def test_parts_of_conjugates_have_their_sign_in_other_pickles_and_files() -> None:
    for make in (_parts_of_conjugates, _parts_of_numbers_seen_as_complex):
        expected = [x.tolist() for x in make(torch)]
        sent = pickle.loads(bytes(ForkingPickler.dumps(make(flow))))
        assert [x.tolist() for x in sent] == expected
        file = io.BytesIO()
        flow.save(make(flow), file)
        file.seek(0)
        assert [x.tolist() for x in flow.load(file)] == expected


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.filterwarnings("ignore:TypedStorage:UserWarning")
def test_types_that_files_hold_as_bytes_share_them(direction: str) -> None:
    writer, reader = DIRECTIONS[direction]
    x = writer.tensor([1, 258], dtype=writer.uint16)
    loaded = reader.load(saved(writer, [x, x.untyped_storage()]), weights_only=False)
    assert loaded[0].tolist() == [1, 258]
    assert loaded[1].tolist() == [1, 0, 2, 1]


class Picky(Exception):
    """An error whose class takes other arguments than its text."""

    def __init__(self, reason: str, place: int) -> None:
        super().__init__(reason)
        self.place = place


class PickyType(Picky, TypeError):
    """One for what cannot be pickled."""


class Refusing:
    """An object that cannot be pickled."""

    def __reduce__(self) -> Any:
        raise PickyType("not I", 3)


def test_errors_are_those_of_the_object_and_say_where_it_is() -> None:
    looped: dict[str, Any] = {}
    looped.update(itself=looped, inner=[1, {"lock": threading.Lock()}])
    with pytest.raises(TypeError, match=r"cannot pickle '_thread\.lock' object") as failure:
        saved(OURS, looped)
    assert failure.value.__notes__ == ["cannot save inner.1.lock"]
    with pytest.raises(PickyType, match="not I") as failure:
        saved(OURS, {"a": [Refusing()]})
    assert failure.value.__notes__ == ["cannot save a.0"]


def test_objects_that_are_nested_deeply() -> None:
    value = None
    for _ in range(450):
        value = argparse.Namespace(inner=value)
    limit = sys.getrecursionlimit()
    loaded = torch.load(saved(OURS, value), weights_only=False)
    assert sys.getrecursionlimit() == limit
    depth = 0
    while loaded is not None:
        loaded, depth = loaded.inner, depth + 1
    assert depth == 450


def test_objects_without_an_end_are_refused() -> None:
    limit = sys.getrecursionlimit()
    with pytest.raises(RecursionError) as failure:
        saved(OURS, Endless())
    assert "nested so deeply" in failure.value.__notes__[0]
    assert sys.getrecursionlimit() == limit


class Endless:
    """An object in which there is another one, and so on."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def __reduce__(self) -> Any:
        return Endless, (), {"inner": Endless()}


def test_what_earlier_versions_wrote_is_loaded() -> None:
    value = {"x": flow.ones(2), "args": argparse.Namespace(lr=0.1), "model": flow.nn.ReLU()}
    file = io.BytesIO()
    flow.save(value, file, pickle_module=pickle)
    file.seek(0)
    loaded = OURS.load(file)
    assert loaded["x"].tolist() == [1, 1]
    assert loaded["args"] == value["args"]


def test_global_tensors_are_saved_as_a_folder(tmp_path: pathlib.Path) -> None:
    placement = flow.placement("cpu", ranks=[0])
    x = flow.ones(2).to_global(placement, flow.sbp.broadcast)
    OURS.save({"x": x}, tmp_path / "checkpoint")
    assert (tmp_path / "checkpoint").is_dir()
    assert OURS.load(tmp_path / "checkpoint")["x"].is_global


def test_files_follow_each_other(tmp_path: pathlib.Path) -> None:
    file = io.BytesIO()
    for number in range(3):
        OURS.save({"n": number, "x": OURS.ones(number)}, file)
    file.seek(0)
    assert [OURS.load(file)["n"] for _ in range(3)] == [0, 1, 2]
