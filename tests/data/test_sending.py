"""The data sets and functions that a loader may be made of, whatever starts the workers."""

import itertools
import os
import random
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import oneflow as flow
from oneflow.data import sending
from oneflow.utils.data import DataLoader
from tests.data import contents
from tests.data.scripts import run

METHODS = ("fork", "spawn", "forkserver", None)
CASES = list(itertools.product(contents.CONTENTS, METHODS, (False, True)))
random.Random(0).shuffle(CASES)


def run_cell(program):
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.multiprocess
@pytest.mark.parametrize(("content", "method", "persistent"), CASES)
def test_contents_reach_workers(tmp_path, content, method, persistent, sample):
    sample.take_turns(CASES, (content, method, persistent), count=4)
    path = str(tmp_path / "numbers")
    contents.write_numbers(path)
    # A copy of the process is possible until the first epoch has made a tensor.
    epochs = 1 if method == "fork" and not persistent else 2
    result = run_cell(
        contents.PROGRAM.format(
            path=path,
            content=contents.CONTENTS[content],
            method=method,
            persistent=persistent,
            epochs=epochs,
        )
    )
    assert result.stdout == "[0, 10] [20, 30]\n" * epochs, result.stderr
    assert result.stderr == ""


@pytest.mark.parametrize("length", [3, 100_000])
def test_arrays_arrive_once_for_all_workers_and_as_copies(length):
    loader = DataLoader(contents.Overwrites(length), num_workers=2)
    # Each worker has what the parent had, and writes for itself alone.
    assert [batch.tolist() for batch in loader] == [[0], [0], [1], [1]]


MODES = [("r", "r"), ("r+", "r+"), ("w+", "r+"), ("c", None)]


@pytest.mark.parametrize(("mode", "there"), MODES)
def test_mapped_arrays_are_mapped_again(tmp_path, mode, there):
    path = tmp_path / "numbers"
    np.arange(24, dtype=np.int32).tofile(path)
    whole = np.memmap(path, np.int32, mode, offset=8, shape=(22,))
    if mode == "w+":
        whole[:] = np.arange(22)
    memory = memoryview(whole)
    parts = {
        "whole": whole,
        "part": whole[4:8],
        "column": whole[:20].reshape(4, 5)[1:, 2],
        "bytes": np.frombuffer(memory, np.int16, 5, offset=12),
        "backwards": whole[::-1],
        "none": whole[:0],
        "memory": memory,
    }
    packed = sending.pack(parts, set())
    arrived = sending.unpack(packed.message.parts)
    for name, part in parts.items():
        assert np.asarray(arrived[name]).tolist() == np.asarray(part).tolist(), name
        assert np.asarray(arrived[name]).dtype == np.asarray(part).dtype, name
    if there is not None:
        assert arrived["whole"].mode == there
        assert isinstance(arrived["part"], np.memmap)
    if there == "r+":
        arrived["column"][0] = 77
        arrived["whole"].flush()
        assert whole[7] == 77


def test_locks_arrive_free():
    lock, reentrant = threading.Lock(), threading.RLock()
    with lock, reentrant:
        arrived = sending.unpack(sending.pack([lock, reentrant], set()).message.parts)
    assert all(semaphore.acquire(blocking=False) for semaphore in arrived)


def test_copies_are_refused_once_a_tensor_exists():
    flow.ones(1)
    loader = DataLoader(range(4), num_workers=1, multiprocessing_context="fork")
    with pytest.raises(RuntimeError, match=r"'fork'.* has used tensors.*persistent_"):
        next(iter(loader))


def test_a_copy_ends_with_its_parent(tmp_path):
    program = """
        import os, signal
        from oneflow.utils.data import DataLoader
        from tests.data.samples import Squares
        loader = DataLoader(Squares(), num_workers=2, multiprocessing_context="fork")
        batches = iter(loader)
        print(*(each.pid for each in batches._source._pool._processes), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    result = run(program, tmp_path)
    workers = [*map(int, result.stdout.split())]
    assert len(workers) == 2, result.stderr
    for pid in workers:
        wait_until_gone(pid)


def wait_until_gone(pid):
    for _ in range(600):
        try:
            with open(f"/proc/{pid}/stat") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except OSError:
            return
        if state == "Z":
            return
        time.sleep(0.1)
    raise AssertionError(f"process {pid} is still there")


def test_what_a_guarded_script_sets_elsewhere_holds_in_workers(tmp_path):
    program = """
        import decimal
        from oneflow.utils.data import DataLoader
        decimal.DefaultContext.prec = 7

        def precision(samples):
            return decimal.DefaultContext.prec, factor

        if __name__ == "__main__":
            factor = 3
            print(*DataLoader(range(2), 2, num_workers=1, collate_fn=precision))
        """
    result = run(program, tmp_path)
    assert result.stdout == "(7, 3)\n", result.stderr


def test_settings_of_the_process_hold_in_workers(tmp_path):
    program = """
        import oneflow as flow
        from oneflow import mock_torch
        from tests.data.samples import MakesTensors
        flow.set_default_dtype(flow.float64)
        with mock_torch.enable():
            from tests.data import torch_samples
        for dataset in (MakesTensors(), torch_samples.Numbers()):
            print(next(iter(flow.utils.data.DataLoader(dataset, num_workers=1)))[0].dtype)
        mock_torch.enable()
        import torch
        (batch,) = torch.utils.data.DataLoader(torch_samples.Numbers(), 2, num_workers=1)
        print(batch.tolist(), batch.dtype)
        """
    result = run(program, tmp_path)
    assert result.stdout.splitlines() == [
        "oneflow.float64",
        "oneflow.float64",
        "[0.0, 2.0] torch.float64",
    ], result.stderr
