"""Folders that OneFlow 0.5 to 1.0 saved: one per tensor, and a pickle that refers to them.

Older snapshots have no pickle: their folders are named after the variables.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.device import CPU, Device
from oneflow.base.dtype import DType
from oneflow.base.shape import Size
from oneflow.checkpoint.load_errors import load_errors
from oneflow.checkpoint.numpy_pickle import Pending, finished, ordered_dict_of
from oneflow.checkpoint.pickle_reader import PickleReader
from oneflow.module.parameter import Parameter
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array

DTYPES = {
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
_PICKLE, DATA, META = "pickled_data", "out", "meta"
_TENSOR_MODULES = ("oneflow", "oneflow._oneflow_internal", "oneflow.framework.tensor")


class _TensorReference(Pending):
    """A tensor in the pickle: the name of its folder comes as its state."""

    def __init__(self, read: Callable[[str], Tensor], is_parameter: bool) -> None:
        super().__init__()
        self._read, self._is_parameter = read, is_parameter

    def build(self, state: Any) -> None:
        """Take the name."""
        if isinstance(state, tuple):
            state = state[0]
        folder = state["path"]
        if not re.fullmatch(r"[\w.-]+", folder) or folder in (".", ".."):
            raise ValueError(f"`{folder}` is not the name of a tensor's folder")
        self._make = lambda: (
            Parameter(self._read(folder)) if self._is_parameter else self._read(folder)
        )


def load(folder: Path, restore_location: Callable[[Device], Device]) -> Any:
    """The object saved in a folder; without a pickle, a dict of its variables.

    Raises:
        RuntimeError: it is damaged or nothing that OneFlow saved.
    """
    with load_errors(folder, "it is damaged or not one that OneFlow saved"):
        device = restore_location(CPU)
        if not (folder / _PICKLE).is_file():
            return _read_variables(folder, device)

        def read(name: str) -> Tensor:
            return _read_tensor(folder / name, device)

        with (folder / _PICKLE).open("rb") as file:
            content = PickleReader(file, _table(read)).read()
        return finished(content["data"])


def load_like(folder: Path, variables: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Load the tensors named in `variables` that a folder without a pickle has.

    Args:
        folder: the folder; where it says no shapes and dtypes, they are those of `variables`.
        variables: tensors by their names.

    Raises:
        RuntimeError: it is damaged, or nothing that OneFlow saved.
    """
    with load_errors(folder, "it is damaged or not one that OneFlow saved"):
        if not any((child / DATA).is_file() for child in folder.iterdir()):
            raise ValueError(f"it has no folders with `{DATA}`")
        return {
            name: _read_tensor(folder / name, CPU)
            if (folder / name / META).is_file()
            else _read_numbers(folder / name, tuple(like.shape), like.dtype, CPU)
            for name, like in variables.items()
            if (folder / name / DATA).is_file()
        }


def _table(read: Callable[[str], Tensor]) -> dict[tuple[str, str], Any]:
    def tensor(*_: Any) -> _TensorReference:
        return _TensorReference(read, is_parameter=False)

    def parameter(*_: Any) -> _TensorReference:
        return _TensorReference(read, is_parameter=True)

    table: dict[tuple[str, str], Any] = {
        ("collections", "OrderedDict"): ordered_dict_of,
        ("oneflow._oneflow_internal", "Size"): Size,
        ("oneflow", "Size"): Size,
        ("oneflow.nn", "Parameter"): parameter,
        ("oneflow.nn.parameter", "Parameter"): parameter,
    }
    for module in _TENSOR_MODULES:
        table[module, "Tensor"] = tensor
        table[module, "Parameter"] = parameter
    return table


def _read_variables(folder: Path, device: Device) -> dict[str, Tensor]:
    names = sorted(child.name for child in folder.iterdir() if (child / META).is_file())
    if not names:
        raise ValueError(f"it has no `{_PICKLE}` and no folders with `{META}` and `{DATA}`")
    return {name: _read_tensor(folder / name, device) for name in names}


def _read_tensor(folder: Path, device: Device) -> Tensor:
    """One tensor: raw numbers, with shape and type beside them as text."""
    text = (folder / META).read_text()
    shape = tuple(int(size) for size in re.findall(r"\bdim:\s*(\d+)", text))
    match = re.search(r"data_type:\s*(\w+)", text)
    kind = DTYPES.get(match[1]) if match else None
    if kind is None:
        raise ValueError(f"`{folder.name}/{META}` names no dtype that is known")
    return _read_numbers(folder, shape, kind, device)


def _read_numbers(folder: Path, shape: tuple[int, ...], kind: DType, device: Device) -> Tensor:
    size = (folder / DATA).stat().st_size
    if size != math.prod(shape) * kind.itemsize:
        raise ValueError(
            f"`{folder.name}/{DATA}` has {size} bytes, and its shape is {shape} of {kind.name}"
        )
    numbers = np.fromfile(folder / DATA, kind.numpy)
    return import_array(numbers.reshape(shape), None, device)
