"""Settings of the whole test suite."""

from __future__ import annotations

import datetime
import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import torch
from xdist.scheduler import LoadGroupScheduling

# Devices of one process, which stand for ranks in the tests of global tensors.
os.environ["ONEFLOW_CPU_DEVICES"] = "8"
# Programs become hot after the same number of runs every time; `tests/runtime/test_background.py`
# tests the thread that compiles them elsewhere.
os.environ["ONEFLOW_EAGER_BACKGROUND"] = "0"
# Blocks that a process reserves while it compiles so much leave holes: 0.1 GB in a minute of tests.
os.environ.setdefault("ONEFLOW_TUNING_OFF", "free_lists")
# Failures of tests show where they come from.
os.environ.setdefault("ONEFLOW_TRACEBACKS", "full")
if sys.dont_write_bytecode:
    # The processes that tests start compile the package's modules once, not each of them.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(Path(__file__).parents[1] / ".pytest_cache/bytecode")
import oneflow as flow
from oneflow.compiler import lower
from oneflow.compiler.executable_cache import EXECUTABLES
from oneflow.passes.pipeline import PASS_CALLBACKS
from oneflow.program.ir import Program
from oneflow.program.verifier import verify_structure
from oneflow.tuning.linux import trim_heap
from tests.sampling import Sample

# Most programs of tests run once. A training step of a small network compiles in half of the time.
FAST_COMPILATION = {"xla_backend_optimization_level": 0, "xla_cpu_parallel_codegen_split_count": 1}
# With this, which is for all programs of a process, in an eighth of the time.
PROCESS_FLAGS = "--xla_backend_extra_options=xla_cpu_disable_new_fusion_emitters"
# Tests run in parallel processes; one thread each is the fair share, and sums repeat exactly.
torch.set_num_threads(1)


def _verify_programs(name: str, before: Program, after: Program) -> None:
    """Verify every program that goes through a pass, before and after it."""
    verify_structure(before)
    if after is not before:
        verify_structure(after)


PASS_CALLBACKS.append(_verify_programs)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--exhaustive",
        action="store_true",
        help="run every sample of the operator table in every dtype, not a bounded number of them",
    )
    parser.addoption(
        "--sample-seed",
        type=int,
        default=datetime.datetime.now(datetime.UTC).date().toordinal(),
        help="which of the laws' cases run without --exhaustive; another one each day by default",
    )
    parser.addoption(
        "--fast-compilation",
        action="store_true",
        help="let XLA leave most optimizations out: sooner done, but not what users run",
    )


def with_fast_compilation(flags: str) -> str:
    """Return a value of ``XLA_FLAGS`` with those that leave optimizations out."""
    return " ".join([flags, PROCESS_FLAGS, *(f"--{k}={v}" for k, v in FAST_COMPILATION.items())])


def pytest_configure(config: pytest.Config) -> None:
    """Keep the order of files, and set XLA's flags, which the processes that tests start read."""
    config.option.loadscopereorder = False
    if config.getoption("--fast-compilation"):
        os.environ["XLA_FLAGS"] = with_fast_compilation(os.environ.get("XLA_FLAGS", ""))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files with large tests first, while the processes are small; then those with most."""
    counts = Counter(item.path for item in items)
    large = {item.path for item in items if item.get_closest_marker("large")}
    items.sort(key=lambda item: (item.path not in large, -counts[item.path]))


def pytest_report_header(config: pytest.Config) -> str:
    """Say how to run the same sample again."""
    if config.getoption("--exhaustive"):
        return "sample: everything"
    return f"sample: --sample-seed={config.getoption('--sample-seed')}"


class ResidentMemory:
    """The memory of this process, most of which JAX's caches fill with what tests compiled.

    Attributes:
        limit: bytes from which on the caches are cleared.
    """

    MIN_LIMIT = 2**30
    limit = MIN_LIMIT

    @staticmethod
    def bytes() -> int:
        """The resident memory; 0 where the system does not say."""
        try:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        except OSError:
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")

    @classmethod
    def bound(cls) -> None:
        """Clear JAX's caches, and release our executables, if there is too much in them."""
        if cls.bytes() > cls.limit:
            EXECUTABLES.evict(list(EXECUTABLES))
            jax.clear_caches()
            gc.collect()
            trim_heap()
            # What is left is needed, at least now: a fixture may hold a large model.
            cls.limit = max(cls.MIN_LIMIT, cls.bytes() * 9 // 8)


class FileScheduling(LoadGroupScheduling):
    """Give one worker all tests of a file, but those of a group that spans files.

    Neighbouring tests share fixtures and compiled programs.
    """

    def _split_scope(self, nodeid: str) -> str:
        return super()._split_scope(nodeid).split("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileScheduling | None:
    """Schedule whole files unless the command line asks for something else than groups."""
    return FileScheduling(config, log) if config.getoption("dist") == "loadgroup" else None


def pytest_collection_finish() -> None:
    """Spare the garbage collector the tests and modules, which stay until the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _bounded_memory() -> Iterator[None]:
    """No test leaves more than 1 GB to the next one, which may take 1.3 GB more."""
    yield
    ResidentMemory.bound()


@pytest.fixture(autouse=True)
def _in_the_sample(request: pytest.FixtureRequest, sample: Sample) -> None:
    """Skip a case marked with `one_in` on days on which others have their turn."""
    marker = request.node.get_closest_marker("one_in")
    if marker is not None:
        sample.take(request.node.nodeid, *marker.args)


@pytest.fixture(autouse=True)
def _fixed_seeds() -> None:
    """Every test starts from the same random state."""
    np.random.seed(0)
    torch.manual_seed(0)
    flow.manual_seed(0)


@pytest.fixture(scope="session")
def exhaustive(request: pytest.FixtureRequest) -> bool:
    """True if the command line asked for all samples."""
    return request.config.getoption("--exhaustive")


@pytest.fixture(scope="module")
def fast_compilation(exhaustive: bool) -> Iterator[None]:
    """XLA leaves most optimizations out, here and in processes that tests start.

    For files with large programs that run once, and whose subject is not what XLA makes of them.
    With ``--exhaustive`` they are compiled as for users.
    """
    if exhaustive:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XLA_FLAGS", with_fast_compilation(os.environ.get("XLA_FLAGS", "")))
        for choose in (lower.compiler_options, lower.operation_options):

            def choose_fast(*arguments: Any, choose: Any = choose) -> dict[str, Any]:
                return {**choose(*arguments), **FAST_COMPILATION}

            patch.setattr(lower, choose.__name__, choose_fast)
        EXECUTABLES.evict(list(EXECUTABLES))
        yield
    EXECUTABLES.evict(list(EXECUTABLES))


@pytest.fixture(scope="session")
def rounding(request: pytest.FixtureRequest) -> float:
    """The relative difference of a result of two programs: none where XLA optimizes both."""
    return 3e-7 if request.config.getoption("--fast-compilation") else 0.0


@pytest.fixture(scope="session")
def sample(request: pytest.FixtureRequest, exhaustive: bool) -> Sample:
    """The cases of today's sample."""
    return Sample(None if exhaustive else request.config.getoption("--sample-seed"))
