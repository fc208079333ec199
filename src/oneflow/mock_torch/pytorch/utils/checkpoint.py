"""Names that ``torch.utils.checkpoint`` has beside `oneflow.utils.checkpoint`."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from oneflow.tensor.tensor import Tensor

DefaultDeviceType = str


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """Return the devices of tensors whose random numbers have a state of their own: none.

    All draws come from one generator, whose state ``torch.get_rng_state`` gives.
    """
    return [], []


def set_device_states(devices: Sequence[int], states: Sequence[Any], **options: Any) -> None:
    """Set the states that `get_device_states` gave: none."""


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tensors of a tuple detached, to be differentiated by if they were.

    Raises:
        RuntimeError: `inputs` is no tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"`inputs` must be a tuple, got {type(inputs).__name__}")
    return tuple(
        argument.detach().requires_grad_(argument.requires_grad)
        if isinstance(argument, Tensor)
        else argument
        for argument in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no tensor among the inputs requires a gradient, so that none would come."""
    if not any(argument.requires_grad for argument in inputs if isinstance(argument, Tensor)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
        )


def noop_context_fn() -> tuple[Any, Any]:
    """Return two contexts that change nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


__all__ = [
    "DefaultDeviceType",
    "check_backward_validity",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_device_states",
]
