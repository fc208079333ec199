"""Capsules, storages, tensors without values and old spellings, compared with PyTorch."""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import warnings

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import mock_torch


def capsules_go_round(library):
    dlpack = importlib.import_module(f"{library.__name__}.utils.dlpack")
    kinds = [library.float32, library.int64, library.uint8]
    return [dlpack.from_dlpack(dlpack.to_dlpack(library.arange(3).to(k))).tolist() for k in kinds]


def storages_are_copied(library):
    x = library.arange(3.0)
    both = copy.deepcopy([x.untyped_storage(), x[1:].untyped_storage()])
    other = x.untyped_storage().clone()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        typed = copy.deepcopy(library.ones(2, 2)[0].storage()).tolist()
        typed += [library.arange(4)[1:].storage()[i] for i in (0, -1)]
        try:
            typed.append(library.ones(2, device="meta").storage()[0])
        except NotImplementedError:
            typed.append("no contents")
    x.zero_()
    same = both[0].data_ptr() == both[1].data_ptr()
    return [tensor.tolist() for tensor in both], same, list(other), typed


def storages_are_made_and_written(library):
    x = library.zeros(4)
    typed, untyped = x.storage(), x.untyped_storage()
    typed[1], typed[2:] = 5, 7
    untyped[3] = 191
    results = [x.tolist(), untyped.tolist()]
    other = library.FloatStorage([1, 2, 3, 4])
    typed.copy_(other)
    results += [x.tolist(), other.fill_(6).tolist(), untyped.fill_(0).tolist(), x.tolist()]
    bits = library.TypedStorage(wrap_storage=other.untyped(), dtype=library.int32)
    bits[0] = 0
    results += [bits.tolist(), other.tolist()]
    results += [library.UntypedStorage([1, 2]).tolist(), library.IntStorage(2).fill_(1).tolist()]
    results += [library.tensor(other).tolist(), library.tensor(other.untyped()).tolist()]
    return results


def slices_of_storages_share_memory(library):
    x = library.zeros(3)
    whole = x.untyped_storage()
    part, none = whole[4:12], whole[8:4]
    results = [len(part), part.tolist(), none.tolist(), whole[0:99].nbytes(), whole[-4:].nbytes()]
    part.fill_(1)
    part[4:][0:2].fill_(9)
    part[7] = 7
    results += [whole.tolist(), part[1:3].tolist(), part.clone().tolist(), whole[:] == whole]
    results += [part.data_ptr() - whole.data_ptr(), x.untyped_storage() == whole]
    typed = library.TypedStorage(wrap_storage=part, dtype=library.float32)
    typed[0] = 5
    results += [x[1].item(), typed.size(), typed.untyped().nbytes(), typed.clone().size()]
    results += [copy.deepcopy(part).tolist(), part.cpu().nbytes()]
    for refused in (lambda: whole[0:8:2], lambda: typed[0:1]):
        with pytest.raises(RuntimeError, match="slice"):
            refused()
    return results


def storages_have_dtypes(library):
    storage = library.IntStorage([-1, 0, 2])
    casts = [
        "double",
        "float",
        "half",
        "bfloat16",
        "long",
        "int",
        "short",
        "char",
        "byte",
        "bool",
        "complex_double",
        "complex_float",
    ]
    found = []
    for name in casts:
        cast = getattr(storage, name)()
        found += [cast.type(), str(cast.dtype), cast.tolist(), cast.pickle_storage_type()]
        found += [library.ones(1, dtype=cast.dtype).storage_type().__name__, cast.element_size()]
    float_storage, kinds = library.ones(2).storage(), (library.FloatStorage, library.IntStorage)
    found += [isinstance(float_storage, kind) for kind in kinds]
    kinds = library.TypedStorage, library.UntypedStorage
    found += [isinstance(float_storage, kind) for kind in kinds]
    found += [isinstance(float_storage.untyped(), kind) for kind in kinds]
    names = library.storage._dtype_to_storage_type_map()
    found += [names[library.int8], float_storage.is_cuda, float_storage.is_shared()]
    meta = library.TypedStorage([1, 2], dtype=library.int16, device="meta")
    return found, (meta.size(), meta.nbytes(), meta.data_ptr(), meta.untyped().size())


def tensors_are_made_of_storages(library):
    found = []
    for take in ("storage", "untyped_storage"):
        x = library.tensor([1.0, 2.0, 3.0])
        makers = [
            library.Tensor,
            library.FloatTensor,
            x.new,
            lambda memory: library.as_tensor(memory, dtype=library.float32),
            lambda memory: library.asarray(memory, dtype=library.float32),
        ]
        for number, make in enumerate(makers):
            made = make(getattr(x, take)())
            made[0] = number
            found += [made.tolist(), x.tolist(), make(getattr(x[1:], take)()).tolist()]
        found += [x.new_tensor(getattr(x, take)()).tolist()]
    bits = x.untyped_storage()
    found += [library.IntTensor(bits).tolist(), library.ByteTensor(bits).tolist()]
    found += [library.tensor(bits, dtype=library.int16).tolist()]
    return found


def storages_refuse(library):
    storage = library.FloatStorage(2)
    calls = [
        lambda: library.FloatStorage("text"),
        lambda: library.FloatStorage(1, 2),
        lambda: library.FloatStorage(device="cpu"),
        lambda: library.FloatStorage(dtype=library.int8),
        lambda: library.FloatStorage(library.ones(2)),
        lambda: library.FloatStorage(wrap_storage=storage),
        lambda: library.TypedStorage(1, wrap_storage=storage.untyped(), dtype=library.int8),
        lambda: library.TypedStorage(wrap_storage=storage.untyped()),
        lambda: library.TypedStorage(wrap_storage=storage.untyped(), dtype=0),
        lambda: library.storage._LegacyStorage(),
        lambda: library.tensor(storage, dtype=library.int8),
        lambda: library.IntTensor(storage),
        lambda: library.DoubleTensor(storage),
        lambda: library.as_tensor(storage, dtype=library.int8),
        lambda: library.FloatStorage(storage.untyped()),
        lambda: library.TypedStorage(storage.untyped(), dtype=library.int32),
        lambda: storage[2],
        lambda: storage.copy_(library.FloatStorage(3)),
        lambda: library.TypedStorage(2, dtype=library.int8, device="meta")[0],
    ]
    found = []
    for call in calls:
        try:
            call()
        except Exception as error:
            found.append(type(error).__name__)
    return found, len(calls)


def tensors_without_values_are_kept(library):
    layer = library.nn.Linear(2, 3, device="meta", dtype=library.float64)
    file = io.BytesIO()
    library.save({"layer": layer.state_dict(), "leaf": layer.weight}, file)
    file.seek(0)
    found = library.load(file)
    tensors = [*found["layer"].values(), found["leaf"], pickle.loads(pickle.dumps(layer.bias))]
    return [
        (x.device.type, tuple(x.shape), str(x.dtype), x.requires_grad, type(x).__name__)
        for x in tensors
    ]


def factors_stand_second(library):
    a, b, c = (library.tensor([1.0, 2.0]) + n for n in range(3))
    library.set_warn_always(True)  # also if another test had the warning before
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        results = [getattr(library, n)(a, 2, b, c).tolist() for n in ("addcmul", "addcdiv")]
        results.append(library.addcmul(a, b, c, value=3).tolist())
        results += [library.add(a, 2, b).tolist(), library.sub(a, 2, b).tolist()]
        steps = (a.clone().add_(-0.5, b), a.clone().sub_(2, b), a.clone().addcdiv_(-2, b, c))
        results += [step.tolist() for step in steps]
        square, vector = library.eye(2) + 1, a
        results += [
            library.addmm(2, square, 3, square, square).tolist(),
            square.addmm(2, square, square).tolist(),
            square.clone().addmm_(2, 3, square, square).tolist(),
            vector.clone().addmv_(0.5, square, vector).tolist(),
            square.addr(2, vector, vector).tolist(),
            square[None].clone().baddbmm_(2, square[None], square[None]).tolist(),
            square.clone().addbmm_(2, 3, square[None], square[None]).tolist(),
            library.add(a, 2, b, out=library.empty(2)).tolist(),
        ]
    library.set_warn_always(False)
    return results, {warning.category for warning in found}


def parametrizations_are_transferred(library):
    utils = library.nn.utils
    layer, other = library.nn.Linear(2, 3), library.nn.Linear(2, 3)
    utils.parametrizations.weight_norm(layer)
    utils.parametrizations.spectral_norm(layer, "bias")
    only = utils.parametrize.transfer_parametrizations_and_params(
        layer, library.nn.Linear(2, 3), "bias"
    )
    assert utils.parametrize.transfer_parametrizations_and_params(layer, other) is other
    plain = library.nn.ReLU()
    return (
        sorted(other.state_dict()) == sorted(layer.state_dict()),
        bool((other.weight == layer.weight).all()),
        utils.parametrize.is_parametrized(only, "weight"),
        other.parametrizations.weight.original1 is layer.parametrizations.weight.original1,
        utils.parametrize.transfer_parametrizations_and_params(library.nn.ReLU(), plain) is plain,
    )


def the_environment_is_described(library):
    collect = importlib.import_module(f"{library.__name__}.utils.collect_env")
    fake = {"nvidia-smi -L": "GPU 0: H200 (UUID: GPU-1)", "nvidia-smi": "Driver Version: 5.1 CUDA"}
    found = [collect.run("echo a; false"), collect.run(["echo", "b"])]
    for name in ("get_gpu_info", "get_nvidia_driver_version", "get_gcc_version", "get_cpu_info"):
        describe = getattr(collect, name)
        answered = describe(lambda command: (0, fake.get(command, ""), ""))
        found += [describe(collect.run), answered or None, describe(lambda _: (1, "x", ""))]
    return "ython" in collect.get_pretty_env_info(), found


def arrays_are_made_of_capsules(library):
    dlpack = importlib.import_module(f"{library.__name__}.utils.dlpack")
    capsules = (dlpack.to_dlpack(library.arange(3)), np.ones(2, np.float32).__dlpack__())
    return [library.asarray(capsule).tolist() for capsule in capsules]


def sizes_of_elements_and_dimensions(library):
    kinds = (library.bool, library.int16, library.complex128)
    sizes = [library._utils._element_size(kind) for kind in kinds]
    x = library.ones(2, 3)
    dims = [(t.sparse_dim(), t.dense_dim()) for t in (x, x.to_sparse(), x[0, 0])]
    return sizes, dims, list(library.Storage([1.0, 2.0]))


PROGRAMS = [
    arrays_are_made_of_capsules,
    capsules_go_round,
    sizes_of_elements_and_dimensions,
    storages_are_copied,
    storages_are_made_and_written,
    slices_of_storages_share_memory,
    storages_have_dtypes,
    tensors_are_made_of_storages,
    storages_refuse,
    tensors_without_values_are_kept,
    factors_stand_second,
    parametrizations_are_transferred,
    the_environment_is_described,
]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_give_what_they_give_on_pytorch(program):
    expected = program(torch)
    with mock_torch.enable():
        assert program(importlib.import_module("torch")) == expected


def test_capsules_of_other_libraries_are_taken_once():
    capsule = np.arange(3.0).__dlpack__()
    assert flow.from_dlpack(capsule).tolist() == [0.0, 1.0, 2.0]
    assert flow.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2))).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="capsule"):
        flow.from_dlpack(capsule)


def test_a_pickled_storage_has_its_contents():
    whole = flow.tensor([1.0, 2.0])[1:].untyped_storage()
    for storage in (whole, whole[2:6]):
        assert pickle.loads(pickle.dumps(storage)).tolist() == storage.tolist()


def test_extensions_in_other_languages_are_refused():
    with mock_torch.enable():
        extension = importlib.import_module("torch.utils.cpp_extension")
    for name in ("load", "load_inline", "CUDAExtension", "CppExtension", "BuildExtension"):
        with pytest.raises(NotImplementedError, match="custom_op"):
            getattr(extension, name)("name", ["file.cpp"])


@pytest.mark.parametrize(
    "shapes",
    [
        ((), (1,)),
        ((1,), ()),
        ((), ()),
        ((1,), (1,)),
        ((3,), ()),
        ((3,), (1,)),
        ((1, 1), ()),
        ((), (2,)),
        ((2, 1), (1,)),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["index_copy", "index_add"])
@pytest.mark.parametrize("index", [[0], 0])
def test_one_element_is_as_good_without_a_dimension(name, shapes, index):
    def written(library):
        target, source = (library.full(shape, n + 1.0) for n, shape in enumerate(shapes))
        try:
            return getattr(target, name)(0, library.tensor(index), source).tolist()
        except (RuntimeError, IndexError):
            return "refused"

    assert written(flow) == written(torch)
