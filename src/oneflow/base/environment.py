"""Every environment variable that `oneflow` reads, in one table."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Variable:
    """One environment variable: its name, its default as text, and what it does."""

    name: str
    default: str
    meaning: str

    def read(self) -> str:
        """The variable's current text, or its default."""
        return os.environ.get(self.name, self.default)


EAGER = Variable(
    "ONEFLOW_EAGER",
    "deferred",
    "`deferred` records eager operators and runs them at the next sync point; "
    "`compiled` compiles every recorded program as a whole the first time it is seen; "
    "`immediate` runs every operator at once, for debugging.",
)
EAGER_HOT_AFTER = Variable(
    "ONEFLOW_EAGER_HOT_AFTER",
    "2",
    "How often a program runs op by op before it is compiled as a whole.",
)
EAGER_BACKGROUND = Variable(
    "ONEFLOW_EAGER_BACKGROUND",
    "48",
    "Programs with at least this many instructions compile on a background thread.",
)
EAGER_TRACE_LIMIT = Variable(
    "ONEFLOW_EAGER_TRACE_LIMIT",
    "8192",
    "A recorded program is flushed when it reaches this many instructions.",
)
EAGER_CODE_MEMORY = Variable(
    "ONEFLOW_EAGER_CODE_MEMORY",
    "2048",
    "Megabytes of compiled code that eager mode keeps, by estimate; what was used least recently "
    "is dropped, and comes from the persistent cache when it is wanted again.",
)
EAGER_EXPLAIN = Variable(
    "ONEFLOW_EAGER_EXPLAIN",
    "0",
    "`1` logs which part of a program's key differed whenever a program is new.",
)
CACHE_DIR = Variable(
    "ONEFLOW_CACHE_DIR",
    "",
    "Folder of the persistent compilation cache; default `~/.cache/oneflow`; `off` disables it. A "
    "folder that is made is yours alone; one that exists is left as it is, and whoever may write "
    "there can make your process run their code.",
)
KEEP_HEAP = Variable(
    "ONEFLOW_KEEP_HEAP",
    "1",
    "`0` leaves glibc's settings alone; otherwise freed memory is kept for the next step.",
)
TUNING_OFF = Variable(
    "ONEFLOW_TUNING_OFF",
    "",
    "Names of settings that tune the process, separated by commas, or `all`: these stay off; "
    "`docs/tuning.md` lists them.",
)
DEBUG_PASS = Variable(
    "ONEFLOW_DEBUG_PASS",
    "",
    "Names of passes, separated by commas, or `ALL`: a graph's program is written to standard "
    "error before and after each of them.",
)
LOG_DIR = Variable(
    "ONEFLOW_LOG_DIR", "", "Folder for dumped programs; default: standard error alone."
)
ENABLE_NHWC = Variable(
    "ONEFLOW_ENABLE_NHWC",
    "0",
    "`1` makes two-dimensional convolution, batch norm and pooling layers take `[N, H, W, C]`.",
)
THREAD_PREFIX = Variable(
    "ONEFLOW_PROFILER_HOST_THREAD_NAME_PREFIX",
    "",
    "Put before the names of this process's threads, for profilers.",
)
WORLD_SIZE = Variable(
    "WORLD_SIZE", "1", "Number of processes that train together; the launcher sets it."
)
RANK = Variable(
    "RANK", "0", "Number of this process among those that train together; the launcher sets it."
)
LOCAL_RANK = Variable(
    "LOCAL_RANK", "0", "Number of this process among those of its machine; the launcher sets it."
)
LOCAL_WORLD_SIZE = Variable(
    "LOCAL_WORLD_SIZE",
    "0",
    "Number of processes on each machine; default: all are on one; the launcher sets it.",
)
MASTER_ADDR = Variable("MASTER_ADDR", "", "Address of the machine of rank 0; the launcher sets it.")
MASTER_PORT = Variable(
    "MASTER_PORT", "", "Port on that machine where the processes meet; the launcher sets it."
)
CPU_DEVICES = Variable(
    "ONEFLOW_CPU_DEVICES",
    "0",
    "A process on its own has that many CPU devices, which stand for as many ranks.",
)
CLUSTER = Variable(
    "ONEFLOW_CLUSTER",
    "auto",
    "How processes find each other: `auto` (variables of a launcher, Open MPI, Slurm), `off`, or a "
    "`cluster_detection_method` of `jax.distributed.initialize` (`k8s`, `mpi4py`, ...).",
)
JOB = Variable("ONEFLOW_JOB", "", "What the launcher calls the job, so that two are not mixed up.")
SECRET = Variable(
    "ONEFLOW_JOB_SECRET",
    "",
    "A text that all processes of a job know and nobody else; needed on several machines, made up "
    "by the launcher on one.",
)
FAILURE_FOLDER = Variable(
    "ONEFLOW_FAILURE_FOLDER", "", "Where processes leave word for the launcher; it sets it."
)
LIFELINE = Variable(
    "ONEFLOW_LIFELINE",
    "",
    "A file descriptor that is at its end when the launcher has died; it sets it.",
)
AGENT_STORE = Variable(
    "TORCHELASTIC_USE_AGENT_STORE",
    "False",
    "`True`: torchrun itself listens at `MASTER_PORT`; the processes meet at the next port.",
)
JOIN_TIMEOUT = Variable(
    "ONEFLOW_JOIN_TIMEOUT", "300", "Seconds to wait until all processes have started."
)
HANG_TIMEOUT = Variable(
    "ONEFLOW_HANG_TIMEOUT",
    "1800",
    "Seconds to wait for a process that others need and that does nothing; 0: for ever.",
)
COLLECTIVE_TIMEOUT = Variable(
    "ONEFLOW_COLLECTIVE_TIMEOUT",
    "0",
    "Seconds to wait for a process that others need and that is busy; 0: for ever.",
)
CHECK_GLOBAL_DATA = Variable(
    "ONEFLOW_CHECK_GLOBAL_DATA",
    "0",
    "`1`: processes compare the data of which each makes its part of a global tensor, and raise "
    "where they differ.",
)
ALL_VARIABLES = (
    EAGER,
    EAGER_HOT_AFTER,
    EAGER_BACKGROUND,
    EAGER_TRACE_LIMIT,
    EAGER_CODE_MEMORY,
    EAGER_EXPLAIN,
    CACHE_DIR,
    KEEP_HEAP,
    TUNING_OFF,
    DEBUG_PASS,
    LOG_DIR,
    ENABLE_NHWC,
    THREAD_PREFIX,
    WORLD_SIZE,
    RANK,
    LOCAL_RANK,
    LOCAL_WORLD_SIZE,
    MASTER_ADDR,
    MASTER_PORT,
    CPU_DEVICES,
    CLUSTER,
    JOB,
    SECRET,
    FAILURE_FOLDER,
    LIFELINE,
    AGENT_STORE,
    JOIN_TIMEOUT,
    HANG_TIMEOUT,
    COLLECTIVE_TIMEOUT,
    CHECK_GLOBAL_DATA,
)


def cache_folder() -> Path | None:
    """The folder for compiled programs, or None when the user turned the cache off."""
    chosen = CACHE_DIR.read()
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "oneflow"
