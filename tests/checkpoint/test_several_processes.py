"""Checkpoints of jobs of several processes, and of jobs with other numbers of ranks."""

import pytest

import oneflow as flow
from tests.checkpoint.exact_training import Training, assert_same_bits
from tests.distributed.launching import assert_succeeds, launch

pytestmark = [pytest.mark.multiprocess, pytest.mark.xdist_group("processes")]
S = flow.sbp.split
LINE = flow.placement("cpu", [6, 2, 4])


def assert_one_step_is_saved(folder):
    training = Training(LINE, (S(0),)).load_state_dict(flow.load(folder / "saved"))
    assert_same_bits(training.step(), Training().step().step())


def test_two_processes(tmp_path):
    assert_succeeds("checkpoints.py", "check", str(tmp_path))


def test_fewer_ranks_go_on_from_more(tmp_path):
    flow.save(Training(LINE, (S(0),)).step().state_dict(), tmp_path / "saved")
    assert_succeeds("checkpoints.py", "load", str(tmp_path))


def test_more_ranks_go_on_from_fewer(tmp_path):
    assert_succeeds("checkpoints.py", "save", str(tmp_path))
    assert_one_step_is_saved(tmp_path)
    assert_succeeds("checkpoints.py", "load", str(tmp_path), processes=3)


def test_a_rank_that_is_killed_while_it_saves_leaves_the_checkpoint_before(tmp_path):
    outcome = launch("checkpoints.py", "end_while_saving", str(tmp_path))
    assert "rank 1 was killed by SIGKILL" in outcome.error
    assert_one_step_is_saved(tmp_path)
    assert_succeeds("checkpoints.py", "save", str(tmp_path))
    assert len(list((tmp_path / "saved").iterdir())) == 2
