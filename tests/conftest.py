"""Settings of the whole test suite."""

from __future__ import annotations

import gc
import math
import os
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import torch

# Devices of one process, which stand for ranks in the tests of global tensors.
os.environ["ONEFLOW_CPU_DEVICES"] = "8"
# Programs become hot after the same number of runs every time; `tests/runtime/test_background.py`
# tests the thread that compiles them elsewhere.
os.environ["ONEFLOW_EAGER_BACKGROUND"] = "0"
# Blocks that a process reserves while it compiles so much leave holes: 0.1 GB in a minute of tests.
os.environ.setdefault("ONEFLOW_TUNING_OFF", "free_lists")
# Failures of tests show where they come from.
os.environ.setdefault("ONEFLOW_TRACEBACKS", "full")
import oneflow as flow
from oneflow.base.x64 import has_x64, x64
from oneflow.compiler.executable_cache import EXECUTABLES
from oneflow.passes.pipeline import PASS_CALLBACKS
from oneflow.program.ir import Program
from oneflow.program.verifier import verify_structure
from oneflow.runtime import block_functions, small_programs
from oneflow.tensor.dispatch_functions import DISPATCH_CLASSES
from oneflow.tensor.python_dispatch import disable_dispatch
from oneflow.tuning.linux import trim_heap
from tests.changes import (
    TESTS,
    changes_since,
    pack_changes,
    part_of,
    recorded_commits,
    unpack_changes,
)
from tests.sampling import Sample
from tests.scheduling import (
    CHANGED,
    CHANGED_ELSEWHERE,
    FileScheduling,
    choose_compilation,
    set_compilation,
)

# Any number would do; the same cases run each time.
SAMPLE_SEED = 739_948
# Why a case is skipped.
LEFT_OVER = "checks what has changed, for which time was too short; run with --exhaustive"
SAMPLE = pytest.StashKey[Sample]()
BUDGET = pytest.StashKey["Budget"]()
IS_SAMPLED = pytest.StashKey[bool]()
HAS_CHANGED = pytest.StashKey[bool]()
# The case is one of a change elsewhere, and comes after those that have changed themselves.
COMES_LAST = pytest.StashKey[bool]()
# The name of the changes in the input of a process of pytest-xdist.
CHANGES = "oneflow_changes"


@pytest.fixture
def quiet_torch() -> Iterator[None]:
    """Ignore warnings, such as PyTorch's of what will change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def fresh_session() -> Iterator[None]:
    """Let a test begin without jobs and variables, and leave none."""
    flow.clear_default_session()
    yield
    flow.clear_default_session()


@pytest.fixture(autouse=True, scope="module")
def _no_class_is_asked_after_the_tests_of_a_file() -> Iterator[None]:
    """Give functions their own code again where a test has made a tensor of a class with overrides.

    They would ask classes for the rest of the process, which tests of other files do not expect.
    """
    asked = list(DISPATCH_CLASSES)
    yield
    if DISPATCH_CLASSES and not asked:
        disable_dispatch()


class Budget:
    """The time that a process has for cases of what has changed: its share of the run's.

    Attributes:
        RUN_SECONDS: of all processes together.
        seconds: that are left.
    """

    RUN_SECONDS = 480.0

    def __init__(self) -> None:
        self.seconds = self.RUN_SECONDS / int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))


# A full collection takes half a second, of thousands of modules, tests and traces that stay.
gc.set_threshold(20_000, 20, 10)
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
        default=SAMPLE_SEED,
        help="which of the laws' cases run without --exhaustive",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Keep the order of files, and compile as the process that started this one says."""
    set_compilation(config)
    config.option.loadscopereorder = False
    seed = None if config.getoption("--exhaustive") else config.getoption("--sample-seed")
    config.stash[SAMPLE] = Sample(seed)
    config.stash[BUDGET] = Budget()
    if CHANGES in getattr(config, "workerinput", {}):
        unpack_changes(config.workerinput[CHANGES])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Look for changes once, and hand them on to each process."""
    if not node.config.stash[SAMPLE].is_whole:
        choose_compilation(node)
        node.workerinput[CHANGES] = pack_changes()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what neither is in the sample nor has changed, and order the files of the rest.

    First those with large tests, while the processes are small, then those with most tests. Cases
    of what has not changed itself come after all these, lest they use up the time for changes.
    """
    sample = config.stash[SAMPLE]
    commits = recorded_commits()
    chosen: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        item.stash[IS_SAMPLED] = _is_sampled(item, sample)
        item.stash[HAS_CHANGED], item.stash[COMES_LAST] = False, False
        if not sample.is_whole:
            _look_for_changes(item, commits)
        (chosen if item.stash[IS_SAMPLED] or item.stash[HAS_CHANGED] else others).append(item)
    config.hook.pytest_deselected(items=others)
    counts = Counter(item.path for item in chosen)
    large = {item.path for item in chosen if item.get_closest_marker("large")}

    def rank(item: pytest.Item) -> tuple[bool, bool, int]:
        is_last = item.stash[COMES_LAST] and item.path not in large
        return is_last, item.path not in large, -counts[item.path]

    items[:] = sorted(chosen, key=rank)
    for item in items:
        if item.stash[HAS_CHANGED] and item.get_closest_marker("xdist_group") is None:
            # Or a process would run them with the rest of their file.
            prefix = CHANGED_ELSEWHERE if rank(item)[0] else CHANGED
            item.add_marker(pytest.mark.xdist_group(f"{prefix}{item.location[0]}"))


def _is_sampled(item: pytest.Item, sample: Sample) -> bool:
    """Return True unless markers `one_in` leave a case out."""
    one_in = math.prod(marker.args[0] for marker in item.iter_markers("one_in"))
    return sample.includes(f"{item.location[0]}::{item.name}", one_in)


def _look_for_changes(item: pytest.Item, commits: Mapping[str, str]) -> None:
    """Mark a case of what has changed since its tests last ran whole."""
    if not item.path.is_relative_to(TESTS):
        return
    path = item.path.relative_to(TESTS).as_posix()
    changes = changes_since(commits.get(part_of(path), "HEAD"))
    parameters = getattr(item, "callspec", None)
    values = parameters.params.values() if parameters is not None else ()
    test = getattr(item, "originalname", item.name)
    if changes is not None and changes.concern(path, test, values):
        item.stash[HAS_CHANGED] = True
        item.stash[COMES_LAST] = not changes.are_direct(path, values)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Take all cases of a test of what has changed, while there is time."""
    budget, sample = item.config.stash[BUDGET], item.config.stash[SAMPLE]
    if not item.stash[HAS_CHANGED] or budget.seconds <= 0:
        return (yield)
    sample.is_whole = True
    before = time.monotonic()
    try:
        return (yield)
    finally:
        sample.is_whole = False
        budget.seconds -= time.monotonic() - before


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what has changed and is in no sample, if there is no time left for it."""
    if not item.stash[IS_SAMPLED] and not item.config.stash[SAMPLE].is_whole:
        pytest.skip(LEFT_OVER)


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

    MIN_LIMIT = 5 * 2**28
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
            release_compiled()
            gc.collect()
            # Objects left now stay for long; automatic collections need not go through them.
            gc.freeze()
            trim_heap()
            # Memory that is left is needed, at least now: a fixture may hold a large model.
            cls.limit = max(cls.MIN_LIMIT, cls.bytes() * 5 // 4)


def release_compiled() -> None:
    """Clear JAX's caches, and release our executables."""
    EXECUTABLES.evict(list(EXECUTABLES))
    block_functions._function.cache_clear()
    jax.clear_caches()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileScheduling | None:
    """Schedule whole files unless the command line asks for something else than groups."""
    return FileScheduling(config, log) if config.getoption("dist") == "loadgroup" else None


def pytest_collection_finish() -> None:
    """Spare the garbage collector the tests and modules, which stay until the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def jax_x64() -> Iterator[None]:
    """64-bit types in JAX, for tests that call it themselves, as the package has them."""
    with x64():
        yield


@pytest.fixture(autouse=True)
def _jax_as_it_was() -> Iterator[None]:
    """No test leaves 64-bit types on: a signal handler that raises within JAX's context does."""
    yield
    if has_x64():
        jax.enable_x64(False).__enter__()


@pytest.fixture(autouse=True)
def _bounded_memory() -> Iterator[None]:
    """No test leaves more than `ResidentMemory.limit` to the next one."""
    yield
    ResidentMemory.bound()


@pytest.fixture(autouse=True)
def _fixed_seeds() -> None:
    """Every test starts from the same random state."""
    np.random.seed(0)
    torch.default_generator.manual_seed(0)  # there are no other devices, which take longer
    flow.manual_seed(0)


@pytest.fixture
def no_small_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of any size have entries in the cache, and become hot."""
    monkeypatch.setattr(small_programs, "MAX_INSTRUCTIONS", -1)


@pytest.fixture
def exhaustive(sample: Sample) -> bool:
    """True if all cases of a test run."""
    return sample.is_whole


@pytest.fixture(scope="session")
def sample(request: pytest.FixtureRequest) -> Sample:
    """The cases that run."""
    return request.config.stash[SAMPLE]
