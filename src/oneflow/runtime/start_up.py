"""Start-up: the settings of the process, in order.

Importing the package starts nothing, unless a launcher started the process as a rank of a job: the
ranks must connect before any of them uses a device. `prepare_process` runs
when XLA is about to start, that is when the first program runs or the first device is asked for.
"""

from __future__ import annotations

import os
import threading

from oneflow.base.device import PREPARE_PROCESS
from oneflow.base.unknown_variables import warn_of_unknown_variables
from oneflow.compiler import persistent_cache
from oneflow.control_plane.membership import join_job
from oneflow.runtime.after_fork import disable_xla
from oneflow.runtime.end_of_process import wait_at_exit
from oneflow.tuning.full_collections import collect_rarely
from oneflow.tuning.linux import retain_freed_memory
from oneflow.tuning.threads import take_over_omp_threads

_lock = threading.Lock()
_is_prepared = False


@PREPARE_PROCESS.fill
def prepare_process() -> None:
    """Prepare the process for XLA; calls after the first do nothing."""
    global _is_prepared
    with _lock:
        if _is_prepared:
            return
        _is_prepared = True
        # First: a thread keeps the heap that it starts with.
        retain_freed_memory()
        take_over_omp_threads()
        collect_rarely()
        persistent_cache.enable()
        warn_of_unknown_variables()
        if hasattr(os, "register_at_fork"):  # Windows copies no processes
            os.register_at_fork(after_in_child=disable_xla)
        wait_at_exit()


join_job()
