"""``torch.ops``: operators by namespace and name, as ``torch.ops.library.blur``."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, NoReturn

from oneflow.mock_torch.missing import raise_missing
from oneflow.mock_torch.pytorch.aten import OpOverloadPacket, aten_operator
from oneflow.mock_torch.pytorch.library import OPERATORS, CustomOpDef, define_composite


class Namespace:
    """The operators of one namespace.

    Args:
        name: its name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> CustomOpDef | OpOverloadPacket:
        defined = OPERATORS.get(f"{self._name}::{name}")
        if defined is not None:
            return defined
        if self._name == "aten" and not name.startswith("__"):
            return aten_operator(name)
        raise AttributeError(f"no operator is defined as {self._name}::{name}")


# Classes of tensors name these operators, to which they give a meaning of their own.
_FUNCTIONAL = (
    "all_gather_into_tensor all_reduce all_to_all_single broadcast reduce_scatter_tensor"
    " wait_tensor"
)
_COLLECTIVES = {
    "_c10d_functional": f"{_FUNCTIONAL} _wrap_tensor_autograd",
    "c10d_functional": _FUNCTIONAL,
    "c10d": "allgather_ allreduce_ broadcast_ reduce_scatter_ scatter_",
}


def _refuse_collective(*args: Any, **kwargs: Any) -> NoReturn:
    raise_missing("torch.ops.c10d", "collectives are called as functions of `torch.distributed`")


for _namespace, _names in _COLLECTIVES.items():
    for _name in _names.split():
        define_composite(f"{_namespace}::{_name}", _refuse_collective)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return Namespace(name)


# The modules that define what libraries have in C++, by the folder and the prefix of a file.
_OPERATOR_MODULES = {
    ("torchvision", "_C"): "torchvision_operators",
    ("lib", "_torchaudio"): "torchaudio_operators",
    ("lib", "libtorchaudio"): "torchaudio_operators",
}


def load_library(path: str) -> None:
    """Take the operators of a library from `oneflow` if they are torchvision's or torchaudio's.

    Raises:
        OSError: it is another library: operators in C++ are for PyTorch alone. Callers that can do
            without them go on.
    """
    library = Path(path)
    for (folder, prefix), module in _OPERATOR_MODULES.items():
        if library.parent.name == folder and library.name.startswith(prefix):
            importlib.import_module(f"oneflow.mock_torch.pytorch.{module}").register()
            return
    raise OSError(f"`path`: operators in C++ for PyTorch cannot be loaded, got {path}")
