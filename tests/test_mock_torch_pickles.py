"""Objects in PyTorch's place are pickled, copied and saved where PyTorch's are."""

from __future__ import annotations

import copy
import importlib
import io
import pickle
from collections.abc import Callable
from typing import Any

import cloudpickle
import pytest
import torch
from torch.nn.utils import prune

import oneflow as flow
from oneflow.functional.registry import FUNCTIONS
from tests.in_place import enabled, in_place_of, no_subclass_yet

MODULES = (
    "torch",
    "torch.autograd",
    "torch.distributions",
    "torch.fft",
    "torch.func",
    "torch.linalg",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.grad",
    "torch.nn.init",
    "torch.optim",
    "torch.special",
    "torch.utils.data",
)


def _works(function: Callable[[Any], Any], value: Any) -> bool:
    try:
        function(value)
    except Exception:
        return False
    return True


def _pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("module", MODULES)
def test_names_are_pickled_and_copied(module: str) -> None:
    theirs, ours = importlib.import_module(module), in_place_of(module)
    names = [name for name in dir(theirs) if not name.startswith("_") and name in dir(ours)]
    tried = [(name, way) for name in names for way in (_pickled, copy.deepcopy)]
    expected = [(name, way) for name, way in tried if _works(way, getattr(theirs, name))]
    with enabled():
        missed = [(name, way) for name, way in expected if not _works(way, getattr(ours, name))]
    assert not missed


def test_functions_here_are_pickled() -> None:
    for path, function in FUNCTIONS.items():
        assert _pickled(function) is function, path


@pytest.mark.parametrize("name", ["torch", "torch.nn.functional", "torch.optim"])
def test_code_that_holds_modules_is_pickled(name: str) -> None:
    module = in_place_of(name)

    def holds() -> Any:
        return module

    assert cloudpickle.loads(cloudpickle.dumps(holds))() is module
    assert copy.deepcopy({"module": module}) == {"module": module}


def _add_one(module: Any, inputs: Any, output: Any) -> Any:
    return output + 1


def _with_hook(library: Any) -> Any:
    module = library.nn.Linear(2, 2)
    module.register_forward_hook(_add_one)
    return library.nn.Sequential(module)


def _pruned(library: Any) -> Any:
    linear = library.nn.Linear(2, 2)
    pruning = in_place_of("torch.nn.utils.prune") if library is not torch else prune
    return pruning.l1_unstructured(linear, "weight", 0.5)


WITH_HOOKS = {
    "hook": _with_hook,
    "pruned": _pruned,
    "weight norm": lambda library: library.nn.utils.weight_norm(library.nn.Linear(2, 2)),
    "lazy": lambda library: library.nn.Sequential(library.nn.LazyLinear(2)),
}


@pytest.mark.filterwarnings("ignore:.*weight_norm.*:FutureWarning")
@pytest.mark.parametrize("kind", WITH_HOOKS)
@pytest.mark.parametrize("library", [torch, in_place_of("torch")], ids=["theirs", "ours"])
def test_modules_with_hooks_are_saved(library: Any, kind: str) -> None:
    module, file = WITH_HOOKS[kind](library), io.BytesIO()
    library.save(module, file)
    file.seek(0)
    again = library.load(file, weights_only=False)
    assert list(again.state_dict()) == list(module.state_dict())
    inputs = library.tensor([[1.0, 2.0]])
    again_outputs = again(inputs)
    if kind != "lazy":
        assert library.equal(again_outputs, module(inputs))
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError):
        library.load(file, weights_only=True)


def test_hooks_are_refused_in_files_of_plain_data() -> None:
    with pytest.raises(TypeError, match="which are code"):
        flow.save(_with_hook(flow), io.BytesIO())


def _as_subclass(library: Any) -> Any:
    kind = {torch: TheirTensor}.get(library, OurTensor)
    tensor = library.arange(3.0).as_subclass(kind)
    tensor.note = "a"
    return tensor


class TheirTensor(torch.Tensor):
    """A subclass of PyTorch's tensors."""


with no_subclass_yet():

    class OurTensor(flow.Tensor):
        """A subclass of tensors."""


@pytest.mark.parametrize("library", [torch, in_place_of("torch")], ids=["theirs", "ours"])
def test_tensors_of_subclasses_are_saved(library: Any) -> None:
    tensor, file = _as_subclass(library), io.BytesIO()
    library.save({"first": tensor, "again": [tensor]}, file)
    file.seek(0)
    loaded = library.load(file, weights_only=False)
    assert type(loaded["first"]) is type(tensor)
    assert loaded["first"].note == "a"
    assert loaded["first"].tolist() == [0, 1, 2]
    assert loaded["again"][0] is loaded["first"]
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError):
        library.load(file, weights_only=True)


@pytest.mark.parametrize("library", [torch, in_place_of("torch")], ids=["theirs", "ours"])
def test_attributes_of_parameters_are_saved(library: Any) -> None:
    parameter, file = library.nn.Parameter(library.ones(2)), io.BytesIO()
    parameter.group = 3
    library.save({"weight": parameter}, file)
    file.seek(0)
    loaded = library.load(file)["weight"]
    assert type(loaded) is library.nn.Parameter
    assert loaded.group == 3


def _lazy_state(library: Any) -> Any:
    return library.nn.LazyBatchNorm1d().state_dict()


@pytest.mark.parametrize("library", [torch, in_place_of("torch")], ids=["theirs", "ours"])
def test_states_without_values_are_saved(library: Any) -> None:
    state, file = _lazy_state(library), io.BytesIO()
    library.save(state, file)
    file.seek(0)
    loaded = library.load(file, weights_only=False)
    assert [type(x).__name__ for x in loaded.values()] == [type(x).__name__ for x in state.values()]
    module = library.nn.LazyBatchNorm1d()
    module.load_state_dict(loaded)
    assert module(library.ones(2, 3)).shape == (2, 3)
