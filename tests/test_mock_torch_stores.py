"""Stores of keys and values: the same programs here and in PyTorch."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.in_place import in_place_of

OURS = in_place_of("torch.distributed")
_SOON = timedelta(milliseconds=20)


def _prefix(library: Any, path: Path) -> Any:
    return library.PrefixStore("part", library.HashStore())


STORES: dict[str, Callable[[Any, Path], Any]] = {
    "hash": lambda x, path: x.HashStore(),
    "file": lambda x, path: x.FileStore(str(path), 1),
    "tcp": lambda x, path: x.TCPStore("localhost", 0, is_master=True),
    "prefix": _prefix,
}


def _waits(store: Any) -> Any:
    """A key that comes while another thread waits for it."""
    thread = threading.Thread(target=lambda: (time.sleep(0.05), store.set("late", "1")))
    if type(store).__name__ == "TCPStore":
        return b"1"  # a connection answers one request after the other
    thread.start()
    result = store.get("late")
    thread.join()
    return result


def _short(store: Any) -> Any:
    store.set_timeout(_SOON)
    assert store.timeout == _SOON
    return store.get("none")


def _after(*changes: tuple[Any, ...]) -> Callable[[Any], Any]:
    def program(store: Any) -> Any:
        return [getattr(store, name)(*arguments) for name, *arguments in changes]

    return program


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "text and bytes": _after(
        ("set", "a", "text"), ("set", "b", b"\0\xff"), ("multi_get", ["a", "b"])
    ),
    "another value": _after(("set", "a", "1"), ("set", "a", ""), ("get", "a")),
    "numbers": _after(
        ("add", "n", 3), ("add", "n", -5), ("get", "n"), ("set", "n", "7"), ("add", "n", 1)
    ),
    "append": _after(("append", "a", "b"), ("append", "a", "c"), ("get", "a")),
    "several": _after(("multi_set", ["a", "b"], ["1", "2"]), ("multi_get", ["b", "a"])),
    "check": _after(("check", ["a"]), ("set", "a", ""), ("check", ["a"]), ("check", ["a", "b"])),
    "compare with none": _after(("compare_set", "a", "x", "y"), ("check", ["a"])),
    "compare with nothing": _after(("compare_set", "a", "", "y"), ("get", "a")),
    "compare": _after(
        ("set", "a", "x"), ("compare_set", "a", "x", "y"), ("compare_set", "a", "x", "z")
    ),
    "count": _after(("num_keys",), ("set", "a", "1"), ("add", "b", 1), ("num_keys",)),
    "wait for what is there": _after(("set", "a", "1"), ("wait", ["a"])),
    "wait for none": _after(("wait", ["none"], _SOON)),
    "get none": _short,
    "wait for what comes": _waits,
    "queues": _after(
        ("queue_push", "a", "1"),
        ("queue_push", "a", b""),
        ("queue_push", "b", b"\0\xff"),
        ("queue_len", "a"),
        ("queue_pop", "a"),
        ("queue_pop", "b", False),
        ("check", ["a"]),
        ("queue_pop", "a"),
        ("queue_len", "a"),
    ),
    "an empty queue": _after(
        ("queue_push", "a", "1"), ("queue_pop", "a"), ("queue_pop", "a", False)
    ),
    "wait for a queue": _after(("set_timeout", _SOON), ("queue_pop", "a")),
    "extended": _after(("has_extended_api",)),
    "a number": _after(("set", "a", 3)),
    "append a number": _after(("append", "a", 3)),
    "compare with a number": _after(("compare_set", "a", 3, "b")),
    "a memory view": _after(("set", "a", memoryview(b"b"))),
    "a byte array": _after(("set", "a", bytearray(b"b")), ("get", "a")),
    "a key of bytes": _after(("set", b"a", "b"), ("get", b"a"), ("wait", [b"a"])),
    "a number as key": _after(("get", 3)),
    "a number as key of several": _after(("multi_get", [3])),
    "a number among several": _after(("multi_set", ["a"], [3])),
    "text as several keys": _after(("set", "a", "1"), ("check", "a")),
    "add a fraction": _after(("add", "a", 1.5)),
    "add to text": _after(("set", "a", "text"), ("add", "a", 1)),
}
#: PyTorch's file stores do not know whether a key was there, nor append,
#: nor read several, nor have they queues.
DELETE = _after(("set", "a", "1"), ("delete_key", "a"), ("delete_key", "a"), ("check", ["a"]))
_NOT_OF_FILES = {
    "append",
    "several",
    "extended",
    "text and bytes",
    "queues",
    "an empty queue",
    "wait for a queue",
}


def _outcome(program: Callable[[Any], Any], library: Any, kind: str, path: Path) -> Any:
    store = STORES[kind](library, path)
    try:
        return program(store)
    except Exception as error:
        return "RuntimeError" if isinstance(error, RuntimeError) else type(error).__name__


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_stores_are_as_in_pytorch(name: str, kind: str, tmp_path: Path) -> None:
    if kind == "file" and name in _NOT_OF_FILES:
        pytest.skip("PyTorch's file stores do not")
    ours = _outcome(PROGRAMS[name], OURS, kind, tmp_path / "ours")
    theirs = _outcome(PROGRAMS[name], torch.distributed, kind, tmp_path / "theirs")
    assert ours == theirs


@pytest.mark.parametrize("kind", STORES)
def test_keys_go(kind: str, tmp_path: Path) -> None:
    store = STORES[kind](OURS, tmp_path / "ours")
    assert DELETE(store) == [None, True, False, False]
    store.set("b", "1")
    assert "b" in store.list_keys()


def test_a_part_of_a_store_and_the_whole() -> None:
    whole = OURS.HashStore()
    part = OURS.PrefixStore("outer", OURS.PrefixStore("inner", whole))
    part.set("key", "1")
    assert whole.get("inner/outer/key") == b"1"
    assert part.list_keys() == ["key"]
    assert part.underlying_store.underlying_store is whole


def test_a_network_of_stores_waits_for_all_and_counts_right() -> None:
    master = OURS.TCPStore("localhost", 0, is_master=True)
    sums = []

    def work() -> None:
        store = OURS.TCPStore("localhost", master.port, 4, False)
        sums.extend(store.add("n", 1) for _ in range(25))
        store.set(f"done{threading.get_ident()}", "1")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sums) == list(range(1, 101))
    assert master.add("n", 0) == 100


def test_too_few_processes_and_no_master_are_errors() -> None:
    with pytest.raises(OURS.DistStoreError, match="init/all"):
        OURS.TCPStore("localhost", 0, 2, True, _SOON)
    with pytest.raises(OURS.DistNetworkError, match="no store answers"):
        OURS.TCPStore("localhost", 1, timeout=_SOON)
    with pytest.raises(NotImplementedError, match="is no store"):
        OURS.Store().set("a", "1")


def test_as_many_values_as_keys_are_set() -> None:
    theirs: Any = torch.distributed
    master = theirs.TCPStore("localhost", 0, is_master=True)
    with pytest.raises(theirs.DistStoreError):
        master.multi_set(["a", "b"], ["1"])
    for kind in STORES:
        if kind != "file":
            with pytest.raises(OURS.DistStoreError, match="2 keys and 1 values"):
                STORES[kind](OURS, Path()).multi_set(["a", "b"], ["1"])


def test_a_refused_request_leaves_the_store_as_it_is(capfd: Any) -> None:
    store = STORES["tcp"](OURS, Path())
    store.set("a", "text")
    with pytest.raises(OURS.DistNetworkError, match="'text' of key 'a' is no number"):
        store.add("a", 1)
    assert store.get("a") == b"text"
    assert not capfd.readouterr().err


class _Alarm(TimeoutError):
    pass


@pytest.fixture
def alarm() -> Any:
    """Sets when a signal's handler raises an exception."""

    def handler(*_: Any) -> None:
        raise _Alarm("time is up")

    before = signal.signal(signal.SIGALRM, handler)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_an_interrupted_request_leaves_no_answer_to_later_ones(alarm: Any) -> None:
    master = STORES["tcp"](OURS, Path())
    store = OURS.TCPStore("localhost", master.port)
    store.set("a", "right")
    alarm(0.05)
    with pytest.raises(_Alarm):
        store.wait(["none"], timedelta(seconds=0.2))
    assert [store.get("a"), store.add("n", 1), store.get("a")] == [b"right", 1, b"right"]
    time.sleep(0.2)
    assert [store.get("a"), store.add("n", 1), store.check(["b"])] == [b"right", 2, False]


def test_connecting_can_be_interrupted(alarm: Any) -> None:
    alarm(0.05)
    with pytest.raises(_Alarm):
        OURS.TCPStore("localhost", 1, timeout=timedelta(seconds=5))


def test_a_store_without_its_master_is_an_error_of_the_network() -> None:
    master = STORES["tcp"](OURS, Path())
    store = OURS.TCPStore("localhost", master.port)
    del master
    gc.collect()
    for _ in range(2):
        with pytest.raises(OURS.DistNetworkError, match="store"):
            store.get("a")


_FORKED = """
import os
import sys
from oneflow import mock_torch
with mock_torch.enable():
    from torch.distributed import TCPStore
master = TCPStore("localhost", 0, is_master=True)
master.set("a", "1")
child = os.fork()
for number in range(200):
    assert master.get("a") == b"1"
    assert master.add(str(child == 0), 1) == number + 1
if child == 0:
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
assert master.get("True") == b"200"
"""


def test_a_forked_process_has_a_connection_of_its_own() -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", _FORKED], check=True, timeout=100)


def test_the_last_to_go_removes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "store"
    first, second = OURS.FileStore(str(path)), OURS.FileStore(str(path))
    first.set("a", "1")
    assert second.get("a") == b"1"
    del first
    gc.collect()
    assert path.exists()
    del second
    gc.collect()
    assert not path.exists()
