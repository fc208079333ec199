"""NumPy arrays, numbers and plain data in a pickle, read without executing anything."""

from __future__ import annotations

import os
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from pathlib import Path, PurePath
from typing import Any, Literal

import numpy as np

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.layout import Layout, MemoryFormat
from oneflow.base.shape import Size
from oneflow.checkpoint.load_errors import UnsafePickleError, load_errors
from oneflow.checkpoint.pickle_reader import BuildTarget, PickleReader, checked_keys
from oneflow.checkpoint.plain_objects import (
    FACTORIES,
    NAMESPACES,
    PATHS,
    counter_of,
    default_dict_of,
)


class Budget:
    """The number of bytes that the content of a file may become in memory.

    A file can name the same numbers again and again, or expand one of them to any shape. So what
    is made of a file is bounded by its size.

    Args:
        size: the size of the file, in bytes.
    """

    _MIN_LIMIT, _MAX_RATIO = 2**28, 16

    def __init__(self, size: int) -> None:
        self._limit = self._left = max(self._MIN_LIMIT, self._MAX_RATIO * size)

    def allows(self, count: int) -> bool:
        """Return whether so many bytes may be made."""
        return count <= self._left

    def take(self, count: int) -> None:
        """Enter that so many bytes will be made.

        Raises:
            ValueError: they are too many.
        """
        self._left -= count
        if self._left < 0:
            raise ValueError(
                f"its content would take more than {self._limit} bytes of memory; save clones of "
                "tensors that are expanded or overlap"
            )


class Pending(BuildTarget):
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


class _NumpyType(Pending):
    """A NumPy dtype of numbers."""

    def __init__(self, text: Any, *_: Any) -> None:
        if not isinstance(text, str):
            raise ValueError(f"a NumPy dtype is described by a {type(text).__name__}")
        self.numpy = np.dtype(text)
        if self.numpy.kind not in "biufcUS":
            raise UnsafePickleError(
                f"it holds NumPy data of type {text}, which is not read; save numbers, text, or "
                "lists of other objects"
            )
        super().__init__(lambda: self.numpy)

    def build(self, state: Any) -> None:
        """Take the byte order."""
        self.numpy = self.numpy.newbyteorder(state[1])


class _PendingArray(Pending):
    """A NumPy array, whose content comes as its state."""

    def __init__(self, budget: Budget) -> None:
        super().__init__()
        self._budget = budget

    def build(self, state: Any) -> None:
        """Take shape, dtype and content."""
        _, shape, kind, fortran, content = state
        order = "F" if fortran else "C"
        self._budget.take(len(content))
        # Python 2 wrote bytes as text.
        content = content.encode("latin1") if isinstance(content, str) else content
        if kind.numpy.kind in "US":
            self._make = lambda: text_array(content, kind.numpy, shape, order)
            return
        numbers = np.frombuffer(content, kind.numpy)
        self._make = lambda: numbers.reshape(shape, order=order).copy()


def text_array(
    content: bytes, dtype: Any, shape: Iterable[int], order: Literal["C", "F"] = "C"
) -> np.ndarray:
    """An array of text or bytes.

    Args:
        content: the bytes of the letters.
        dtype: the array's.
        shape: the array's.
        order: the order of the elements in `content`.

    Raises:
        ValueError: it is none, or has numbers that stand for no letter.
    """
    dtype = np.dtype(dtype)
    if dtype.kind not in "US":
        raise ValueError(f"an array of text has the dtype {dtype}")
    chars = np.frombuffer(content, f"{dtype.byteorder}u4" if dtype.kind == "U" else np.uint8)
    if dtype.kind == "U" and (chars > sys.maxunicode).any():
        raise ValueError("an array of text holds numbers that stand for no letter")
    return np.frombuffer(content, dtype).reshape(tuple(shape), order=order).copy()


_NUMPY_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")
_BUILTINS = ("builtins", "__builtin__")
_PATH_MODULES = ("pathlib", "pathlib._local")


def _numpy_scalar(kind: _NumpyType, content: bytes) -> Any:
    if kind.numpy.kind in "US":
        return text_array(content, kind.numpy, ())[()]
    return np.frombuffer(content, kind.numpy)[0]


def _set_of(items: Iterable[Any] = ()) -> set:
    return set(checked_keys(items))


def _frozenset_of(items: Iterable[Any] = ()) -> frozenset:
    return frozenset(checked_keys(items))


def ordered_dict_of(pairs: Iterable[Any] = ()) -> OrderedDict[str, Any]:
    """The constructor that pickles of an ordered dict call."""
    pairs = list(pairs)
    keys = checked_keys([key for key, _ in pairs])
    return OrderedDict(zip(keys, [value for _, value in pairs], strict=True))


class _Class:
    """A class that a pickle names as the factory of a dict."""

    def __init__(self, name: str) -> None:
        self.name = name


def _default_dict(factory: Any = None) -> defaultdict:
    names = {_set_of: "set", ordered_dict_of: "OrderedDict", None: None}
    name = factory.name if isinstance(factory, _Class) else names.get(factory, "")
    if name not in FACTORIES and name is not None:
        raise ValueError("a defaultdict has a factory that is not known")
    return default_dict_of(name, {})


def _deque(items: Iterable[Any] = (), size: int | None = None) -> deque:
    return deque(items, size)


def _path_type(kind: type[PurePath]) -> Callable[..., PurePath]:
    return lambda *parts: kind(*parts)


def _plain_table() -> dict[tuple[str, str], Any]:
    """Return what the names of plain objects of the standard library stand for."""
    paths = {name: _path_type(kind) for name, kind in PATHS.items()}
    classes = {name: _Class(name) for name in FACTORIES if name not in ("set", "OrderedDict")}
    return {
        ("collections", "Counter"): counter_of,
        ("collections", "defaultdict"): _default_dict,
        ("collections", "deque"): _deque,
        **{(module, name): range for name in ("range", "xrange") for module in _BUILTINS},
        **{(kind.__module__, kind.__name__): kind for kind in NAMESPACES},
        **{(module, name): f for name, f in paths.items() for module in _PATH_MODULES},
        **{(module, name): cls for name, cls in classes.items() for module in _BUILTINS},
    }


def numpy_table(budget: Budget) -> dict[tuple[str, str], Any]:
    """Return the objects that the names in pickles of plain data and NumPy arrays stand for."""

    def encode(text: str, encoding: str) -> bytes:
        """Return `text` as bytes; old pickles write bytes as a call of this."""
        if encoding != "latin1":
            raise ValueError(f"bytes in the encoding {encoding} are not read")
        budget.take(len(text))
        return text.encode("latin1")

    def byte_array(content: Any = b"", encoding: str = "latin1") -> bytearray:
        # A number is refused: Python would make as many zeros of it.
        content = encode(content, encoding) if isinstance(content, str) else content
        if not isinstance(content, bytes | bytearray):
            raise ValueError(f"a bytearray is made of a {type(content).__name__}")
        budget.take(len(content))
        return bytearray(content)

    def empty_bytes() -> bytes:
        """Return no bytes; old pickles write others as calls of `encode`."""
        return b""

    def array(*_: Any) -> _PendingArray:
        return _PendingArray(budget)

    plain = {
        "set": _set_of,
        "frozenset": _frozenset_of,
        "bytearray": byte_array,
        "bytes": empty_bytes,
        "complex": complex,
    }
    return {
        **_plain_table(),
        ("collections", "OrderedDict"): ordered_dict_of,
        ("_codecs", "encode"): encode,
        ("numpy", "dtype"): _NumpyType,
        ("numpy", "ndarray"): array,
        **{(module, name): result for name, result in plain.items() for module in _BUILTINS},
        **{(module, "scalar"): _numpy_scalar for module in _NUMPY_MODULES},
        **{(module, "_reconstruct"): array for module in _NUMPY_MODULES},
    }


def read_numpy_pickle(path: Path) -> Any:
    """The object in a pickle of plain data and NumPy arrays.

    Raises:
        RuntimeError: it is damaged or contains anything else.
    """
    with load_errors(path, "it is damaged"), path.open("rb") as file:
        table = numpy_table(Budget(os.fstat(file.fileno()).st_size))
        return finished(PickleReader(file, table).read())


def finished(value: Any) -> Any:
    """`value` with everything that was pending in its place.

    Raises:
        ValueError: it holds something that is no data, or is nested too deeply.
    """
    return _PendingEvaluator().finish(value, 0)


class _PendingEvaluator:
    _MAX_DEPTH = 150
    _LEAVES = (
        type(None),
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        bytearray,
        np.generic,
        DType,
        Device,
        Layout,
        MemoryFormat,
        Size,
        range,
        PurePath,
    )

    def __init__(self) -> None:
        # With its arguments, which must live on, or another object may get its id.
        self._replacements: dict[int, tuple[Any, Any]] = {}

    def finish(self, value: Any, depth: int) -> Any:
        """`value`, finished; what occurs twice in it is the same object twice."""
        if isinstance(value, Pending):
            return value.value()
        if isinstance(value, self._LEAVES):
            return value
        if id(value) in self._replacements:
            return self._replacements[id(value)][1]
        if depth > self._MAX_DEPTH:
            raise ValueError(f"its data are nested more than {self._MAX_DEPTH} times")
        if type(value) in (tuple, frozenset):
            result = type(value)([self.finish(item, depth + 1) for item in value])
            self._replacements[id(value)] = value, result
            return result
        # These may contain themselves.
        self._replacements[id(value)] = value, value
        self._fill(value, depth + 1)
        return value

    def _fill(self, value: Any, depth: int) -> None:
        """Resolve the items of a container in place."""
        if type(value) is list:
            value[:] = [self.finish(item, depth) for item in value]
        elif type(value) is set:
            items = [self.finish(item, depth) for item in value]
            value.clear()
            value.update(items)
        elif type(value) is deque:
            items = [self.finish(item, depth) for item in value]
            value.clear()
            value.extend(items)
        elif type(value) in NAMESPACES:
            self._fill(vars(value), depth)
        elif type(value) in (dict, OrderedDict, Counter, defaultdict):
            pairs = [
                (self.finish(key, depth), self.finish(item, depth)) for key, item in value.items()
            ]
            value.clear()
            value.update(dict(pairs))
            if "_metadata" in getattr(value, "__dict__", ()):
                value._metadata = self.finish(value._metadata, depth)
        else:
            raise ValueError(
                f"it holds a {type(value).__name__.strip('_')} by itself, which is no data; save "
                "tensors, numbers, text and containers of these"
            )
