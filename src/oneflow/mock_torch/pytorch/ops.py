"""``torch.ops``: operators by namespace and name, as ``torch.ops.library.blur``."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

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


# The modules that define what libraries have in C++, by the folder and the prefix of a file.
_OPERATOR_MODULES = {
    ("torchvision", "_C"): "torchvision_operators",
    ("lib", "_torchaudio"): "torchaudio_operators",
    ("lib", "libtorchaudio"): "torchaudio_operators",
}


def load_library(path: str) -> None:
    """Take the operators of a library from `oneflow` if they are torchvision's or torchaudio's.

    Raises:
        OSError: it is another library: operators in C++ are for PyTorch alone. Those who can do
            without them go on.
    """
    library = Path(path)
    for (folder, prefix), module in _OPERATOR_MODULES.items():
        if library.parent.name == folder and library.name.startswith(prefix):
            importlib.import_module(f"oneflow.mock_torch.pytorch.{module}").register()
            return
    raise OSError(f"`path`: operators in C++ for PyTorch cannot be loaded, got {path}")
