"""Counting steps, and arithmetic on the numbers of a step.

Counts and numbers are Python numbers. With a gradient scaler, which may skip steps without anybody
reading whether it did, they are 0-dim tensors: the rules of optimizers are written so that both
work.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from oneflow.base.device import Device
from oneflow.base.dtype import float64
from oneflow.functional.creation.factory_functions import full_like
from oneflow.functional.elementwise.clamp import where
from oneflow.program.value import Value
from oneflow.tensor.tensor import Tensor


class StepCounter(Protocol):
    """The part of an optimizer that counts steps and makes the numbers of an update."""

    def advance(self, state: dict[str, Any], group: dict[str, Any]) -> Any:
        """Count one step. Parameters with equal results share the vector of numbers."""
        ...

    def pack(self, group: dict[str, Any], state: dict[str, Any], device: Device) -> Value:
        """The numbers of the next update of a parameter with `state`, as one vector."""
        ...

    def results(self, before: list[Value], after: list[Value]) -> Sequence[Value]:
        """The values of parameters and states behind an update."""
        ...


def root(number: Any) -> Any:
    """The square root."""
    return number.sqrt() if isinstance(number, Tensor) else math.sqrt(number)


def choose(condition: Any, if_true: Any, if_false: Any) -> Any:
    """One of two numbers."""
    if isinstance(condition, Tensor):
        if not isinstance(if_true, Tensor) and not isinstance(if_false, Tensor):
            if_true = full_like(condition, if_true, dtype=float64)
        return where(condition, if_true, if_false)
    return if_true if condition else if_false
