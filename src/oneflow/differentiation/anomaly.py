"""Anomaly mode: errors of the backward pass name the forward line, and NaN is an error."""

from __future__ import annotations

from oneflow.differentiation.grad_mode import MODE


class set_detect_anomaly:
    """Turn anomaly mode on or off; as a context manager put the old state back.

    While it is on every node remembers where it was made, and the backward pass reads every
    gradient to look for NaN: for debugging only.

    Args:
        mode: on or off.
        check_nan: whether NaN is an error.

    Example:
        >>> import oneflow as flow
        >>> with flow.autograd.set_detect_anomaly(True):
        ...     flow.is_anomaly_enabled()
        True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = MODE.anomaly, MODE.check_nan
        MODE.anomaly, MODE.check_nan = bool(mode), bool(check_nan)
        MODE.update()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        MODE.anomaly, MODE.check_nan = self._before
        MODE.update()


class detect_anomaly:
    """Context manager that turns anomaly mode on, see `set_detect_anomaly`.

    Args:
        check_nan: whether NaN in a gradient is an error.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([-1.0], requires_grad=True)
        >>> with flow.autograd.detect_anomaly():
        ...     flow.sqrt(x).sum().backward()
        Traceback (most recent call last):
        RuntimeError: Function 'sqrt_backward' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan

    def __enter__(self) -> None:
        self._switch = set_detect_anomaly(True, self._check_nan)

    def __exit__(self, *exception: object) -> None:
        self._switch.__exit__()


def is_anomaly_enabled() -> bool:
    """Return whether anomaly mode is on.

    Example:
        >>> import oneflow as flow
        >>> with flow.autograd.set_detect_anomaly(True):
        ...     flow.is_anomaly_enabled()
        True
    """
    return MODE.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly mode takes NaN in a gradient for an error.

    Example:
        >>> import oneflow as flow
        >>> with flow.autograd.set_detect_anomaly(True, check_nan=False):
        ...     flow.is_anomaly_check_nan_enabled()
        False
    """
    return MODE.check_nan
