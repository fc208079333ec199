"""LAMB's update, whose step depends on the norms of the whole parameter and its direction."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.optimizer import (
    as_real,
    closed,
    computed_in,
    moments_of,
    unpacked,
    update_rule,
    with_penalty,
)
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import Axes
from oneflow.primitives.traits import Decomposition


class LAMBNumbers(NamedTuple):
    """`correction1`, `root_correction`: bias corrections. `decay`: that of a penalty."""

    lr: Any
    beta2: Any
    fresh1: Any
    fresh2: Any
    correction1: Any
    root_correction: Any
    eps: Any
    decay: Any
    decoupled: Any


def _direction_of(g, states, n):
    """Adam's direction and the new states."""
    first, second = moments_of(g, states, n)
    largest = [jnp.maximum(states[2], second)] if len(states) == 3 else []
    root = jnp.sqrt(largest[0] if largest else second) / n.root_correction + n.eps
    return first / n.correction1 / root, first, second, *largest


def _apply_trust_ratio(p, direction, param_square_sum, direction_square_sum, n):
    """The new parameter, from the sums of squares of the parameter and its direction."""
    param_square_sum, direction_square_sum = (
        jnp.sqrt(param_square_sum),
        jnp.sqrt(direction_square_sum),
    )
    nonzero = (param_square_sum > 0) & (direction_square_sum > 0)
    trust = jnp.where(nonzero, param_square_sum / jnp.where(nonzero, direction_square_sum, 1), 1)
    return p - n.lr * trust * (direction + n.decoupled * p)


def _sum_of_squares(x):
    return jnp.sum(x * x)


# --- in two halves, between which devices add up the sums of squares


def _lamb_direction(p, g, *rest, penalized=False):
    *states, vector = rest
    kind = computed_in(p.dtype)
    numbers = unpacked(LAMBNumbers, vector, kind)
    param, grad = as_real(p, kind), as_real(g, kind)
    if penalized:
        grad = with_penalty(grad, param, numbers.decay)
    state_values = [as_real(state, kind) for state in states]
    direction, *new = _direction_of(grad, state_values, numbers)
    sums = (_sum_of_squares(param), _sum_of_squares(direction))
    like = p if jnp.iscomplexobj(p) else param
    return (closed(direction, like), *sums, *map(closed, new, states))


def _direction_axes(operation: Operation) -> Axes:
    """Sums of squares of parts are partial sums."""
    *arrays, _ = operation.in_specs
    names = tuple(f"d{dim}" for dim in range(arrays[0].ndim))
    return Axes((*[names] * len(arrays), (None,)), (names, (), (), *[names] * (len(arrays) - 2)))


lamb_direction = primitive(
    "lamb_direction", _lamb_direction, axes=_direction_axes, differentiable=False
)


def _lamb_step(p, direction, param_square_sum, direction_square_sum, vector):
    kind = computed_in(p.dtype)
    new = _apply_trust_ratio(
        as_real(p, kind),
        as_real(direction, kind),
        param_square_sum,
        direction_square_sum,
        unpacked(LAMBNumbers, vector, kind),
    )
    return closed(new, p)


def _step_axes(operation: Operation) -> Axes:
    names = tuple(f"d{dim}" for dim in range(operation.in_specs[0].ndim))
    return Axes((names, names, (), (), (None,)), (names,))


lamb_step = primitive(
    "lamb_step", _lamb_step, axes=_step_axes, linear=("p direction",), differentiable=False
)


def _lamb_of_sums(*operands: Any, states: int, penalized: bool = False) -> tuple:
    *arrays, vector = operands
    results: list[Any] = []
    for first in range(0, len(arrays), states + 2):
        param = arrays[first : first + states + 2]
        direction, param_square_sum, direction_square_sum, *new = lamb_direction(
            *param, vector, penalized=penalized
        )
        results += [
            lamb_step(param[0], direction, param_square_sum, direction_square_sum, vector),
            *new,
        ]
    return tuple(results)


# --- as a whole


@update_rule(
    "lamb_update",
    LAMBNumbers,
    axes=None,
    differentiable=False,
    decomposition=Decomposition(_lamb_of_sums),
)
def lamb_update(p, g, states, n):
    """Adam's direction, scaled per parameter to the parameter's norm."""
    direction, *new = _direction_of(g, states, n)
    return _apply_trust_ratio(p, direction, _sum_of_squares(p), _sum_of_squares(direction), n), *new
