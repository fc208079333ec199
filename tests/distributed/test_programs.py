"""Programs that several processes run together and that check themselves.

All programs of a number of processes run in one job.
"""

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import oneflow as flow
from oneflow.base.dtype import ALL_DTYPES
from tests.distributed.data_parallel_rows import ROWS
from tests.distributed.launching import ProgramsOutcome, launch_in_sequence
from tests.sampling import NOT_CHOSEN, Sample

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.xdist_group("processes"),
    pytest.mark.usefixtures("late_job"),  # which sleeps beside all tests
]

# `ddp_linear_regression` is run by `rows_of_two.py`.
PROGRAMS = {
    2: (
        "collectives.py",
        "collective_transports.py",
        "process_groups.py",
        "interleaved.py",
        "interleaved_groups.py",
        "seeds_by_rank.py",
        "missing_devices.py",
        "asynchronous.py",
        "slow_receivers.py",
        "conversions.py",
        "new_shapes.py",
        "equal_replicas.py",
        "reading.py",
        "data_parallel.py",
        "data_parallel_law.py",
        "absent_gradients.py",
        "wrapped_parameters.py",
        "fully_sharded.py",
        "tensor_parallel.py",
        "pipeline.py",
        "auto_parallel.py",
        "jobs.py",
        "embeddings.py",
        "tutorials/launcher.py",
        "tutorials/global_tensor.py",
        "tutorials/global_data_parallelism.py",
        "tutorials/pipeline_of_two_stages.py",
        "tutorials/pipeline_of_graph_modules.py",
        "tutorials/zero.py",
    ),
    3: (
        "collectives.py",
        "collective_transports.py",
        "process_groups.py",
        "interleaved.py",
        "interleaved_groups.py",
        "seeds_by_rank.py",
        "different_graphs.py",
        "asynchronous.py",
        "slow_receivers.py",
        "pipeline.py",
    ),
    4: (
        "conversions.py",
        "tutorials/launcher.py",
        "tutorials/two_dimensions.py",
        "tutorials/parallel_strategies.py",
    ),
}
RUNS = [(processes, name) for processes, names in PROGRAMS.items() for name in names]
TUTORIALS = [run for run in RUNS if run[1].startswith("tutorials/")]
CHECKS = sorted({name for _, name in RUNS if not name.startswith("tutorials/")})
SAMPLED_TUTORIALS, SAMPLED_CHECKS = 3, 5
# Conversions in a sample, and of those that are possible.
SAMPLED_CONVERSIONS, CONVERSIONS = 6, 60
SAMPLED_DTYPES = 2
SAMPLED_ROWS = 12
# One of each kind.
REDUCED_DTYPES = ("float32", "int64", "bool", "bfloat16")


def sampled_runs(sample: Sample) -> list[tuple[int, str]]:
    """Return the numbers of processes and the programs that they run.

    A program for several numbers of processes runs with another one each time.
    """
    runs = sample.rotation(TUTORIALS, SAMPLED_TUTORIALS)
    for program in sample.rotation(CHECKS, SAMPLED_CHECKS):
        runs += sample.rotation(run for run in RUNS if run[1] == program)
    return [run for run in RUNS if run in runs]


def arguments(program: str, processes: int, sample: Sample, folder: Path) -> list[str]:
    """Return the arguments of a program."""
    match program:
        case "collectives.py":
            dtypes = sample.choose(ALL_DTYPES, SAMPLED_DTYPES, f"collectives of {processes}")
            return [dtype.name for dtype in dtypes]
        case "process_groups.py":
            owner = f"reductions of {processes}"
            return list(sample.choose(REDUCED_DTYPES, SAMPLED_DTYPES, owner))
        case "conversions.py":
            count = CONVERSIONS if sample.is_whole else SAMPLED_CONVERSIONS
            return [str((0 if sample.is_whole else sample.seed) * CONVERSIONS), str(count)]
        case "data_parallel_law.py":
            return list(sample.choose(list(ROWS), SAMPLED_ROWS, "data parallelism"))
        case "jobs.py" | "embeddings.py" | "tutorials/zero.py":
            return [str(folder)]
    return []


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The folder of programs, with records for the readers of jobs."""
    path = tmp_path_factory.mktemp("programs")
    for part in range(2):
        with flow.data.OFRecordWriter(path / f"part-{part}") as file:
            for number in range(3):
                file.write({"n": 10 * part + number})
    return path


@pytest.fixture(scope="module")
def run_programs(sample, folder, tmp_path_factory) -> Callable[[int], ProgramsOutcome]:
    """A function that runs all programs for a number of processes, once."""

    @functools.cache
    def run(processes: int) -> ProgramsOutcome:
        programs = [
            [name, *arguments(name, processes, sample, folder)]
            for number, name in sampled_runs(sample)
            if number == processes
        ]
        records = tmp_path_factory.mktemp("records")
        return launch_in_sequence(records, programs, processes)

    return run


@pytest.mark.parametrize(("processes", "program"), RUNS)
def test_program(run_programs, processes, program, sample):
    if (processes, program) not in sampled_runs(sample):
        pytest.skip(NOT_CHOSEN)
    printed = run_programs(processes).assert_succeeded(program)
    assert program.startswith("tutorials/") or not any(printed)


@pytest.mark.parametrize("processes", PROGRAMS)
def test_nothing_else_is_printed(run_programs, processes, sample):
    """Gloo would say who is connected."""
    if processes not in {number for number, _ in sampled_runs(sample)}:
        pytest.skip(NOT_CHOSEN)
    assert run_programs(processes).output == ""


def test_one_process_takes_the_embeddings_that_two_have_saved(run_programs, folder, sample):
    if (2, "embeddings.py") not in sampled_runs(sample):
        pytest.skip(NOT_CHOSEN)
    run_programs(2).assert_succeeded("embeddings.py")
    one = flow.one_embedding
    table = one.make_table_options(one.make_constant_initializer(0))
    store = one.make_device_mem_store_options(str(folder / "True"), 1000, size_factor=2)
    embedding = one.MultiTableEmbedding("e", 3, flow.float, flow.int64, [table], store)
    embedding.load_snapshot("trained")
    with flow.no_grad():
        values = embedding(flow.arange(-50, 50)).numpy()
    np.testing.assert_array_equal(values, np.load(folder / "trained.npy")[:, 0])
