"""Checkpoints of jobs of several processes, and of jobs with other numbers of ranks."""

from pathlib import Path

import numpy as np
import pytest

import oneflow as flow
from tests.checkpoint.exact_training import Training, assert_same_bits
from tests.distributed.launching import (
    ProgramsOutcome,
    assert_succeeds,
    launch,
    launch_in_sequence,
)

pytestmark = [pytest.mark.multiprocess, pytest.mark.xdist_group("processes")]
S = flow.sbp.split
LINE = flow.placement("cpu", [6, 2, 4])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a checkpoint of three ranks, and with one over which a rank died writing.

    Beside them lies what one step and two steps of training must lead to.
    """
    path = tmp_path_factory.mktemp("checkpoints")
    for name in ("check", "of_three", "of_two", "killed"):
        (path / name).mkdir()
    whole = Training()
    for count in (1, 2):
        np.savez(path / f"steps{count}.npz", *whole.step().numbers())
    state = Training(LINE, (S(0),)).step().state_dict()
    for name in ("of_three", "killed"):
        flow.save(state, path / name / "saved")
    outcome = launch("checkpoints.py", "end_while_saving", str(path / "killed"))
    assert "rank 1 was killed by SIGKILL" in outcome.error
    assert_one_step_is_saved(path / "killed")
    return path


@pytest.fixture(scope="module")
def two_processes(folder) -> ProgramsOutcome:
    """Two processes act one after the other."""
    deeds = {"check": "check", "of_three": "go_on", "of_two": "save", "killed": "save"}
    programs = [["checkpoints.py", deed, str(folder / name)] for name, deed in deeds.items()]
    return launch_in_sequence(folder, programs)


def assert_one_step_is_saved(folder):
    training = Training(LINE, (S(0),)).load_state_dict(flow.load(folder / "saved"))
    assert_same_bits(training.step(), Training().step().step())


def test_two_processes(two_processes):
    two_processes.assert_succeeded("checkpoints.py", "check")


def test_fewer_ranks_go_on_from_more(two_processes):
    two_processes.assert_succeeded("checkpoints.py", "go_on")


def test_more_ranks_go_on_from_fewer(two_processes, folder):
    """Three ranks of this process train on, and three processes load the same numbers."""
    two_processes.assert_succeeded("checkpoints.py", "save", str(folder / "of_two"))
    assert_one_step_is_saved(folder / "of_two")
    assert_succeeds("checkpoints.py", "load", str(folder / "of_two"), processes=3)


def test_a_rank_that_is_killed_while_it_saves_leaves_the_checkpoint_before(two_processes, folder):
    two_processes.assert_succeeded("checkpoints.py", "save", str(folder / "killed"))
    assert len(list((folder / "killed" / "saved").iterdir())) == 2
