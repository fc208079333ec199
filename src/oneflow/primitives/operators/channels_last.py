"""The channels-last trait: how a primitive runs on activations stored ``[N, spatial..., C]``.

Users see ``[N, C, spatial...]``. A pass moves whole stretches of a program to channels-last where
that is faster; a primitive takes part by declaring a rule, which looks at one operation and says
what it would need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oneflow.primitives.operation import Operation


@dataclass(frozen=True, slots=True)
class ChannelsLast:
    """The channels-last form of one operation.

    Attributes:
        operands: per operand, whether it must be given channels-last.
        results: per result, whether it comes out channels-last.
        attributes: the operation's attributes, rewritten for it.
        preferred: worth converting operands for; others only follow one that is converted already.
    """

    operands: tuple[bool, ...]
    results: tuple[bool, ...]
    attributes: Mapping[str, Any]
    preferred: bool = False


Rule = Callable[["Operation"], ChannelsLast | None]


def to_last(ndim: int) -> tuple[int, ...]:
    """The permutation from ``[N, C, spatial...]`` to ``[N, spatial..., C]``."""
    return (0, *range(2, ndim), 1)


def to_first(ndim: int) -> tuple[int, ...]:
    """The permutation back."""
    return (0, ndim - 1, *range(1, ndim - 1))


def moved_dim(dim: int, ndim: int) -> int:
    """The position of dimension `dim` of ``[N, C, spatial...]`` in ``[N, spatial..., C]``."""
    return to_first(ndim)[dim]


def moved_dims(dims: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """`moved_dim` of each, in the same order."""
    return tuple(moved_dim(dim, ndim) for dim in dims)


def dims_rule(
    operands: tuple[bool, ...],
    results: tuple[bool, ...],
    *,
    attribute: str = "dims",
    preferred: bool = False,
) -> Rule:
    """The rule of a primitive that only `attribute`, one dimension or several, ties to a layout."""

    def rule(operation: Operation) -> ChannelsLast:
        ndim = max(spec.ndim for spec in operation.in_specs)
        dims = operation.attributes[attribute]
        moved = moved_dim(dims, ndim) if isinstance(dims, int) else moved_dims(dims, ndim)
        return ChannelsLast(
            operands, results, {**operation.attributes, attribute: moved}, preferred
        )

    return rule
