"""`values_unless`: a skipped step keeps the old values of everything that it would update.

A gradient scaler knows on the device alone whether gradients are finite. All updates of a step are
chosen from by one instruction, because recording one for each tensor costs time on the host.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from oneflow.primitives.operation import Operation
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import Axes
from oneflow.primitives.traits import UpdateRule


def _values_unless(skipped: Any, *values: Any) -> tuple:
    count = len(values) // 2
    return tuple(
        jnp.where(skipped, old, new)
        for old, new in zip(values[:count], values[count:], strict=True)
    )


def _unless_axes(operation: Operation) -> Axes:
    """An old value and the new one have one shape and may be split alike."""
    dims = [
        tuple(f"v{index}d{dim}" for dim in range(spec.ndim))
        for index, spec in enumerate(operation.out_specs)
    ]
    return Axes(((), *dims, *dims), tuple(dims), sums=False)


# New values, or the old ones, which come first, where a step is skipped.
values_unless = primitive(
    "values_unless",
    _values_unless,
    differentiable=False,
    axes=_unless_axes,
    linear=lambda operation: (frozenset(range(1, len(operation.in_specs))),),
    update=UpdateRule(
        lambda operation: ((1 + index, index) for index in range(operation.count)),
        parts=lambda num_operands, attributes: (
            (0, 1 + index, 1 + index + num_operands // 2) for index in range(num_operands // 2)
        ),
    ),
)
