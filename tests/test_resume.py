"""A run that is stopped and resumed in another process equals one that is not, to the last bit."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import oneflow as flow

ROOT = Path(__file__).resolve().parents[1]
STEPS = 9  # one epoch and a half
# After how many steps one stops, and how many workers read for it; one of them each day.
RUNS = ((4, 0), (6, 0), (7, 2))


def train(folder, steps, workers, *checkpoint):
    """Run the program in a process of its own; returns its final state and its losses."""
    folder.mkdir()
    arguments = [str(folder), str(steps), str(workers), *map(str, checkpoint)]
    result = subprocess.run(
        [sys.executable, "-m", "tests.resumable", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return flow.load(folder / "checkpoint"), flow.load(folder / "losses")


def assert_same_bits(one, other, path=""):
    assert type(one) is type(other), path
    if isinstance(one, dict):
        assert list(one) == list(other), path
        for name in one:
            assert_same_bits(one[name], other[name], f"{path}.{name}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), path
        for index, pair in enumerate(zip(one, other, strict=True)):
            assert_same_bits(*pair, f"{path}.{index}")
    elif isinstance(one, flow.Tensor | np.ndarray):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes(), path
    else:
        assert one == other, path


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """A function from a number of workers to what a run that is not stopped leaves, made once."""
    return functools.cache(
        lambda workers: train(tmp_path_factory.mktemp("runs") / "whole", STEPS, workers)
    )


@pytest.mark.multiprocess
@pytest.mark.xdist_group("resumed_runs")
@pytest.mark.parametrize(("stop", "workers"), RUNS)
def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path, uninterrupted, stop, workers, sample):
    sample.take_turns(RUNS, (stop, workers))
    whole, losses = uninterrupted(workers)
    _, before = train(tmp_path / "first", stop, workers)
    resumed, after = train(tmp_path / "second", STEPS, workers, tmp_path / "first" / "checkpoint")
    assert before + after == losses
    assert_same_bits(resumed, whole)


def test_deterministic_algorithms_can_be_switched():
    assert not flow.are_deterministic_algorithms_enabled()
    flow.use_deterministic_algorithms(True, warn_only=True)
    assert flow.are_deterministic_algorithms_enabled()
    flow.use_deterministic_algorithms(False)
    assert not flow.are_deterministic_algorithms_enabled()
