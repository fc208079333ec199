"""Stores of ``torch.distributed``: keys with values that threads or processes share."""

from __future__ import annotations

import operator
import os
import time
import weakref
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import IO

from oneflow.base.file_lock import lock_file
from oneflow.mock_torch.pytorch.distributed.distributed_c10d import (
    DistNetworkError,
    DistStoreError,
    QueueEmptyError,
)
from oneflow.mock_torch.pytorch.distributed.store_client import StoreClient
from oneflow.mock_torch.pytorch.distributed.store_server import WAIT, StoreServer
from oneflow.mock_torch.pytorch.distributed.store_values import SharedValues, Values, answer

_TIMEOUT = timedelta(seconds=300)
_BETWEEN_LOOKS = 0.01
_USERS = b"\0users"


def _bytes(value: str | bytes) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    raise TypeError(f"keys and values of stores are text or bytes, got {value!r}")


def _all_bytes(keys: Sequence[str] | Sequence[bytes]) -> list[bytes]:
    if isinstance(keys, str | bytes):
        raise TypeError(f"expected a sequence of keys, got the single {keys!r}")
    return [_bytes(key) for key in keys]


class Store:
    """The base of stores; a key is text, a value text or bytes, and is read as bytes."""

    def __init__(self) -> None:
        self._timeout = _TIMEOUT

    def _request(self, operation: str, *fields: bytes) -> Sequence[bytes]:
        raise NotImplementedError(f"{type(self).__name__} is no store that can be used")

    def _wait(self, keys: Sequence[bytes], seconds: float) -> bool:
        """Wait for keys; returns whether they are there."""
        end = time.monotonic() + seconds
        while not self._request("check", *keys)[0]:
            if time.monotonic() > end:
                return False
            time.sleep(_BETWEEN_LOOKS)
        return True

    @property
    def timeout(self) -> timedelta:
        """The time that reading waits for a key."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long reading waits for a key."""
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Give a key a value."""
        self._request("set", _bytes(key), _bytes(value))

    def get(self, key: str) -> bytes:
        """Return the value of a key, for which it waits.

        Raises:
            DistStoreError: there is none within the timeout.
        """
        return self.multi_get([key])[0]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of several keys, for which it waits."""
        self.wait(keys)
        return list(self._request("get", *_all_bytes(keys)))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Give several keys values at once.

        Raises:
            DistStoreError: there are more of ones than of the others.
        """
        if len(keys) != len(values):
            raise DistStoreError(f"multi_set got {len(keys)} keys and {len(values)} values")
        pairs = zip(_all_bytes(keys), map(_bytes, values), strict=True)
        self._request("multi_set", *(part for pair in pairs for part in pair))

    def add(self, key: str, amount: int) -> int:
        """Add to the number of a key, 0 at first, and return the sum.

        Raises:
            ValueError: its value is no number; over the network this is a `DistNetworkError`.
        """
        return int(self._request("add", _bytes(key), str(operator.index(amount)).encode())[0])

    def append(self, key: str, value: str | bytes) -> None:
        """Put something behind the value of a key."""
        self._request("append", _bytes(key), _bytes(value))

    def compare_set(
        self, key: str, expected_value: str | bytes, desired_value: str | bytes
    ) -> bytes:
        """Give a key a value if it has another one, or none where that is empty.

        Returns:
            The value of the key then; where it has none, `expected_value`.
        """
        fields = (_bytes(key), _bytes(expected_value), _bytes(desired_value))
        return self._request("compare_set", *fields)[0]

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Put a value at the end of the queue of a key."""
        self._request("queue_push", _bytes(key), _bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of the queue of a key, for which it waits if `block`.

        Raises:
            QueueEmptyError: there is none, and `block` is false.
            DistStoreError: there is none within the timeout.
        """
        while not (values := self._request("queue_pop", _bytes(key))):
            if not block:
                raise QueueEmptyError("queue is empty")
            self.wait([key])
        return values[0]

    def queue_len(self, key: str) -> int:
        """Return how many values are in the queue of a key."""
        return int(self._request("queue_len", _bytes(key))[0])

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all keys have values."""
        return bool(self._request("check", *_all_bytes(keys))[0])

    def delete_key(self, key: str) -> bool:
        """Take a key away; returns whether it was there."""
        return bool(self._request("delete", _bytes(key))[0])

    def list_keys(self) -> list[str]:
        """Return the keys."""
        return [key.decode() for key in self._request("keys")]

    def num_keys(self) -> int:
        """Return how many keys there are."""
        return len(self._request("keys"))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys have values.

        Raises:
            DistStoreError: they have not within `timeout`, or that of the store.
        """
        seconds = (self._timeout if timeout is None else timeout).total_seconds()
        waited = _all_bytes(keys)
        if not self._wait(waited, seconds):
            names = b", ".join(waited).decode()
            raise DistStoreError(f"wait timeout after {seconds} s, keys: {names}")

    def has_extended_api(self) -> bool:
        """Return whether the store appends, and reads and sets several keys at once."""
        return True


class HashStore(Store):
    """A store of the threads of one process.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> store = torch.distributed.HashStore()
        >>> store.set("name", "value")
        >>> store.get("name"), store.add("count", 2)
        (b'value', 2)
    """

    def __init__(self) -> None:
        super().__init__()
        self._values = SharedValues()

    def _request(self, operation: str, *fields: bytes) -> Sequence[bytes]:
        return self._values.answer(operation, fields)

    def _wait(self, keys: Sequence[bytes], seconds: float) -> bool:
        return self._values.wait(keys, seconds)


class FileStore(Store):
    """A store in a file, which processes of a machine share; the last one to go removes it.

    Args:
        file_name: the file.
        world_size: accepted: the file itself counts those who use it.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self._path = Path(file_name)
        self._request("add", _USERS, b"1")
        weakref.finalize(self, _leave, self._path)

    @property
    def path(self) -> str:
        """The file."""
        return str(self._path)

    def _request(self, operation: str, *fields: bytes) -> Sequence[bytes]:
        return _answer_in_file(self._path, operation, fields)


def _answer_in_file(path: Path, operation: str, fields: Sequence[bytes]) -> Sequence[bytes]:
    """Answer a request by the keys and values of a file, which nobody else reads meanwhile."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "r+b") as file:
            lock_file(file, wait=True)
            if not _is_file(file, path):
                continue  # the last user has removed it in between
            values = _read(file.read())
            before = dict(values)
            fields = answer(values, operation, fields)
            if values.get(_USERS) == b"0":
                path.unlink()
            elif values != before:
                file.seek(0)
                file.truncate()
                file.write(b"".join(_written(part) for pair in values.items() for part in pair))
            return fields


def _is_file(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _read(data: bytes) -> Values:
    """The keys and values of a file: of each its length and then itself."""
    parts, start = [], 0
    while start < len(data):
        length = int.from_bytes(data[start : start + 8], "big")
        parts.append(data[start + 8 : start + 8 + length])
        start += 8 + length
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _written(part: bytes) -> bytes:
    return len(part).to_bytes(8, "big") + part


def _leave(path: Path) -> None:
    if path.exists():
        _answer_in_file(path, "add", (_USERS, b"-1"))


class TCPStore(Store):
    """A store that processes reach over the network; one process, the master, holds it.

    As PyTorch's, it asks for no password: whoever reaches the port reads and writes.

    Args:
        host_name: the machine of the master.
        port: its port; 0 for a free one in the master, whose `port` says which.
        world_size: the number of processes, if it is known.
        is_master: hold the keys and values in this process.
        timeout: how long connecting, and reading keys, wait.
        wait_for_workers: wait until `world_size` processes are there.
        multi_tenant: accepted: each master holds its own.
        master_listen_fd: must be None.
        use_libuv: accepted.

    Raises:
        DistNetworkError: the master does not answer, or its port is not free; requests raise it
            too, once the master has gone.
        DistStoreError: there are fewer than `world_size` processes within `timeout`.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> master = torch.distributed.TCPStore("localhost", 0, is_master=True)
        >>> worker = torch.distributed.TCPStore("localhost", master.port)
        >>> worker.set("name", "value")
        >>> master.get("name")
        b'value'
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = _TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        if master_listen_fd is not None:
            raise NotImplementedError("`master_listen_fd`: give `port`; 0 takes a free one")
        self._timeout, self.host, self.port = timeout, host_name, port
        if is_master:
            self._serve()
        self._client = StoreClient(host_name, self.port, timeout.total_seconds())
        weakref.finalize(self, self._client.close)
        if world_size and wait_for_workers:
            self._wait_for_workers(world_size)

    def _serve(self) -> None:
        try:
            self._server = StoreServer(self.host, self.port)
        except OSError as error:
            raise DistNetworkError(f"port {self.port} of {self.host}: {error}") from error
        self.port = self._server.port
        weakref.finalize(self, self._server.close)

    def _wait_for_workers(self, world_size: int) -> None:
        if self.add("init/", 1) >= world_size:
            self.set("init/all", "")
        self.wait(["init/all"])

    def _request(self, operation: str, *fields: bytes) -> Sequence[bytes]:
        return self._client.request(operation, fields)

    def _wait(self, keys: Sequence[bytes], seconds: float) -> bool:
        return bool(self._request(WAIT, str(seconds).encode(), *keys)[0])


class PrefixStore(Store):
    """A part of a store: keys that begin with a text and a slash.

    Args:
        prefix: the text.
        store: the store.
    """

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self._prefix = f"{prefix}/"
        self.underlying_store = store

    def _key(self, key: str | bytes) -> str:
        return self._prefix + _bytes(key).decode()

    def _keys(self, keys: Sequence[str]) -> list[str]:
        return [self._key(key) for key in _all_bytes(keys)]

    @property
    def timeout(self) -> timedelta:
        """The time that reading waits for a key."""
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long reading waits for a key, in the whole store."""
        self.underlying_store.set_timeout(timeout)

    def set(self, key: str, value: str | bytes) -> None:
        """Give a key a value."""
        self.underlying_store.set(self._key(key), value)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of several keys, for which it waits."""
        return self.underlying_store.multi_get(self._keys(keys))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Give several keys values at once."""
        self.underlying_store.multi_set(self._keys(keys), values)

    def add(self, key: str, amount: int) -> int:
        """Add to the number of a key, 0 at first, and return the sum."""
        return self.underlying_store.add(self._key(key), amount)

    def append(self, key: str, value: str | bytes) -> None:
        """Put something behind the value of a key."""
        self.underlying_store.append(self._key(key), value)

    def compare_set(
        self, key: str, expected_value: str | bytes, desired_value: str | bytes
    ) -> bytes:
        """Give a key a value if it has another one, or none where that is empty."""
        store = self.underlying_store
        return store.compare_set(self._key(key), expected_value, desired_value)

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Put a value at the end of the queue of a key."""
        self.underlying_store.queue_push(self._key(key), value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of the queue of a key."""
        return self.underlying_store.queue_pop(self._key(key), block)

    def queue_len(self, key: str) -> int:
        """Return how many values are in the queue of a key."""
        return self.underlying_store.queue_len(self._key(key))

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all keys have values."""
        return self.underlying_store.check(self._keys(keys))

    def delete_key(self, key: str) -> bool:
        """Take a key away; returns whether it was there."""
        return self.underlying_store.delete_key(self._key(key))

    def list_keys(self) -> list[str]:
        """Return the keys of this part, without what they begin with."""
        keys = self.underlying_store.list_keys()
        return [key.removeprefix(self._prefix) for key in keys if key.startswith(self._prefix)]

    def num_keys(self) -> int:
        """Return how many keys the whole store has."""
        return self.underlying_store.num_keys()

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys have values."""
        self.underlying_store.wait(self._keys(keys), timeout)


__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]
