"""Holes in the heap are taken out of the C library's lists."""

import ctypes
import os
import subprocess
import sys

import pytest

import oneflow as flow
from oneflow.base.heap import HOLES, Holes

BLOCK, BLOCKS = 5_000, 20_000


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


keeps = pytest.mark.skipif(not HOLES.keeps, reason="the C library is not glibc, or left alone")


@pytest.fixture
def holes():
    """Without a memory of what other tests left free, and while nobody compiles."""
    flow.eager.synchronize()
    holes = Holes(keeps=True)
    yield holes
    for address in holes.taken:
        holes._free(address)


@keeps
def test_many_holes_are_closed(holes, scattered):
    holes.close()
    assert len(holes.taken) > BLOCKS // 2 - 100  # those near the heap's end stay free


@keeps
def test_it_is_not_done_again_for_a_few(holes, scattered):
    holes.close()
    before = holes.taken
    holes.close()
    assert holes.taken is before


def test_a_heap_that_is_left_alone_is_left_alone(scattered):
    holes = Holes(keeps=False)
    holes.close()
    assert not holes.taken


def keeps_with(name, value):
    """Whether a process with that environment variable keeps freed memory."""
    code = "from oneflow.base.heap import HOLES; print(HOLES.keeps)"
    environment = {**os.environ, name: value}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return run.stdout.strip() == "True"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ONEFLOW_KEEP_HEAP", "0"),
        ("MALLOC_ARENA_MAX", "0"),
        ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=9:glibc.malloc.arena_max=2"),
    ],
)
def test_settings_of_the_user_stay(name, value):
    assert not keeps_with(name, value)


@keeps
def test_settings_of_other_things_are_no_reason_to_leave_it():
    assert keeps_with("GLIBC_TUNABLES", "glibc.malloc.tcache_count=200")
