"""A law for all operators: values and two orders of gradients at special points are PyTorch's.

Special points are zeros, ones, whole numbers, ties, borders of what a sample may hold, and matrices
with equal singular values. Where PyTorch's second gradient is no number, as ``0 * inf`` of its
formulas, a number will do. `special_points.tsv` lists the other differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.laws.special_points import KnownDifference, known_differences, special_cases
from tests.laws.test_operators import NO_DIFFERENCE, _outcome, _report, operators_that
from tests.oracle import (
    FLOW,
    TORCH,
    difference,
    eager_mode,
    flat_tensors,
    gradient_difference,
    to_numpy,
    with_gradients,
)
from tests.samples.table import Case, Operator
from tests.sampling import Sample

pytestmark = pytest.mark.usefixtures("quiet_torch")
LIBRARIES = {flow: FLOW, torch: TORCH}
# Rounding errors of a sum of some products, as parts of the largest.
_ROUNDING = 32 * np.finfo(np.float64).eps
every_differentiable_operator = operators_that(lambda family, row: bool(row.gradient_dtypes))


def first_difference(row: Operator, case: Case, dtype: str) -> tuple[int, str] | None:
    """The order, 0 for values, at which a call differs from PyTorch's first, and how."""
    theirs, error = _outcome(TORCH, row, case, dtype)
    if error is not None:
        return None
    mine, error = _outcome(FLOW, row, case, dtype)
    problem = repr(error) if error else difference(mine, theirs, row.tolerance, row.values)
    if problem:
        return 0, problem
    for order in range(2 if row.second_grad else 1, 0, -1):
        try:
            _, theirs = with_gradients(TORCH, row, case, dtype, f"{row.name}{case!r}", order)
        except RuntimeError:  # PyTorch has no such gradient, or not at this point
            continue
        _, mine = with_gradients(FLOW, row, case, dtype, f"{row.name}{case!r}", order)
        return _first_other_level(mine, theirs, row.tolerance)
    return None


def _first_other_level(
    mine: Sequence, theirs: Sequence, tolerance: float
) -> tuple[int, str] | None:
    for level, (my_grads, their_grads) in enumerate(zip(mine, theirs, strict=True), 1):
        count = min(len(my_grads), len(their_grads))
        pairs = zip(my_grads[:count], their_grads[:count], strict=True)
        expected = [_expected(a, b, level) for a, b in pairs]
        problem = gradient_difference(my_grads[:count], expected, tolerance)
        if problem:
            return level, problem
    return None


def _expected(mine: Any, theirs: torch.Tensor | None, level: int) -> torch.Tensor | None:
    """PyTorch's gradient, with our numbers where it has none; none if it is zeros."""
    if theirs is None or (mine is None and not theirs.any()):
        return None
    if mine is None:
        return theirs
    numbers = torch.from_numpy(to_numpy(mine).copy()).to(theirs.dtype)
    is_free = _is_rounding(numbers) & _is_rounding(theirs) if level == 1 else theirs.isnan()
    return torch.where(is_free, numbers, theirs.detach())


def _is_rounding(gradient: torch.Tensor) -> torch.Tensor:
    """True for elements that are less than the rounding error of the largest one, if that is huge.

    In a gradient of 1e40 they are what sums of such numbers leave, which depends on their order.
    """
    sizes = gradient.detach().abs()
    largest = sizes.nan_to_num(0.0, 0.0).max() if sizes.numel() else sizes.sum()
    return (sizes < _ROUNDING * largest) & (largest > 1 / _ROUNDING)


def _problems(
    row: Operator,
    cases: Sequence[tuple[str, Case, str]],
    lines: Sequence[KnownDifference],
    checked: Sequence[KnownDifference] = (),
) -> list[str]:
    """The differences in none of the lines, and those of the checked lines that no case has."""
    problems, seen = [], set()
    for dtype, case, points in cases:
        found = first_difference(row, case, dtype)
        if found is None:
            continue
        known = [
            known_difference for known_difference in lines if known_difference.covers(dtype, points)
        ]
        seen.update(known_point for known_point in known if known_point.order <= found[0])
        if all(found[0] < known_point.order for known_point in known):
            problems.append(f"{row.name}{case} in {dtype}, {points}, order {found[0]}: {found[1]}")
    stale = set(checked) - seen
    return problems + [f"{stale_point}: {NO_DIFFERENCE}" for stale_point in stale]


@every_differentiable_operator
def test_gradients_at_special_points_are_torchs(
    row: Operator, sample: Sample, exhaustive: bool
) -> None:
    cases = [case for dtype in row.gradient_dtypes for case in special_cases(row, dtype)]
    lines = known_differences(row)
    with eager_mode("cold"):
        chosen = sample.choose(cases, 2, row.name)
        _report(_problems(row, chosen, lines, lines if exhaustive else ()))


@pytest.mark.one_in(24)
@every_differentiable_operator
def test_gradients_at_special_points_as_executables(row: Operator, sample: Sample) -> None:
    cases = list(special_cases(row, row.gradient_dtypes[0]))
    with eager_mode("compiled"):
        _report(_problems(row, sample.choose(cases, 2, row.name), known_differences(row)))


# --- outputs that get no gradient


def _output_count(row: Operator) -> int:
    """The number of outputs of the first case that require grad, if PyTorch takes it."""
    case, dtype = row.cases[0], row.gradient_dtypes[0]
    arguments = TORCH.arguments(case, dtype, "", with_grad=True)
    try:
        outputs = flat_tensors(TORCH.function(row)(*arguments.args, **arguments.kwargs))
    except Exception:
        return 0
    return sum(output.requires_grad for output in outputs)


def _one_output(row: Operator, position: int) -> Operator:
    """The row that returns one output that requires grad, and the values of no other."""

    def call(module: Any, *args: Any, **kwargs: Any) -> Any:
        outputs = flat_tensors(LIBRARIES[module].function(row)(*args, **kwargs))
        return [output for output in outputs if output.requires_grad][position : position + 1]

    return replace(row, call=call, torch=None, values=False)


@every_differentiable_operator
def test_outputs_without_gradient_take_no_part(
    row: Operator, sample: Sample, exhaustive: bool
) -> None:
    count = _output_count(row)
    if count < 2:
        pytest.skip("one output")
    cases = [case for dtype in row.gradient_dtypes for case in special_cases(row, dtype)]
    problems = []
    with eager_mode("cold"):
        for position in sample.choose(range(count), 2, row.name):
            part = _one_output(row, position)
            chosen = sample.choose(cases, 2, f"{row.name} {position}")
            own = known_differences(row, position)
            lines = known_differences(row) + own
            problems += [
                f"output {position}: {problem}"
                for problem in _problems(part, chosen, lines, own if exhaustive else ())
            ]
    _report(problems)
