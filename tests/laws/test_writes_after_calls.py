"""A law for every operator of the table: what is written to after the call does not matter.

Where PyTorch runs the backward pass although the result or an operand was written to in place
after the call, OneFlow does too. Where PyTorch refuses, OneFlow may. The gradients are those of the
values that were there when the operator was called: the same as without the write.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.laws.test_operators import _outcome, operators_that
from tests.oracle import (
    FLOW,
    TORCH,
    Library,
    cotangents_of,
    eager_mode,
    flat_tensors,
    gradient_difference,
)
from tests.samples.table import Case, Operator

CASES = 2


pytestmark = pytest.mark.usefixtures("quiet_torch")


def _copied(leaf: Any) -> Any:
    return leaf * 1


class Call:
    """One call on tensors that are no leaves, so that they can be written to."""

    def __init__(self, library: Library, row: Operator, case: Case, dtype: str) -> None:
        self.library = library
        self.seed = f"{row.name}{case!r}"
        arguments = library.arguments(case, dtype, self.seed, with_grad=True, prepare=_copied)
        self.leaves = arguments.leaves
        self.operands = flat_tensors([*arguments.args, *arguments.kwargs.values()])
        self.results = flat_tensors(library.function(row)(*arguments.args, **arguments.kwargs))

    def gradients(self) -> list:
        """Gradients of the leaves."""
        outputs = [result for result in self.results if result.requires_grad]
        cotangents = cotangents_of(self.library, outputs, self.seed)
        return self.library.gradients(outputs, cotangents, self.leaves, create_graph=False)


def _after_write(
    library: Library, row: Operator, case: Case, dtype: str, place: tuple[str, int]
) -> Any:
    """The gradients after a write to a result or operand; the exception where that is refused."""
    kind, index = place
    call = Call(library, row, case, dtype)
    target = getattr(call, kind)[index]
    try:
        target.add_(1)
    except RuntimeError:
        return None
    try:
        return call.gradients()
    except RuntimeError as error:
        return error


def _problem(row: Operator, case: Case, dtype: str, place: tuple[str, int]) -> str | None:
    call = Call(TORCH, row, case, dtype)
    try:
        call.gradients()
    except RuntimeError:
        return None  # PyTorch has no gradient, or one that it refuses itself
    theirs = _after_write(TORCH, row, case, dtype, place)
    if theirs is None:
        return None
    # Without the write they are right by another law.
    expected = [
        gradient if gradient is None else torch.from_numpy(gradient.numpy())
        for gradient in Call(FLOW, row, case, dtype).gradients()
    ]
    mine = _after_write(FLOW, row, case, dtype, place)
    if mine is None:
        return "cannot be written to, in torch it can"
    if isinstance(mine, Exception):
        return None if isinstance(theirs, Exception) else f"raised {mine}, torch does not"
    return gradient_difference(mine, expected, row.tolerance)


@pytest.mark.one_in(8)
@operators_that(lambda family, row: bool(row.gradient_dtypes))
def test_writes_after_the_call_are_allowed_where_torch_allows_them(
    row: Operator, exhaustive: bool
) -> None:
    problems = []
    dtype = row.gradient_dtypes[0]
    with eager_mode("cold"):
        for case in row.cases if exhaustive else row.cases[:CASES]:
            if _outcome(TORCH, row, case, dtype)[1] is not None:
                continue
            call = Call(TORCH, row, case, dtype)
            if not any(result.requires_grad for result in call.results):
                continue
            for kind in ("results", "operands"):
                for index in range(len(getattr(call, kind))):
                    problem = _problem(row, case, dtype, (kind, index))
                    if problem:
                        problems.append(f"{row.name}{case}, {kind}[{index}]: {problem}")
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)
