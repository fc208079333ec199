"""Decorators that skip tests, and guards that set something for a while."""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import io
import tempfile
import unittest
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch


def _unchanged(test: Any) -> Any:
    """A decorator for machines or compilers that are not here."""
    return test


def _without_effect(*arguments: Any, **options: Any) -> Any:
    """The same, for those with arguments."""
    return _unchanged


skipIfRocm = skipIfMps = skipMeta = skipXLA = _unchanged
skipIfNoLapack = skipIfNoSciPy = gcIfJetson = skipCPUIfNoLapack = skipCPUIfNoFFT = _unchanged
skipCUDAIfNoCusolver = skipCUDAIfNoMagma = skipCUDAIfNoMagmaAndNoCusolver = _unchanged
skipCUDAIfRocm = skipCUDAIfMiopen = skipCUDAIfNoMiopen = skipCUDAIfNoCudnn = _unchanged
skipCUDAIfNotRocm = skipCPUIfNoMkldnn = expectedFailureMeta = expectedFailureXLA = _unchanged
with_tf32_off = _unchanged
skipIfTorchDynamo = skipIfTorchInductor = skipIfRocmVersionLessThan = _without_effect
skipCUDAIf = skipCUDAIfRocmVersionLessThan = skipCUDAIfCudnnVersionLessThan = _without_effect
skipCUDAMemoryLeakCheckIf = tf32_on_and_off = skipCUDAVersionIn = _without_effect
slowTest = unittest.skip("takes long")
tf32_off = tf32_on = DisableVmapFallback = contextlib.nullcontext


def skipIfNotRegistered(name: str, message: str) -> Callable:
    """Skip a test of another library's operators."""
    return unittest.skip(message)


def check_vmap_fallback(test_case: Any, thunk: Callable, operator: Any) -> None:
    """Run a test of an operator under `vmap`, however that computes it."""
    thunk()


def tf32_is_not_fp32() -> bool:
    """Test if products are rounded as some GPUs round them."""
    return False


def download_file(url: str) -> str:
    """Skip a test that fetches a file."""
    raise unittest.SkipTest(f"needs {url}")


def suppress_warnings(test: Callable) -> Callable:
    """Let a test show no warnings."""

    @functools.wraps(test)
    def run(*arguments: Any, **options: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return test(*arguments, **options)

    return run


def wrapDeterministicFlagAPITest(test: Callable) -> Callable:
    """Let a test set whether algorithms are deterministic."""

    @functools.wraps(test)
    def run(*arguments: Any, **options: Any) -> Any:
        with DeterministicGuard(torch.are_deterministic_algorithms_enabled()):
            return test(*arguments, **options)

    return run


@contextlib.contextmanager
def DeterministicGuard(deterministic: bool, *, warn_only: bool = False) -> Iterator[None]:
    """Ask for deterministic algorithms in a block, or not."""
    before = torch.are_deterministic_algorithms_enabled()
    before_warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=before_warn_only)


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Let random numbers go on behind a block as if it had drawn none."""
    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)


@contextlib.contextmanager
def set_default_dtype(dtype: Any) -> Iterator[None]:
    """Let floats have a data type in a block."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def set_warn_always_context(new_val: bool) -> Iterator[None]:
    """Show warnings each time in a block."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(new_val)
    try:
        yield
    finally:
        torch.set_warn_always(before)


#: Warnings of storages with a data type come each time where all warnings do.
AlwaysWarnTypedStorageRemoval = set_warn_always_context


@contextlib.contextmanager
def disable_gc() -> Iterator[None]:
    """Let no garbage be collected in a block."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def BytesIOContext() -> Iterator[io.BytesIO]:
    """A file in memory."""
    yield io.BytesIO()


@contextlib.contextmanager
def TemporaryFileName(*arguments: Any, **options: Any) -> Iterator[str]:
    """The name of an empty file for the time of a block."""
    with tempfile.NamedTemporaryFile(*arguments, **options) as file:
        yield file.name


@contextlib.contextmanager
def TemporaryDirectoryName(suffix: str | None = None) -> Iterator[str]:
    """The name of an empty folder for the time of a block."""
    with tempfile.TemporaryDirectory(suffix=suffix) as name:
        yield name


def get_function_arglist(function: Callable) -> list[str]:
    """The names of a function's parameters."""
    return list(inspect.signature(function).parameters)
