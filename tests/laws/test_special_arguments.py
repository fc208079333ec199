"""Every number of the operator table's calls replaced by NaN, an infinity, -0 or its negative.

Values and gradients are PyTorch's, or both libraries refuse the call. So are those of numbers that
have a default and that no sample gives. `OTHERS` names what differs, and why it may.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow.functional.registry import FUNCTIONS
from tests.laws.test_operators import (
    _gradient_problem,
    _outcome,
    _report,
    _seed,
    every_operator,
)
from tests.oracle import FLOW, TORCH, difference, eager_mode, with_gradients
from tests.samples.table import Case, Operator

pytestmark = pytest.mark.usefixtures("quiet_torch")
# Arguments, by operator and place or name, of which the result differs from PyTorch's.
OTHERS = {
    argument: reason
    for reason, arguments in {
        "refused, where PyTorch goes on with what it gives": """
            nn.functional.*cross_entropy:label_smoothing arange:2
            nn.functional.scaled_dot_product_attention:dropout_p
            nn.functional.instance_norm:eps""",
        "0 is a number to add, as in OneFlow": "nn.functional.batch_norm:[7e]*",
        "infinite areas, less the halves of infinite ones": "trapezoid:dx",
        "infinity times a sum, or the sum of infinite products": """
            addmm:alpha addmv:alpha baddbmm:alpha addbmm:alpha addr:alpha""",
        "the cosine of half of pi is 6e-17 here, less than 0 in single precision": """
            hamming_window:beta""",
        "PyTorch takes the root of a negative number, and 0 for NaN": """
            nn.functional.scaled_dot_product_attention:scale""",
        "the gradient is that of the result, which is NaN": """
            nn.functional.hardtanh:min_val nn.functional.hardtanh:max_val""",
        "below 0 degrees of freedom PyTorch's slope without `dim` has no sign": """
            var:correction std:correction var_mean:correction std_mean:correction""",
        "LAPACK's own": "linalg.lstsq:rcond",
        "0 divided by 0, or what is not 0": "gradient:spacing",
        "what C makes an integer of": "special.*_polynomial_*",
    }.items()
    for argument in arguments.split()
}


def special_numbers(number: float) -> list[float]:
    """Return the values that come in place of a number."""
    return [math.nan, math.inf, -math.inf, -0.0, -float(number)]


def numbers_of(row: Operator, case: Case) -> Iterator[tuple[int | str, Any]]:
    """Places of a call with a number or several, and names of floats that it leaves out."""
    for place, value in [*enumerate(case.args), *case.kwargs.items()]:
        first = value[0] if type(value) in (tuple, list) and value else value
        if type(first) in (int, float):
            yield place, value
    function = FUNCTIONS.get(row.name) if row.call is None else None
    parameters = inspect.signature(function).parameters.values() if function else ()
    for place, parameter in enumerate(parameters):
        is_there = place < len(case.args) or parameter.name in case.kwargs
        if "float" in str(parameter.annotation) and not is_there:
            default = parameter.default
            yield parameter.name, default if type(default) is float else 1.0


def special_cases(row: Operator) -> Iterator[tuple[str, Case]]:
    """Calls of a row with one number replaced, with operator and argument; each once."""
    seen = set()
    for case in row.cases:
        for place, value in numbers_of(row, case):
            argument = f"{row.name}:{place}"
            is_sequence = type(value) in (tuple, list)
            for number in special_numbers(value[0] if is_sequence else value):
                other = type(value)((number, *value[1:])) if is_sequence else number
                if (key := (len(case.args), place, repr(other))) in seen:
                    continue
                seen.add(key)
                args = tuple(other if at == place else own for at, own in enumerate(case.args))
                named = {place: other} if isinstance(place, str) else {}
                yield argument, Case(args, {**case.kwargs, **named})


def has_gradients(row: Operator, case: Case, dtype: str) -> bool:
    """True if PyTorch computes gradients of this call."""
    try:
        with_gradients(TORCH, row, case, dtype, _seed(row, case), 1)
    except RuntimeError:
        return False
    return True


def problem_of(row: Operator, case: Case) -> str | None:
    """The difference from PyTorch, or None; also if no integer is refused where one belongs."""
    dtype = next(iter(row.gradient_dtypes), row.dtypes[0])
    theirs, their_error = _outcome(TORCH, row, case, dtype)
    if isinstance(their_error, TypeError):  # a name of OneFlow's, or no integer
        return None
    mine, error = _outcome(FLOW, row, case, dtype)
    if their_error is not None:
        return None if error is not None else f"gives {mine!r}, torch raises {their_error!r}"
    if error is not None:
        is_type = isinstance(error, TypeError) and "int" in str(error)
        return None if is_type else f"raised {error!r}, torch gives {theirs!r}"
    problem = difference(mine, theirs, row.tolerance, row.values)
    if problem is None and dtype in row.gradient_dtypes and has_gradients(row, case, dtype):
        problem = _gradient_problem(row, case, dtype, 1)
    return problem


def is_known(argument: str) -> bool:
    return any(fnmatch(argument, known) for known in OTHERS)


def check(row: Operator) -> None:
    problems = []
    for argument, case in special_cases(row):
        problem = None if is_known(argument) else problem_of(row, case)
        if problem is not None:
            problems.append(f"{row.name}{case}: {problem}")
    _report(problems)


@pytest.mark.one_in(2)
@every_operator
def test_special_numbers_give_what_pytorch_gives(row: Operator) -> None:
    with eager_mode("cold"):
        check(row)


@pytest.mark.one_in(24)
@every_operator
def test_special_numbers_give_what_pytorch_gives_as_one_executable(row: Operator) -> None:
    with eager_mode("compiled"):
        check(row)


POINTS = {
    "elu": lambda f, x, n: f.nn.functional.elu(x, n),
    "celu": lambda f, x, n: f.nn.functional.celu(x, n),
    "multi_margin_loss": lambda f, x, n: f.nn.functional.multi_margin_loss(
        x.reshape(2, 2), f.tensor([1, 0]), p=2, margin=n
    ),
    "var": lambda f, x, n: f.var(x, dim=0, correction=5 + n),
    "std": lambda f, x, n: f.std(x, dim=0, correction=5 + n),
}


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, -1.0, 0.5])
def test_zeros_beside_special_numbers(name: str, number: float) -> None:
    results = []
    for f in (torch, flow):
        x = f.tensor([-1.0, 0.0, -0.0, 1.0], requires_grad=True)
        y = POINTS[name](f, x, number)
        y.sum().backward()
        results.append((y.detach().numpy(), x.grad.numpy()))
    for expected, ours in zip(*results, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=0)
        zeros = expected == 0
        np.testing.assert_array_equal(np.signbit(ours)[zeros], np.signbit(expected)[zeros])
