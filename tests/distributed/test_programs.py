"""Programs that several processes run together and that check themselves."""

import numpy as np
import pytest

import oneflow as flow
from oneflow.base.dtype import ALL_DTYPES
from tests.distributed.launching import assert_succeeds

pytestmark = [pytest.mark.multiprocess, pytest.mark.xdist_group("processes")]


def test_collectives_of_two_processes():
    assert assert_succeeds("collectives.py").output == ""


def test_collectives_of_three_processes(sample):
    """Two processes have tried every dtype."""
    names = [dtype.name for dtype in sample.choose(ALL_DTYPES, 4, "collectives of three")]
    assert_succeeds("collectives.py", *names, processes=3)


@pytest.mark.parametrize(
    ("processes", "daily", "count"), [(2, 16, 30), pytest.param(4, 16, 60, marks=pytest.mark.slow)]
)
def test_conversions_keep_values_and_dtypes(processes, daily, count, pytestconfig, exhaustive):
    first = pytestconfig.getoption("--sample-seed") * 100
    number = str(count if exhaustive else daily)
    outcome = assert_succeeds("conversions.py", str(first), number, processes=processes)
    assert outcome.output == ""


def test_reading_on_ranks_without_a_part():
    assert assert_succeeds("reading.py").output == ""


def test_data_parallel_training():
    assert_succeeds("data_parallel.py")


def test_ranks_that_record_different_graphs():
    assert assert_succeeds("different_graphs.py", processes=3).output == ""


# `ddp_linear_regression` is run by `rows_of_two.py`.
TUTORIALS = {
    2: (
        "launcher",
        "global_tensor",
        "global_data_parallelism",
        "pipeline_of_two_stages",
        "pipeline_of_graph_modules",
        "zero",
    ),
    4: ("launcher", "two_dimensions", "parallel_strategies"),
}


@pytest.mark.parametrize("processes", TUTORIALS)
def test_programs_of_tutorials(processes, tmp_path):
    names = TUTORIALS[processes]
    outcome = assert_succeeds("tutorials.py", str(tmp_path), *names, processes=processes)
    assert "[Gloo]" not in outcome.output


@pytest.mark.parametrize("processes", [2, 3])
def test_pipelines(processes, sample):
    if processes == 2:  # three have all that two have, and a stage between
        sample.take("pipeline of two processes", one_in=3)
    assert_succeeds("pipeline.py", processes=processes)


def test_auto_parallel():
    assert_succeeds("auto_parallel.py")


def test_job_functions(tmp_path):
    for part in range(2):
        with flow.data.OFRecordWriter(tmp_path / f"part-{part}") as file:
            for number in range(3):
                file.write({"n": 10 * part + number})
    assert assert_succeeds("jobs.py", str(tmp_path)).output == ""


def test_embedding_tables(tmp_path):
    assert assert_succeeds("embeddings.py", str(tmp_path)).output == ""
    # One process takes what two have saved.
    one = flow.one_embedding
    table = one.make_table_options(one.make_constant_initializer(0))
    store = one.make_device_mem_store_options(str(tmp_path / "True"), 1000, size_factor=2)
    embedding = one.MultiTableEmbedding("e", 3, flow.float, flow.int64, [table], store)
    embedding.load_snapshot("trained")
    with flow.no_grad():
        values = embedding(flow.arange(-50, 50)).numpy()
    np.testing.assert_array_equal(values, np.load(tmp_path / "trained.npy")[:, 0])
