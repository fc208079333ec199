"""Folders that OneFlow 0.5 to 1.0 saved: one per tensor, and a pickle that refers to them.

Older snapshots have no pickle: their folders are named after the variables.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.device import CPU, Device
from oneflow.base.shape import Size
from oneflow.checkpoint.pickle_reader import Buildable, PickleReader
from oneflow.nn.parameter import Parameter
from oneflow.tensor.tensor import Tensor

_DTYPES = {
    "kChar": dt.int8,
    "kFloat": dt.float32,
    "kDouble": dt.float64,
    "kInt8": dt.int8,
    "kInt32": dt.int32,
    "kInt64": dt.int64,
    "kUInt8": dt.uint8,
    "kFloat16": dt.float16,
    "kBFloat16": dt.bfloat16,
    "kBool": dt.bool_,
    "kInt16": dt.int16,
    "kComplex64": dt.complex64,
    "kComplex128": dt.complex128,
}
_PICKLE, _DATA, _META = "pickled_data", "out", "meta"
_TENSOR_MODULES = ("oneflow", "oneflow._oneflow_internal", "oneflow.framework.tensor")


class _Reference(Buildable):
    """A tensor in the pickle: the name of its folder comes as its state."""

    def __init__(self, parameter: bool, *_: Any) -> None:
        self._parameter = parameter
        self._folder = ""
        self._made: Tensor | None = None

    def build(self, state: Any) -> None:
        if isinstance(state, tuple):
            state = state[0]
        self._folder = state["path"]

    def tensor(self, root: Path, device: Device) -> Tensor:
        """The tensor, always the same one."""
        if self._made is None:
            if not re.fullmatch(r"[\w.-]+", self._folder):
                raise ValueError(f"`{self._folder}` is not the name of a tensor's folder")
            made = _read_tensor(root / self._folder, device)
            self._made = Parameter(made) if self._parameter else made
        return self._made


def load(folder: Path, place: Callable[[Device], Device]) -> Any:
    """The object saved in a folder; without a pickle, a dict of its variables.

    Raises:
        RuntimeError: it is damaged or nothing that OneFlow saved.
    """
    device = place(CPU)
    try:
        if not (folder / _PICKLE).is_file():
            return _read_variables(folder, device)
        with (folder / _PICKLE).open("rb") as file:
            content = PickleReader(file, _table()).read()
        return _finished(content["data"], folder, device)
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise RuntimeError(
            f"cannot load the folder `{folder}`: it is damaged or not one that OneFlow saved "
            f"({error})"
        ) from error


def _table() -> dict[tuple[str, str], Any]:
    table: dict[tuple[str, str], Any] = {
        ("collections", "OrderedDict"): OrderedDict,
        ("oneflow._oneflow_internal", "Size"): Size,
        ("oneflow", "Size"): Size,
        ("oneflow.nn.parameter", "Parameter"): lambda *_: _Reference(True),
    }
    for module in _TENSOR_MODULES:
        table[module, "Tensor"] = lambda *_: _Reference(False)
        table[module, "Parameter"] = lambda *_: _Reference(True)
    return table


def _finished(value: Any, root: Path, device: Device) -> Any:
    if isinstance(value, _Reference):
        return value.tensor(root, device)
    if isinstance(value, dict):
        return type(value)((key, _finished(each, root, device)) for key, each in value.items())
    if isinstance(value, list | tuple):
        return type(value)([_finished(each, root, device) for each in value])
    return value


def _read_variables(folder: Path, device: Device) -> dict[str, Tensor]:
    names = sorted(each.name for each in folder.iterdir() if (each / _META).is_file())
    if not names:
        raise ValueError(f"it has no `{_PICKLE}` and no folders with `{_META}` and `{_DATA}`")
    return {name: _read_tensor(folder / name, device) for name in names}


def _read_tensor(folder: Path, device: Device) -> Tensor:
    """One tensor: raw numbers, with shape and type beside them as text."""
    text = (folder / _META).read_text()
    shape = tuple(int(size) for size in re.findall(r"\bdim:\s*(\d+)", text))
    found = re.search(r"data_type:\s*(\w+)", text)
    kind = _DTYPES.get(found[1]) if found else None
    if kind is None:
        raise ValueError(f"`{folder.name}/{_META}` names no dtype that is known")
    numbers = np.fromfile(folder / _DATA, kind.numpy)
    if numbers.size != math.prod(shape):
        raise ValueError(f"`{folder.name}` has {numbers.size} numbers, its shape is {shape}")
    return Tensor._import(numbers.reshape(shape), None, device)
