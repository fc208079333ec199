"""``torch.ops``: operators by namespace and name, as ``torch.ops.library.blur``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oneflow.mock_torch.pytorch import torchvision_operators
from oneflow.mock_torch.pytorch.aten import OpOverloadPacket, aten_operator
from oneflow.mock_torch.pytorch.library import OPERATORS, CustomOpDef


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


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return Namespace(name)


def load_library(path: str) -> None:
    """Take the operators of a library from `oneflow` if they are torchvision's.

    Raises:
        OSError: it is another library: operators in C++ are for PyTorch alone. Those who can do
            without them go on.
    """
    library = Path(path)
    if library.parent.name != "torchvision" or not library.name.startswith("_C"):
        raise OSError(f"`path`: operators in C++ for PyTorch cannot be loaded, got {path}")
    torchvision_operators.register()
