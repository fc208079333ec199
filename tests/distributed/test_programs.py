"""Programs that several processes run together and that check themselves."""

import pytest

from tests.distributed.launching import assert_succeeds

pytestmark = [pytest.mark.multiprocess, pytest.mark.xdist_group("processes")]


def test_collectives_of_two_processes():
    assert assert_succeeds("collectives.py").output == ""


def test_collectives_of_three_processes():
    assert_succeeds("collectives.py", processes=3)


def test_data_parallel_training():
    assert_succeeds("data_parallel.py")


def test_ranks_that_record_different_graphs():
    assert assert_succeeds("different_graphs.py", processes=3).output == ""


@pytest.mark.parametrize("processes", [2, 3])
def test_pipelines(processes):
    assert_succeeds("pipeline.py", processes=processes)


def test_auto_parallel():
    assert_succeeds("auto_parallel.py")
