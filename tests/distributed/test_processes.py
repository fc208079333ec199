"""Functions in processes of their own."""

from __future__ import annotations

import json
import pickle

import pytest

import oneflow as flow
from tests.distributed import spawned
from tests.distributed.launching import free_port

tools = flow.multiprocessing


def test_every_process_gets_its_number(tmp_path):
    started = tools.spawn(spawned.write_number, (str(tmp_path), "x"), nprocs=2, join=False)
    assert len(set(started.pids())) == 2
    while not started.join(timeout=60):
        pass
    assert [(tmp_path / name).read_text() for name in "01"] == ["", "x"]


def test_an_exception_ends_all():
    with pytest.raises(tools.ProcessRaisedException, match="the second one fails") as caught:
        tools.spawn(spawned.fail_second, nprocs=2)
    assert caught.value.error_index == 1


def test_an_exit_status():
    with pytest.raises(tools.ProcessExitedException, match="exit code 3") as caught:
        tools.start_processes(spawned.leave, (3,), start_method="forkserver")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.exit_code, copy.error_index, copy.signal_name) == (3, 0, None)


def test_copies_of_this_process_are_refused():
    with pytest.raises(ValueError, match="fork"):
        tools.start_processes(spawned.leave, (3,), start_method="fork")


def test_names_of_strategies():
    before = tools.get_sharing_strategy()
    tools.set_sharing_strategy("file_system")
    assert tools.get_sharing_strategy() == "file_system"
    tools.set_sharing_strategy(before)
    assert before in tools.get_all_sharing_strategies()
    with pytest.raises(AssertionError, match="copies"):
        tools.set_sharing_strategy("copies")


@pytest.mark.multiprocess
@pytest.mark.xdist_group("processes")
def test_processes_become_ranks_of_a_job(tmp_path):
    tools.spawn(spawned.train_as_rank, (2, free_port(), str(tmp_path)), nprocs=2)
    first, second = (json.loads((tmp_path / name).read_text()) for name in "01")
    assert first == second
    (weight, seed), (other_weight, other_seed) = first
    assert weight == other_weight
    assert (seed, other_seed) == (0, 1)  # as the program has seeded them


def test_a_process_with_tensors_cannot_become_a_rank():
    with pytest.raises(tools.ProcessRaisedException, match="before the first tensor"):
        tools.spawn(spawned.join_after_a_tensor, (free_port(),), nprocs=1)
