"""``torch.cuda.tunable``: matrix products that are tuned, which XLA's are when it compiles them."""

from __future__ import annotations

from typing import NoReturn

from oneflow.mock_torch.missing import raise_missing

_REASON = "XLA tunes the kernels of each program when it compiles it, and keeps what it has found"


def is_enabled() -> bool:
    """Return False: products are not tuned one by one at their first call."""
    return False


tuning_is_enabled = record_untuned_is_enabled = is_enabled


def enable(val: bool = True) -> None:
    """Refuse to tune products one by one.

    Args:
        val: False changes nothing.

    Raises:
        NotImplementedError: `val` is True.
    """
    if val:
        _raise_missing()


tuning_enable = record_untuned_enable = enable


def get_results() -> tuple[tuple[str, str, str, float], ...]:
    """Return what has been tuned: nothing."""
    return ()


def _raise_missing(*args: object, **kwargs: object) -> NoReturn:
    """Refuse a setting of the tuning of single products."""
    raise_missing("torch.cuda.tunable", _REASON)


set_max_tuning_duration = get_max_tuning_duration = _raise_missing
set_max_tuning_iterations = get_max_tuning_iterations = _raise_missing
set_filename = get_filename = read_file = get_validators = _raise_missing
tune_gemm_in_file = mgpu_tune_gemm_in_file = _raise_missing
set_rotating_buffer_size = get_rotating_buffer_size = _raise_missing
set_numerical_check_tolerances = _raise_missing

__all__ = [
    "enable",
    "get_filename",
    "get_max_tuning_duration",
    "get_max_tuning_iterations",
    "get_results",
    "get_rotating_buffer_size",
    "get_validators",
    "is_enabled",
    "mgpu_tune_gemm_in_file",
    "read_file",
    "record_untuned_enable",
    "record_untuned_is_enabled",
    "set_filename",
    "set_max_tuning_duration",
    "set_max_tuning_iterations",
    "set_numerical_check_tolerances",
    "set_rotating_buffer_size",
    "tune_gemm_in_file",
    "tuning_enable",
    "tuning_is_enabled",
]
