"""Line search: how far to go along a direction, so that the strong Wolfe conditions hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

# Sufficient decrease, curvature, shortest interval.
_DECREASE, _CURVATURE, _MIN_BRACKET = 1e-4, 0.9, 1e-9


class Point(NamedTuple):
    """A point on the line: distance, loss, gradient, and the loss's slope along the line."""

    at: float
    loss: float
    gradient: Any
    slope: float


def strong_wolfe(
    evaluate: Callable[[float], tuple[float, Any]],
    direction: Any,
    length: float,
    loss: float,
    gradient: Any,
    slope: float,
    max_func_evals: int,
) -> tuple[float, Any, float, int]:
    """Find a step length where the loss has fallen enough and its slope is much flatter.

    Args:
        evaluate: gives loss and gradient at a distance along the line.
        direction: the direction, a vector.
        length: distance to try first.
        loss: loss at the start.
        gradient: gradient at the start.
        slope: slope at the start, negative.
        max_func_evals: most evaluations; there is always one.

    Returns:
        Loss, gradient and distance of the point found, and the number of evaluations.
    """
    search = _StrongWolfeSearch(
        evaluate, direction, Point(0.0, loss, gradient, slope), max_func_evals
    )
    bracket = search.bracket(length)
    best = bracket[0] if len(bracket) == 1 else search.zoom(*bracket)
    return best.loss, best.gradient, best.at, search.func_evals


class _StrongWolfeSearch:
    def __init__(
        self, evaluate: Callable, direction: Any, start: Point, max_func_evals: int
    ) -> None:
        self._evaluate, self._direction, self._start = evaluate, direction, start
        self._max_func_evals = max_func_evals
        self._reach = direction.abs().max().item()
        self.func_evals = 0

    def _point(self, at: float) -> Point:
        self.func_evals += 1
        loss, gradient = self._evaluate(at)
        return Point(at, loss, gradient, (gradient * self._direction).sum().item())

    def _too_high(self, point: Point) -> bool:
        """The loss has not fallen as much as the slope at the start promises."""
        return point.loss > self._start.loss + _DECREASE * point.at * self._start.slope

    def _flat(self, point: Point) -> bool:
        """The slope has become much flatter."""
        return abs(point.slope) <= -_CURVATURE * self._start.slope

    def bracket(self, length: float) -> tuple[Point, ...]:
        """A good point, or two points with one between them."""
        previous, point = self._start, self._point(length)
        while self.func_evals < self._max_func_evals:
            if self._too_high(point) or (self.func_evals > 2 and point.loss >= previous.loss):
                return previous, point
            if self._flat(point):
                return (point,)
            if point.slope >= 0:
                return previous, point
            low, high = point.at + 0.01 * (point.at - previous.at), point.at * 10
            next_at = cubic_minimum(previous, point, low, high)
            previous, point = point, self._point(next_at)
        return self._start, point

    def zoom(self, one: Point, other: Point) -> Point:
        """The best point found while the interval between two points shrinks."""
        low, high = sorted((one, other), key=lambda point: point.loss)
        near_end = False
        while self.func_evals < self._max_func_evals:
            if abs(high.at - low.at) * self._reach < _MIN_BRACKET:
                break
            at, near_end = self._next(low, high, near_end)
            point = self._point(at)
            if self._too_high(point) or point.loss >= low.loss:
                high = point
                if high.loss < low.loss:
                    low, high = high, low
                continue
            if self._flat(point):
                return point
            if point.slope * (high.at - low.at) >= 0:
                high = low
            low = point
        return low

    def _next(self, low: Point, high: Point, near_end: bool) -> tuple[float, bool]:
        """The next point in the interval, and a flag for being close to one of its ends."""
        left, right = sorted((low.at, high.at))
        at = cubic_minimum(low, high, left, right)
        margin = 0.1 * (right - left)
        if min(right - at, at - left) >= margin:
            return at, False
        if near_end or at >= right or at <= left:
            return (right - margin if right - at < at - left else left + margin), False
        return at, True


def cubic_minimum(one: Point, other: Point, low: float, high: float) -> float:
    """Minimum in ``[low, high]`` of the cubic with the loss and slope of two points."""
    if one.at > other.at:
        one, other = other, one
    width = other.at - one.at
    mixed = one.slope + other.slope - 3 * (one.loss - other.loss) / (one.at - other.at)
    square = mixed * mixed - one.slope * other.slope
    if not square >= 0:
        return (low + high) / 2
    root = math.sqrt(square)
    at = other.at - width * (other.slope + root - mixed) / (other.slope - one.slope + 2 * root)
    return min(max(at, low), high)
