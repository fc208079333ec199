"""A reader of pickled data that executes nothing.

It walks the opcodes and knows a fixed set of them. A name in the pickle never leads to the object
of that name: it is looked up in a table of functions written for this purpose, and anything else is
refused.
"""

from __future__ import annotations

import contextlib
import io
import pickletools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, BinaryIO

from oneflow.checkpoint.load_errors import UnsafePickleError
from oneflow.checkpoint.plain_objects import NAMESPACES

# The limits of a tuple in a set or as a key: Python computes its hash anew, by recursion, from all
# that is nested in it.
_MAX_KEY_SIZE = 10_000
_MAX_KEY_DEPTH = 50


class _Mark:
    """The begin of a group of stack items."""


_MARK = _Mark()
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY: dict[str, Callable[[], Any]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_SET": set,
}
_LITERALS = frozenset(
    (
        "INT",
        "BININT",
        "BININT1",
        "BININT2",
        "LONG",
        "LONG1",
        "LONG4",
        "FLOAT",
        "BINFLOAT",
        "UNICODE",
        "BINUNICODE",
        "SHORT_BINUNICODE",
        "BINUNICODE8",
        "BINBYTES",
        "SHORT_BINBYTES",
        "BINBYTES8",
        "BYTEARRAY8",
    )
)
# Texts of Python 2, which does not say in which encoding they are.
_OLD_STRINGS = frozenset(("STRING", "BINSTRING", "SHORT_BINSTRING"))
# Options of `pickle.Unpickler` for them.
_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})
_TEXT_OPTIONS: ContextVar[Mapping[str, Any]] = ContextVar("text_options", default=_NO_OPTIONS)
_STORES = frozenset(("PUT", "BINPUT", "LONG_BINPUT"))
_MEMO_READS = frozenset(("GET", "BINGET", "LONG_BINGET"))
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_IGNORED = frozenset(("PROTO", "FRAME"))


@contextlib.contextmanager
def string_options(**options: Any) -> Iterator[None]:
    """Read texts that Python 2 pickled as ``pickle.Unpickler`` does with some options.

    Args:
        options: `encoding`, where ``"bytes"`` leaves them as they are, and `errors`.
    """
    token = _TEXT_OPTIONS.set(options)
    try:
        yield
    finally:
        _TEXT_OPTIONS.reset(token)


def text_options() -> Mapping[str, Any]:
    """Return the options of ``pickle.Unpickler`` for texts that Python 2 pickled."""
    return _TEXT_OPTIONS.get()


def _decode(
    text: str, encoding: str = "latin-1", errors: str = "strict", fix_imports: bool = True
) -> str | bytes:
    """Return a text whose bytes were read one by one, in the encoding that it has."""
    content = text.encode("latin-1")
    if encoding == "bytes":
        return content
    try:
        return content.decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"a text that Python 2 wrote is not in {encoding}; give its encoding, such as "
            f"`encoding='latin1'`, or 'bytes' ({error})"
        ) from None


class _BoundedFile:
    """A file that never reads more bytes than it has left."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        start = file.tell()
        self._end = file.seek(0, io.SEEK_END)
        file.seek(start)
        self.tell = file.tell
        self.readline = file.readline

    def read(self, count: int) -> bytes:
        """At most so many bytes."""
        return self._file.read(min(count, self._end - self._file.tell()))


class BuildTarget:
    """Base class of objects that a pickle may give a state to."""

    def build(self, state: Any) -> None:
        """Take the state."""
        raise NotImplementedError


class PickleReader:
    """Reads one pickle after the other from a file.

    Args:
        file: the file; reading stops right behind a pickle.
        table: what names in the pickle stand for: ``(module, name)`` to a function or a plain
            value.
        persistent: gives the object behind a persistent id.
    """

    def __init__(
        self,
        file: BinaryIO,
        table: Mapping[tuple[str, str], Any],
        persistent: Callable[[Any], Any] | None = None,
    ) -> None:
        self._file, self._table, self._persistent = _BoundedFile(file), table, persistent
        self._callable = {id(entry) for entry in table.values() if callable(entry)}
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def read(self) -> Any:
        """The next object.

        Raises:
            UnsafePickleError: a name or an opcode that is not allowed.
            ValueError: the pickle is damaged.
        """
        self._stack, self._memo = [], {}
        source: Any = self._file
        try:
            for opcode, argument, _ in pickletools.genops(source):
                if opcode.name == "STOP":
                    return self._stack.pop()
                self._apply(opcode.name, argument)
        except (IndexError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"damaged pickle: {error!r}") from error
        raise ValueError("damaged pickle: it has no end")

    def _apply(self, name: str, argument: Any) -> None:
        """Do what one opcode says."""
        stack = self._stack
        if name in _LITERALS:
            stack.append(argument)
        elif name in _OLD_STRINGS:
            stack.append(_decode(argument, **_TEXT_OPTIONS.get()))
        elif name in _STORES:
            self._memo[int(argument)] = stack[-1]
        elif name in _MEMO_READS:
            stack.append(self._memo[int(argument)])
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            count = _TUPLES[name]
            stack[-count:] = [tuple(stack[-count:])]
        elif name not in _IGNORED:
            action = getattr(self, f"_do_{name.lower()}", None)
            if action is None:
                raise UnsafePickleError(f"pickle opcode {name} is not supported")
            action(argument)

    def _group(self) -> list[Any]:
        """The stack items down to the last mark."""
        start = len(self._stack) - 1
        while self._stack[start] is not _MARK:
            start -= 1
        items = self._stack[start + 1 :]
        del self._stack[start:]
        return items

    def _do_mark(self, _: Any) -> None:
        self._stack.append(_MARK)

    def _do_pop(self, _: Any) -> None:
        self._stack.pop()

    def _do_memoize(self, _: Any) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _do_tuple(self, _: Any) -> None:
        self._stack.append(tuple(self._group()))

    def _do_list(self, _: Any) -> None:
        self._stack.append(self._group())

    def _do_dict(self, _: Any) -> None:
        self._stack.append(_dict_of(self._group()))

    def _do_frozenset(self, _: Any) -> None:
        self._stack.append(frozenset(checked_keys(self._group())))

    def _do_append(self, _: Any) -> None:
        item = self._stack.pop()
        self._check(list | deque).append(item)

    def _do_appends(self, _: Any) -> None:
        items = self._group()
        self._check(list | deque).extend(items)

    def _do_additems(self, _: Any) -> None:
        items = self._group()
        self._check(set).update(checked_keys(items))

    def _do_setitem(self, _: Any) -> None:
        item, key = self._stack.pop(), self._stack.pop()
        self._check(dict).update(_dict_of([key, item]))

    def _do_setitems(self, _: Any) -> None:
        items = self._group()
        self._check(dict).update(_dict_of(items))

    def _check(self, kind: Any) -> Any:
        """The topmost item, which must be a container of this kind."""
        if not isinstance(self._stack[-1], kind):
            raise TypeError(f"expected a {kind} on the stack")
        return self._stack[-1]

    def _do_global(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self._stack.append(self._find(module, name))

    def _do_stack_global(self, _: Any) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        self._stack.append(self._find(module, name))

    def _find(self, module: str, name: str) -> Any:
        entry = self._table.get((module, name))
        if entry is None:
            raise UnsafePickleError(
                f"the file contains a `{module}.{name}`, and loading never runs code or makes "
                "objects of unknown classes; if you trust the file, give `weights_only=False`, or "
                "save plain tensors, numbers and text, such as a `state_dict()`"
            )
        return entry

    def _do_reduce(self, _: Any) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        if id(function) not in self._callable:
            raise UnsafePickleError(f"the file calls a {type(function).__name__}")
        self._stack.append(function(*arguments))

    _do_newobj = _do_reduce

    def _do_build(self, _: Any) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        if isinstance(target, BuildTarget):
            target.build(state)
        elif isinstance(target, dict) and isinstance(state, dict) and "_metadata" in state:
            # PyTorch keeps the versions of modules there, as an attribute of an OrderedDict.
            vars(target)["_metadata"] = state["_metadata"]
        elif isinstance(target, NAMESPACES) and isinstance(state, dict):
            vars(target).update(state)
        elif state:
            raise UnsafePickleError(f"the file gives a state to a {type(target).__name__}")

    def _do_binpersid(self, _: Any) -> None:
        if self._persistent is None:
            raise UnsafePickleError("the file refers to objects outside of it")
        self._stack.append(self._persistent(self._stack.pop()))


def _dict_of(items: list[Any]) -> dict:
    """A dict of keys and values in turn."""
    return dict(zip(checked_keys(items[::2]), items[1::2], strict=True))


def checked_keys(keys: Iterable[Any]) -> list[Any]:
    """Things that go into a set or are keys of a dict.

    Raises:
        ValueError: one is a tuple of so much that its hash would take forever, or too deep a
            recursion.
    """
    keys = list(keys)
    for key in keys:
        if type(key) is tuple:
            _check_tuple(key)
    return keys


def _check_tuple(key: tuple) -> None:
    waiting, count = [(key, 0)], 0
    while waiting:
        items, depth = waiting.pop()
        count += len(items)
        if count > _MAX_KEY_SIZE or depth > _MAX_KEY_DEPTH:
            raise ValueError(
                f"a tuple that is the key of a dict, or in a set, holds more than {_MAX_KEY_SIZE} "
                f"values or is nested more than {_MAX_KEY_DEPTH} times"
            )
        waiting += [(item, depth + 1) for item in items if type(item) is tuple]
