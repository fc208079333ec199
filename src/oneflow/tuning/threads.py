"""The number of threads that compute on the CPU: XLA's, and NumPy's linear algebra's."""

from __future__ import annotations

import os
import warnings

from oneflow.base.device import platform_devices
from oneflow.base.environment import OMP_THREADS
from oneflow.tuning.while_compiling import blas_thread_functions

# The variable by which XLA chooses the number of its threads when it starts.
_OF_XLA = "NPROC"


def set_num_threads(num: int) -> None:
    """Set the number of threads that compute on the CPU.

    XLA takes it when it starts, which is when the first tensor is computed: a later change holds
    for what runs on NumPy alone, and warns. `OMP_NUM_THREADS` has the same meaning.

    Args:
        num: the number, at least 1.

    Raises:
        RuntimeError: `num` is less than 1.

    Example:
        >>> import oneflow as flow
        >>> flow.set_num_threads(0)
        Traceback (most recent call last):
        RuntimeError: set_num_threads: expected a positive number, got 0
    """
    if num < 1:
        raise RuntimeError(f"set_num_threads: expected a positive number, got {num}")
    os.environ[_OF_XLA] = str(num)
    functions = blas_thread_functions()
    if functions is not None:
        functions[1](num)
    if platform_devices.cache_info().currsize:
        warnings.warn(
            "set_num_threads: XLA has started its threads already; call it before the first tensor "
            "is computed, or set the environment variable OMP_NUM_THREADS",
            stacklevel=2,
        )


def get_num_threads() -> int:
    """Return the number of threads that compute on the CPU.

    Example:
        >>> import oneflow as flow
        >>> flow.get_num_threads() >= 1
        True
    """
    for count in (os.environ.get(_OF_XLA, ""), OMP_THREADS.read()):
        if count.isdigit() and int(count) > 0:
            return int(count)
    return os.cpu_count() or 1


def take_over_omp_threads() -> None:
    """Give XLA, which is about to start, as many threads as `OMP_NUM_THREADS` says."""
    count = OMP_THREADS.read()
    if count.isdigit() and int(count) > 0:
        os.environ.setdefault(_OF_XLA, count)
