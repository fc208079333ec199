"""NumPy arrays, numbers and plain data in a pickle, read without executing anything."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from oneflow.checkpoint.pickle_reader import Buildable, PickleReader


class Pending(Buildable):
    """A value that is made when everything has been read, and only once."""

    def __init__(self, make: Callable[[], Any] | None = None) -> None:
        self._make, self._made = make, None

    def value(self) -> Any:
        """The value, always the same object."""
        if self._made is None:
            if self._make is None:
                raise ValueError("an object was never finished")
            self._made = self._make()
        return self._made

    def build(self, state: Any) -> None:
        """Attributes that users set on tensors are left out."""


class PendingArray(Pending):
    """A NumPy array, whose content comes as its state."""

    def build(self, state: Any) -> None:
        """Take shape, dtype and content."""
        _, shape, kind, fortran, content = state
        order = "F" if fortran else "C"
        # Python 2 wrote bytes as text.
        content = content.encode("latin1") if isinstance(content, str) else content
        numbers = np.frombuffer(content, kind.numpy)
        self._make = lambda: numbers.reshape(shape, order=order).copy()


class NumpyType(Buildable):
    """A NumPy dtype of numbers."""

    def __init__(self, text: str, *_: Any) -> None:
        self.numpy = np.dtype(text)
        if self.numpy.kind not in "biufc":
            raise ValueError(f"NumPy data of type {text} is not read")

    def build(self, state: Any) -> None:
        """Take the byte order."""
        self.numpy = self.numpy.newbyteorder(state[1])


_PLAIN = (set, frozenset, bytearray, complex)
_NUMPY_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")


def _encode(text: str, encoding: str) -> bytes:
    """How old pickles write bytes."""
    if encoding != "latin1":
        raise ValueError(f"bytes in the encoding {encoding} are not read")
    return text.encode("latin1")


def _numpy_scalar(kind: NumpyType, content: bytes) -> Any:
    return np.frombuffer(content, kind.numpy)[0]


def _numpy_array(*_: Any) -> PendingArray:
    return PendingArray()


NUMPY_TABLE: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("_codecs", "encode"): _encode,
    ("numpy", "dtype"): NumpyType,
    ("numpy", "ndarray"): "ndarray",
    **{(module, made.__name__): made for made in _PLAIN for module in ("builtins", "__builtin__")},
    **{(module, "scalar"): _numpy_scalar for module in _NUMPY_MODULES},
    **{(module, "_reconstruct"): _numpy_array for module in _NUMPY_MODULES},
}


def read_numpy_pickle(path: Path) -> Any:
    """The object in a pickle of plain data and NumPy arrays.

    Raises:
        RuntimeError: it is damaged or contains anything else.
    """
    try:
        with path.open("rb") as file:
            return finished(PickleReader(file, NUMPY_TABLE).read(), set())
    except ValueError as error:
        raise RuntimeError(f"cannot read `{path}`: it is damaged ({error})") from error


def finished(value: Any, done: set[int]) -> Any:
    """`value` with everything that was pending in its place."""
    if isinstance(value, Pending):
        return value.value()
    if type(value) is tuple:
        return tuple([finished(each, done) for each in value])
    if id(value) in done:
        return value
    if isinstance(value, dict):
        done.add(id(value))
        for key in list(value):
            value[key] = finished(value[key], done)
    elif isinstance(value, list):
        done.add(id(value))
        value[:] = [finished(each, done) for each in value]
    return value
