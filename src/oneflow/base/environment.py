"""Every environment variable that `oneflow` reads, in one table."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class EnvironmentVariable:
    """An environment variable: its name, its default as text, and its description."""

    name: str
    default: str
    description: str

    def read(self) -> str:
        """Return the variable's current text, or its default."""
        return os.environ.get(self.name, self.default)

    def read_int(self) -> int:
        """Return the variable's integer.

        Raises:
            RuntimeError: its text is no integer, or a negative one.
        """
        text = self.read()
        if not text.isdecimal():
            raise RuntimeError(f"{self.name}={text!r} must be an integer that is not negative")
        return int(text)

    def read_bool(self) -> bool:
        """Return whether the variable's text is a word for yes."""
        return self.read().lower() in ("1", "true", "yes", "on")


def read_count(name: str) -> int:
    """Return the number in a variable that a cluster manager sets; 0 if there is none."""
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else 0


EAGER = EnvironmentVariable(
    "ONEFLOW_EAGER",
    "deferred",
    "`deferred` records eager operators and runs them at the next sync point; "
    "`compiled` compiles every recorded program as a whole the first time it is seen; "
    "`immediate` runs every operator at once, for debugging.",
)
EAGER_HOT_AFTER = EnvironmentVariable(
    "ONEFLOW_EAGER_HOT_AFTER",
    "2",
    "Number of times that a program runs op by op before it is compiled as a whole; on a CPU at "
    "least 4 where that takes more than half a second.",
)
EAGER_COLD = EnvironmentVariable(
    "ONEFLOW_EAGER_COLD",
    "interpreted",
    "`interpreted` runs programs on the CPU that are not hot on NumPy, without compiling, except "
    "what that takes long for; `compiled` compiles each operator for each shape.",
)
EAGER_BACKGROUND = EnvironmentVariable(
    "ONEFLOW_EAGER_BACKGROUND",
    "1",
    "`1` compiles hot programs on a background thread while they go on running op by op; `0` in "
    "the step that makes them hot, as jobs of several processes always do: replicas of a parameter "
    "hold the same bits.",
)
EAGER_TRACE_LIMIT = EnvironmentVariable(
    "ONEFLOW_EAGER_TRACE_LIMIT",
    "8192",
    "A recorded program is flushed when it reaches this many instructions.",
)
EAGER_CODE_MEMORY = EnvironmentVariable(
    "ONEFLOW_EAGER_CODE_MEMORY",
    "2048",
    "Megabytes of compiled code that eager mode keeps, by estimate; what was used least recently "
    "is dropped, and comes from the persistent cache when it is wanted again.",
)
EAGER_EXPLAIN = EnvironmentVariable(
    "ONEFLOW_EAGER_EXPLAIN",
    "0",
    "`1` logs which part of a program's key differed whenever a program is new.",
)
TRACEBACK = EnvironmentVariable(
    "ONEFLOW_TRACEBACKS",
    "short",
    "`full` shows the frames of this package in the tracebacks of bad calls.",
)
CACHE_DIR = EnvironmentVariable(
    "ONEFLOW_CACHE_DIR",
    "",
    "Folder of the persistent compilation cache; default `~/.cache/oneflow`; `off` disables it. A "
    "folder that is made is yours alone; one that exists is left as it is, and whoever may write "
    "there can make your process run their code.",
)
KEEP_HEAP = EnvironmentVariable(
    "ONEFLOW_KEEP_HEAP",
    "1",
    "`0` leaves glibc's settings alone; otherwise freed memory is kept for the next step.",
)
TUNING_OFF = EnvironmentVariable(
    "ONEFLOW_TUNING_OFF",
    "",
    "Names of settings that tune the process, separated by commas, or `all`: these stay off; "
    "`docs/tuning.md` lists them.",
)
DEBUG_PASS = EnvironmentVariable(
    "ONEFLOW_DEBUG_PASS",
    "",
    "Names of passes, separated by commas, or `ALL`: a graph's program is written to standard "
    "error before and after each of them.",
)
LOG_DIR = EnvironmentVariable(
    "ONEFLOW_LOG_DIR", "", "Folder for dumped programs; default: standard error alone."
)
ENABLE_NHWC = EnvironmentVariable(
    "ONEFLOW_ENABLE_NHWC",
    "0",
    "`1` makes two-dimensional convolution, batch norm and pooling layers take `[N, H, W, C]`.",
)
OMP_THREADS = EnvironmentVariable(
    "OMP_NUM_THREADS", "", "Number of threads that compute on the CPU; default: one per core."
)
THREAD_PREFIX = EnvironmentVariable(
    "ONEFLOW_PROFILER_HOST_THREAD_NAME_PREFIX",
    "",
    "Put before the names of this process's threads, for profilers.",
)
WORLD_SIZE = EnvironmentVariable(
    "WORLD_SIZE", "1", "Number of processes of the job; set by the launcher."
)
RANK = EnvironmentVariable(
    "RANK", "0", "Rank of this process in the job, from 0; set by the launcher."
)
LOCAL_RANK = EnvironmentVariable(
    "LOCAL_RANK", "0", "Rank of this process on its machine, from 0; set by the launcher."
)
LOCAL_WORLD_SIZE = EnvironmentVariable(
    "LOCAL_WORLD_SIZE",
    "0",
    "Number of processes on each machine; default: all are on one; set by the launcher.",
)
MASTER_ADDR = EnvironmentVariable(
    "MASTER_ADDR", "", "Address of the machine of rank 0; set by the launcher."
)
MASTER_PORT = EnvironmentVariable(
    "MASTER_PORT",
    "",
    "Port on that machine on which the processes rendezvous; set by the launcher.",
)
CPU_DEVICES = EnvironmentVariable(
    "ONEFLOW_CPU_DEVICES",
    "0",
    "Number of CPU devices of a process on its own, which stand for as many ranks.",
)
CLUSTER = EnvironmentVariable(
    "ONEFLOW_CLUSTER",
    "auto",
    "Source of the rendezvous: `auto` (variables of a launcher, Open MPI, Slurm), `off`, or a "
    "`cluster_detection_method` of `jax.distributed.initialize` (`k8s`, `mpi4py`, ...).",
)
TEST_DEVICES = EnvironmentVariable(
    "ONEFLOW_TEST_DEVICE_NUM",
    "",
    "Number of devices of each machine that `oneflow.unittest` tells tests; default: the number of "
    "its processes in the job.",
)
TEST_DATA = EnvironmentVariable(
    "ONEFLOW_TEST_DATASET_DIR",
    "/dataset",
    "Folder of the data sets that `oneflow.unittest` tells tests.",
)
TEST_NODES = EnvironmentVariable(
    "ONEFLOW_TEST_NODE_NUM",
    "",
    "Number of machines that `oneflow.unittest` tells tests; default: those of the job.",
)
JOB = EnvironmentVariable(
    "ONEFLOW_JOB", "", "Identifier of the job, so that two are not confused; set by the launcher."
)
SECRET = EnvironmentVariable(
    "ONEFLOW_JOB_SECRET",
    "",
    "A text that only the processes of a job know; required on several machines, generated by the "
    "launcher on one.",
)
FAILURE_FOLDER = EnvironmentVariable(
    "ONEFLOW_FAILURE_FOLDER", "", "Folder for failure reports to the launcher, which sets it."
)
LAUNCHER_PIPE = EnvironmentVariable(
    "ONEFLOW_LAUNCHER_PIPE",
    "",
    "A file descriptor that reaches its end when the launcher dies; set by the launcher.",
)
RANK_PROCESS = EnvironmentVariable(
    "ONEFLOW_RANK_PROCESS",
    "",
    "Process id of the rank; child processes see from it that they are not the rank. Each rank "
    "sets it.",
)
AGENT_STORE = EnvironmentVariable(
    "TORCHELASTIC_USE_AGENT_STORE",
    "False",
    "`True`: torchrun itself listens on `MASTER_PORT`; the processes rendezvous on the next port.",
)
JOIN_TIMEOUT = EnvironmentVariable(
    "ONEFLOW_JOIN_TIMEOUT", "300", "Seconds to wait until all processes have joined the job."
)
HANG_TIMEOUT = EnvironmentVariable(
    "ONEFLOW_HANG_TIMEOUT",
    "1800",
    "Seconds to wait for an idle process that others wait for; 0: forever.",
)
COLLECTIVE_TIMEOUT = EnvironmentVariable(
    "ONEFLOW_COLLECTIVE_TIMEOUT",
    "0",
    "Seconds to wait for a busy process that others wait for; 0: forever.",
)
CHECK_GLOBAL_DATA = EnvironmentVariable(
    "ONEFLOW_CHECK_GLOBAL_DATA",
    "0",
    "`1`: processes compare the data from which each makes its part of a global tensor, and raise "
    "if they differ.",
)
MOCK_TORCH_DISABLED = EnvironmentVariable(
    "ONEFLOW_DISABLE_MOCK_TORCH",
    "0",
    "`1`: `mock_torch.enable()` leaves PyTorch in its place.",
)
MOCK_TORCH_LAZY = EnvironmentVariable(
    "ONEFLOW_MOCK_TORCH_LAZY",
    "0",
    "`1`: under `mock_torch`, placeholders stand for names of PyTorch that are missing.",
)
MOCK_TORCH_VERBOSE = EnvironmentVariable(
    "ONEFLOW_MOCK_TORCH_VERBOSE", "0", "`1`: `mock_torch` prints the missing names."
)


def cache_folder() -> Path | None:
    """Return the folder for compiled programs; None when the user has turned the cache off."""
    setting = CACHE_DIR.read()
    if setting == "off":
        return None
    if setting:
        return Path(setting).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "oneflow"
