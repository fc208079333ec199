"""A run that is resumed in another process equals one that goes on, to the last bit."""

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
# After how many steps one goes on from, and how many workers read for it; one of them in a sample.
RUNS = ((4, 0), (6, 0), (7, 2))


def train(folder, steps, workers, *checkpoint):
    """Run the program in a process of its own; return its folder, and its losses."""
    folder.mkdir()
    texts = ",".join(map(str, steps)), str(workers)
    arguments = [str(folder), *texts, *map(str, checkpoint)]
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
    return folder, flow.load(folder / "losses")


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
    """A function from a number of workers to what a run to the end leaves, made once.

    It writes checkpoints on its way.
    """

    @functools.cache
    def run(workers):
        stops = [stop for stop, number in RUNS if number == workers]
        return train(tmp_path_factory.mktemp("runs") / "whole", [*stops, STEPS], workers)

    return run


@pytest.mark.multiprocess
@pytest.mark.xdist_group("resumed_runs")
@pytest.mark.parametrize(("stop", "workers"), RUNS)
def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path, uninterrupted, stop, workers, sample):
    sample.take_turns(RUNS, (stop, workers))
    whole, losses = uninterrupted(workers)
    resumed, after = train(tmp_path / "resumed", [STEPS], workers, whole / f"checkpoint{stop}")
    assert after == losses[stop:]
    assert_same_bits(*(flow.load(folder / f"checkpoint{STEPS}") for folder in (resumed, whole)))


def test_deterministic_algorithms_can_be_switched():
    assert not flow.are_deterministic_algorithms_enabled()
    flow.use_deterministic_algorithms(True, warn_only=True)
    assert flow.are_deterministic_algorithms_enabled()
    flow.use_deterministic_algorithms(False)
    assert not flow.are_deterministic_algorithms_enabled()
