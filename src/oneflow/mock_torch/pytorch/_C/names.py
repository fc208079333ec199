"""Names of PyTorch's C++ module that libraries use."""

from __future__ import annotations

import enum
import threading
from contextlib import nullcontext
from typing import Any

from oneflow import Tensor, get_default_device
from oneflow.autograd import no_grad
from oneflow.mock_torch.missing import MissingTracing
from oneflow.tensor.subclasses import OVERRIDES

_TensorMeta = type(Tensor)


class DispatchKey(enum.Enum):
    """Kinds of kernels; a kernel in Python is found by the type of device alone."""

    Undefined = 0
    CPU = 1
    CUDA = 2
    XPU = 3
    Meta = 4
    Autocast = 5
    AutocastCPU = 6
    AutocastCUDA = 7
    AutocastXPU = 8
    Autograd = 9
    PythonDispatcher = 10


class DispatchKeySet:
    """A set of kinds of kernels.

    Args:
        keys: the first one, or those of another set.
    """

    def __init__(self, keys: DispatchKey | frozenset[DispatchKey]) -> None:
        self.keys = frozenset([keys]) if isinstance(keys, DispatchKey) else keys

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self.keys | other.keys)

    def has(self, key: DispatchKey) -> bool:
        """Return whether a kind of kernels is in the set."""
        return key in self.keys


class Graph(MissingTracing):
    """The type of TorchScript's graphs."""


class Value(MissingTracing):
    """The type of a value in TorchScript's graphs."""


class _ExcludeDispatchKeyGuard(nullcontext[None]):
    """A context that excludes some dispatch keys; no dispatch here looks at them."""

    def __init__(self, keys: DispatchKeySet) -> None:
        super().__init__()


class _Below(threading.local):
    """The number of `_AutoDispatchBelowAutograd` contexts that this thread is in."""

    count = 0


BELOW_AUTOGRAD = _Below()


class _AutoDispatchBelowAutograd(no_grad):
    """A context in which operators are their kernels, without gradients."""

    def __enter__(self) -> None:
        super().__enter__()
        BELOW_AUTOGRAD.count += 1

    def __exit__(self, *exception: object) -> None:
        BELOW_AUTOGRAD.count -= 1
        super().__exit__(*exception)


def _debug_only_are_vmap_fallback_warnings_enabled() -> bool:
    """Return False: `vmap` calls the function for each element, whatever it does."""
    return False


def _debug_only_display_vmap_fallback_warnings(enabled: bool) -> None:
    """Show nothing: `vmap` falls back on nothing."""


def _jit_set_ignored(*values: Any) -> None:
    """Set nothing: there is no TorchScript whose optimizations could be switched."""


def _log_api_usage_once(event: str) -> None:
    """Count nothing: the use of functions is not recorded."""


def _get_default_device() -> str:
    """Return the device on which tensors are made by default."""
    return str(get_default_device())


def _get_tracing_state() -> None:
    """Return None: no function is being traced into TorchScript."""


def _is_torch_function_mode_enabled() -> bool:
    """Return whether a mode is asked how functions are computed."""
    return bool(OVERRIDES.asked_modes)


def _len_torch_function_stack() -> int:
    """Return how many modes this thread has entered."""
    return len(OVERRIDES.modes)


def _get_function_stack_at(idx: int) -> Any:
    """Return a mode that this thread has entered, the outermost first."""
    return OVERRIDES.modes[idx]


def _is_alias_of(tensor: Tensor, other: Tensor) -> bool:
    """Return whether two tensors share memory.

    Args:
        tensor: a tensor.
        other: another one.

    Example:
        >>> import oneflow as flow
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> x = flow.zeros(2)
        >>> torch._C._is_alias_of(x, x[1:]), torch._C._is_alias_of(x, x + 1)
        (True, False)
    """
    if tensor is other:
        return True
    views = tensor._family, other._family
    return None not in views and views[0].storage is views[1].storage


def _are_functorch_transforms_active() -> bool:
    """Return False: transformed functions run as Python on whole batches."""
    return False
