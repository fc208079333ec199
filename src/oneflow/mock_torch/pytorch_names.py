"""Names of this package's classes and functions in PyTorch's files, and what those stand for.

A class here may be defined in another module than PyTorch's. So it gets a public name, which leads
to PyTorch's class wherever PyTorch defines it.
"""

from __future__ import annotations

import functools
import inspect
from types import FunctionType
from typing import Any

from oneflow.checkpoint.code_names import name_of_function
from oneflow.checkpoint.torch_names import PYTORCH_NAMES, PyTorchNames
from oneflow.mock_torch.modules import MODULE_IN_PLACE
from oneflow.module.parameter import Parameter

# Classes of storages say that they are PyTorch's.
_HERE = ("oneflow", "torch")
_EXTENSIONS = "oneflow.mock_torch.pytorch"
_IN_PLACE = "oneflow.mock_torch."
#: Where PyTorch's public names are looked for, in this order. `torch` has functions here that
#: PyTorch has among those of layers alone.
_PUBLIC = (
    *("torch.nn.functional", "torch", "torch.linalg", "torch.fft", "torch.special", "torch.nn"),
    *("torch.nn.init", "torch.nn.parameter"),
    *("torch.optim", "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.utils.data"),
    *("torch.nn.utils", "torch.nn.utils.rnn", "torch.nn.utils.prune"),
    *("torch.nn.utils.parametrize", "torch.nn.utils.parametrizations"),
    *("torch.distributions", "torch.distributions.constraints", "torch.distributions.transforms"),
    *("torch.amp", "torch.cuda.amp", "torch.autograd", "torch.func", "torch.sparse"),
    *("torch.nested", "torch.ao.quantization"),
)
# PyTorch trusts files that name this class in the module that defines it.
_DEFINED = {Parameter: ("torch.nn.parameter", "Parameter")}
# PyTorch's compiled functions are pickled as what defines them: a module, with a prefix of its
# names, or a class.
_COMPILED = {
    "torch._C._nn": ("torch.nn.functional", ""),
    "torch._C._linalg": ("torch.linalg", "linalg_"),
    "torch._C._special": ("torch.special", "special_"),
    "torch._C._fft": ("torch.fft", "fft_"),
}
_COMPILED_CLASSES = {
    ("torch._C", "_VariableFunctionsClass"): ("torch", ""),
    ("torch._C", "TensorBase"): ("torch", "Tensor"),
    ("torch._C", "_TensorBase"): ("torch", "Tensor"),
}


def names_of(obj: Any) -> list[tuple[str, str]]:
    """Return the names that files may have for a class or function: its own, and PyTorch's."""
    home, name = obj.__module__, obj.__qualname__
    public = name_of(obj)
    return [(home, name), *([(_module_like(home), name), public] if public else [])]


def name_of(obj: Any) -> tuple[str, str] | None:
    """Return module and name in PyTorch of a class or function; None for those it does not have."""
    home = getattr(obj, "__module__", None)
    is_here = isinstance(home, str) and home.partition(".")[0] in _HERE
    return _name_of(obj) if is_here and isinstance(obj, type | FunctionType) else None


@functools.cache
def _name_of(obj: Any) -> tuple[str, str] | None:
    place = _public_names().get(obj)
    if place is not None:
        return place
    # Modules have functions that are called otherwise, or ask no override, in PyTorch's place.
    path = name_of_function(obj)
    if path is not None:
        return _place_of_copy(obj, path.rpartition(".")[2])
    place = _module_like(obj.__module__), obj.__qualname__
    return place if _look_up(*place) is obj else None


def _place_of_copy(function: Any, name: str) -> tuple[str, str] | None:
    """Return where the copy of a function in PyTorch's place is."""
    original = inspect.unwrap(function)
    for module in _PUBLIC:
        copy = vars(MODULE_IN_PLACE.value(module)).get(name)
        if isinstance(copy, FunctionType) and inspect.unwrap(copy) is original:
            return module, name
    return None


@functools.cache
def _public_names() -> dict[Any, tuple[str, str]]:
    """Return the public names of classes and functions: their own, if there are several."""
    names: dict[Any, tuple[str, str]] = dict(_DEFINED)
    for module in _PUBLIC:
        kinds = (FunctionType,) if module == _PUBLIC[0] else (type, FunctionType)
        members = {
            name: member
            for name, member in vars(MODULE_IN_PLACE.value(module)).items()
            if isinstance(member, kinds) and not name.startswith("_")
        }
        of_module: dict[Any, tuple[str, str]] = {}
        for name, member in members.items():
            if member not in of_module or name == member.__qualname__:
                of_module[member] = module, name
        names = {**of_module, **names}
    return names


def _module_like(home: str) -> str:
    """Return the module of PyTorch at the path of one here."""
    if home.startswith(f"{_IN_PLACE}torch."):
        return home.removeprefix(_IN_PLACE)
    for prefix in (_EXTENSIONS, "oneflow"):
        if f"{home}.".startswith(f"{prefix}."):
            return "torch" + home.removeprefix(prefix)
    return home


def _look_up(module: str, name: str) -> Any:
    """Return what has a name in a module in PyTorch's place; None if nothing has."""
    try:
        return object_named(module, name)
    except (ImportError, AttributeError):
        return None


def object_named(module: str, name: str) -> Any:
    """Return what has a name in a module in PyTorch's place.

    Raises:
        ImportError: there is no such module.
        AttributeError: it has no such name.
    """
    if module in _COMPILED:
        module, prefix = _COMPILED[module]
        name = name.removeprefix(prefix)
    module, name = _COMPILED_CLASSES.get((module, name), (module, name))
    path = name.split(".") if name else []
    return functools.reduce(getattr, path, MODULE_IN_PLACE.value(module))


PYTORCH_NAMES.fill(PyTorchNames(name_of, object_named))
