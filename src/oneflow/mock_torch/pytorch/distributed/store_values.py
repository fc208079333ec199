"""The operations of a store of keys and values, wherever these are kept.

A request is an operation's name with fields of bytes, and its answer are fields of bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

Values = dict[bytes, bytes]
# The bytes of the length of an entry of a queue.
_LENGTH = 8


def _set(values: Values, key: bytes, value: bytes) -> Sequence[bytes]:
    values[key] = value
    return ()


def _get(values: Values, *keys: bytes) -> Sequence[bytes]:
    return [values[key] for key in keys]


def _multi_set(values: Values, *keys_and_values: bytes) -> Sequence[bytes]:
    values.update(zip(keys_and_values[::2], keys_and_values[1::2], strict=True))
    return ()


def _add(values: Values, key: bytes, amount: bytes) -> Sequence[bytes]:
    value = values.get(key, b"0")
    try:
        number = int(value)
    except ValueError:
        text = f"{value[:20]!r} of key {key.decode()!r} is no number to add to"
        raise ValueError(text) from None
    values[key] = str(number + int(amount)).encode()
    return (values[key],)


def _append(values: Values, key: bytes, value: bytes) -> Sequence[bytes]:
    values[key] = values.get(key, b"") + value
    return ()


def _compare_set(values: Values, key: bytes, expected: bytes, desired: bytes) -> Sequence[bytes]:
    if key not in values and expected:
        return (expected,)
    if values.get(key, b"") == expected:
        values[key] = desired
    return (values[key],)


def _push(values: Values, key: bytes, value: bytes) -> Sequence[bytes]:
    # A queue is one value: of each entry its length and then itself. An empty one has no key.
    return _append(values, key, len(value).to_bytes(_LENGTH, "big") + value)


def _pop(values: Values, key: bytes) -> Sequence[bytes]:
    queue = values.pop(key, b"")
    if not queue:
        return ()
    end = _LENGTH + int.from_bytes(queue[:_LENGTH], "big")
    if rest := queue[end:]:
        values[key] = rest
    return (queue[_LENGTH:end],)


def _queue_length(values: Values, key: bytes) -> Sequence[bytes]:
    rest = {key: values.get(key, b"")}
    length = 0
    while _pop(rest, key):
        length += 1
    return (str(length).encode(),)


def _check(values: Values, *keys: bytes) -> Sequence[bytes]:
    return (_truth(all(key in values for key in keys)),)


def _delete(values: Values, key: bytes) -> Sequence[bytes]:
    return (_truth(values.pop(key, None) is not None),)


def _keys(values: Values) -> Sequence[bytes]:
    return list(values)


def _truth(value: bool) -> bytes:
    return b"1" if value else b""


_OPERATIONS: dict[str, Callable[..., Sequence[bytes]]] = {
    "set": _set,
    "get": _get,
    "multi_set": _multi_set,
    "add": _add,
    "append": _append,
    "compare_set": _compare_set,
    "queue_push": _push,
    "queue_pop": _pop,
    "queue_len": _queue_length,
    "check": _check,
    "delete": _delete,
    "keys": _keys,
}


def answer(values: Values, operation: str, fields: Iterable[bytes]) -> Sequence[bytes]:
    """Execute a request on the keys and values, and return its answer."""
    return _OPERATIONS[operation](values, *fields)


class SharedValues:
    """Keys and values of one process, whose threads wait for keys."""

    def __init__(self) -> None:
        self._values: Values = {}
        self._changed = threading.Condition()

    def answer(self, operation: str, fields: Iterable[bytes]) -> Sequence[bytes]:
        """Answer a request."""
        with self._changed:
            fields = answer(self._values, operation, fields)
            self._changed.notify_all()
            return fields

    def wait(self, keys: Sequence[bytes], seconds: float) -> bool:
        """Wait until all keys are there; returns whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: all(k in self._values for k in keys), seconds)
