"""Freed memory stays with the process, and free blocks leave the C library's lists."""

import ctypes
import os
import subprocess
import sys

import pytest

import oneflow as flow
from oneflow.tuning.linux import FreeLists, can_allocate, retain_freed_memory
from oneflow.tuning.settings import Setting, is_on
from tests.data.scripts import run

BLOCK, BLOCKS = 5_000, 20_000


@pytest.fixture(autouse=True)
def _everything_is_on(monkeypatch):
    """As for users; other tests do without some of it."""
    monkeypatch.delenv("ONEFLOW_TUNING_OFF", raising=False)


@pytest.fixture
def scattered():
    """Ten thousand free blocks with used ones in between."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    blocks = [libc.malloc(BLOCK) for _ in range(BLOCKS)]
    for address in blocks[::2]:
        libc.free(address)
    yield
    for address in blocks[1::2]:
        libc.free(address)


def test_looking_for_memory_finds_the_functions_once(monkeypatch):
    """Each run of a program that needs a megabyte looks for it."""
    assert can_allocate(2**20)
    monkeypatch.setattr(ctypes, "PyDLL", None)
    assert can_allocate(2**20)


is_retained = pytest.mark.skipif(
    not retain_freed_memory(), reason="the C library is not glibc, or its settings are the user's"
)


@pytest.fixture
def free_lists():
    """Without a memory of what other tests left free, and while nothing compiles."""
    flow.eager.synchronize()
    lists = FreeLists()
    lists.enable()
    yield lists
    for address in lists.reserved:
        lists._free(address)


MANY = f"""
    import ctypes
    from oneflow.tuning.linux import FREE_LISTS, retain_freed_memory

    assert retain_freed_memory()
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    blocks = [libc.malloc({BLOCK}) for _ in range({BLOCKS})]
    for address in blocks[::2]:
        libc.free(address)
    FREE_LISTS.trim()
    print(len(FREE_LISTS.reserved))
"""


@is_retained
def test_many_free_blocks_are_reserved(tmp_path):
    """In a process of its own: how the heap is cut up depends on the tests before."""
    result = run(MANY, tmp_path)
    assert not result.returncode, result.stderr
    assert int(result.stdout) > BLOCKS // 2 - 100  # those near the heap's end stay free


@is_retained
def test_a_few_more_free_blocks_are_no_reason_to_do_it_again(free_lists, scattered):
    free_lists.trim()
    before = free_lists.reserved
    free_lists.trim()
    assert free_lists.reserved is before


def test_nothing_is_reserved_where_freed_memory_is_not_retained(scattered):
    lists = FreeLists()
    lists.trim()
    assert not lists.reserved


@pytest.mark.parametrize("off", ["free_lists", "sequential_runs, free_lists", "all"])
def test_the_switch_turns_it_off(monkeypatch, scattered, off):
    monkeypatch.setenv("ONEFLOW_TUNING_OFF", off)
    lists = FreeLists()
    lists.enable()
    lists.trim()
    assert not lists.reserved


def test_only_what_is_named_is_off(monkeypatch):
    monkeypatch.setenv("ONEFLOW_TUNING_OFF", "sequential_runs,blas_threads")
    off = {setting for setting in Setting if not is_on(setting)}
    assert off == {Setting.SEQUENTIAL_RUNS, Setting.BLAS_THREADS}


def test_unknown_names_are_an_error(monkeypatch):
    monkeypatch.setenv("ONEFLOW_TUNING_OFF", "heap")
    with pytest.raises(ValueError, match="names heap; expected `all` or some of allocator"):
        is_on(Setting.ALLOCATOR)


def is_retained_with(name, value):
    """Test if a process with that environment variable keeps freed memory."""
    code = "from oneflow.tuning import linux; print(linux.retain_freed_memory())"
    environment = {**os.environ, name: value}
    process = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return process.stdout.strip() == "True"


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ONEFLOW_KEEP_HEAP", "0"),
        ("ONEFLOW_TUNING_OFF", "allocator"),
        ("MALLOC_ARENA_MAX", "0"),
        ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=9:glibc.malloc.arena_max=2"),
    ],
)
def test_settings_of_the_user_stay(name, value):
    assert not is_retained_with(name, value)


@is_retained
def test_settings_of_other_things_are_no_reason_to_leave_it():
    assert is_retained_with("GLIBC_TUNABLES", "glibc.malloc.tcache_count=200")
