"""Settings that keep a process responsive while a background thread compiles.

The compiler keeps all cores busy and, while JAX traces and lowers, Python's global lock too. A
program that runs meanwhile loses far more than its share of the time:

- NumPy's matrix products, of which one core computes the small ones anyway, wait for each other's
  threads in a loop, and one of these waits for a core that the compiler has: steps of a small
  convolutional network took 90 to 550 ms instead of 25.
- NumPy releases the lock around each function, and then waits for it until the other thread's
  switch interval is over, 5 ms: a step of 600 operators took up to 3 s.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from collections.abc import Callable, Iterator

from oneflow.tuning.settings import Setting, is_on

# Tracing slows down by less than can be measured.
_SWITCH_INTERVAL = 0.0005
# The module of NumPy that is linked with its linear algebra library.
_NUMPY_CORE = ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")
# Names of OpenBLAS's functions, in NumPy's own builds and elsewhere, for integers of 64 or 32 bits.
_BLAS_NAMES = (
    "scipy_openblas_{}_num_threads64_",
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads64_",
    "openblas_{}_num_threads",
)


@contextlib.contextmanager
def short_switch_interval() -> Iterator[None]:
    """Shorten the time after which Python hands its lock to other threads."""
    before = sys.getswitchinterval()
    if before <= _SWITCH_INTERVAL or not is_on(Setting.SWITCH_INTERVAL):
        yield
        return
    sys.setswitchinterval(_SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextlib.contextmanager
def limit_blas_threads(count: int) -> Iterator[None]:
    """Limit the cores of NumPy's products, where OpenBLAS computes them."""
    functions = blas_thread_functions() if is_on(Setting.BLAS_THREADS) else None
    if functions is None:
        yield
        return
    get_threads, set_threads = functions
    before = get_threads()
    set_threads(min(before, count))
    try:
        yield
    finally:
        set_threads(before)


@functools.cache
def blas_thread_functions() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Return OpenBLAS's functions that get and set its number of threads; None without it."""
    module = next((sys.modules[name] for name in _NUMPY_CORE if name in sys.modules), None)
    path = getattr(module, "__file__", None)
    if path is None:
        return None
    # A library's handle finds the symbols of those that it is linked with.
    library = ctypes.PyDLL(path)
    for name in _BLAS_NAMES:
        get_threads = getattr(library, name.format("get"), None)
        set_threads = getattr(library, name.format("set"), None)
        if get_threads is not None and set_threads is not None:
            set_threads.restype = None
            return get_threads, set_threads
    return None
