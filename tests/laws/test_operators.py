"""Laws that hold for every operator of the table in `tests/samples`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import oneflow as flow
from oneflow.runtime.counters import STATISTICS
from oneflow.tensor import Tensor
from oneflow.tensor.transfer import import_array
from tests.devices import ACCELERATOR, OTHER_DEVICE
from tests.laws.known_differences import first_other_gradient, has_other_values
from tests.oracle import (
    FLOW,
    TORCH,
    Library,
    array_difference,
    difference,
    dtype_name,
    eager_mode,
    evaluated,
    flat_tensors,
    gradient_difference,
    with_gradients,
)
from tests.samples.table import Case, Operator, TensorSample, grown, operators
from tests.sampling import Sample

ROWS = list(operators())
# Gradients are checked for the first cases, of which a sample has one.
GRADIENT_CASES, SAMPLED_GRADIENT_CASES = 5, 1
# Families of elementwise operators and reductions: loops for which XLA writes code of its own.
_VECTORISED = (
    "activations",
    "arithmetic",
    "conversion",
    "losses",
    "normalization",
    "reduction",
    "unary",
)
# Tolerance for sums of thousands, whose order differs.
_LARGE = 5
SECOND_GRADIENT_CASES = 1


def operators_that(belong: Callable[[str, Operator], bool]) -> pytest.MarkDecorator:
    """Run a test for the operators, given with their families, that belong to it.

    The laws of one operator run in one process, which compiles it once.
    """
    rows = [
        pytest.param(row, id=f"{family}-{row.name}", marks=pytest.mark.xdist_group(row.name))
        for family, row in ROWS
        if belong(family, row)
    ]
    return pytest.mark.parametrize("row", rows)


every_operator = operators_that(lambda family, row: True)


# Their results are there wherever new tensors are.
ON_THE_CPU = ("LongTensor", "from_numpy")
# OneFlow with tensors on another device than the first.
ON_OTHER_DEVICE = Library(
    flow, lambda array: import_array(array, None, OTHER_DEVICE), FLOW.gradients
)


# Reasons why a law cannot be checked for a row of the operator table.
NO_VALUES = "its values cannot be compared"
# The mark of a line in the list of known differences.
NO_DIFFERENCE = "agrees with PyTorch: take the line out of known_differences.tsv"
FIRST_CASE_RAISES = "its first case raises an error"


pytestmark = pytest.mark.usefixtures("quiet_torch")


def _seed(row: Operator, case: Case) -> str:
    return f"{row.name}{case!r}"


def _calls(row: Operator, exhaustive: bool) -> Iterator[tuple[Case, str]]:
    """Every case in the main dtype, the first one in all dtypes."""
    for dtype in row.dtypes:
        everything = exhaustive or dtype == row.dtypes[0]
        for case in row.cases if everything else row.cases[:1]:
            yield case, dtype


def _outcome(library: Any, row: Operator, case: Case, dtype: str) -> tuple[Any, Exception | None]:
    """The result of a call, read, or the exception it raised."""
    # Outside: a sample that cannot be made would pass for a call that both libraries refuse.
    arguments = library.arguments(case, dtype, _seed(row, case))
    try:
        result = library.function(row)(*arguments.args, **arguments.kwargs)
        for tensor in flat_tensors(result) if library is not TORCH else ():
            tensor.numpy()
    except Exception as error:
        return None, error
    return result, None


def _problem(
    row: Operator, case: Case, dtype: str, must_raise: bool = False, library: Library = FLOW
) -> str | None:
    mine, my_error = _outcome(library, row, case, dtype)
    theirs, their_error = _outcome(TORCH, row, case, dtype)
    if their_error is None:
        if my_error is not None:
            return f"raised {my_error!r}, torch gives {theirs!r}"
        return (
            "torch does not raise"
            if must_raise
            else difference(mine, theirs, row.tolerance, row.values)
        )
    expected = next(base for base in type(their_error).__mro__ if base.__module__ == "builtins")
    if my_error is None:
        return f"gives {mine!r}, torch raises {their_error!r}"
    return None if isinstance(my_error, expected) else f"raised {my_error!r}, torch {their_error!r}"


def _report(problems: list[str]) -> None:
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


@every_operator
def test_result_is_torchs(row: Operator, exhaustive: bool) -> None:
    problems = []
    with eager_mode("cold"):
        for case, dtype in _calls(row, exhaustive):
            problem = _problem(row, case, dtype)
            if has_other_values(row, case, dtype):
                problem = None if problem else NO_DIFFERENCE
            if problem:
                problems.append(f"{row.name}{case} in {dtype}: {problem}")
        for case in row.errors:
            problem = _problem(row, case, row.dtypes[0], must_raise=True)
            if problem:
                problems.append(f"{row.name}{case}: {problem}")
    _report(problems)


@pytest.mark.one_in(4)
@every_operator
def test_gradients_are_torchs(row: Operator, sample: Sample, exhaustive: bool) -> None:
    problems = []
    with eager_mode("cold"):
        for dtype in row.gradient_dtypes:
            limit = GRADIENT_CASES if dtype == "float64" else 1
            cases = list(enumerate(row.cases if exhaustive else row.cases[:limit]))
            for index, case in sample.choose(cases, SAMPLED_GRADIENT_CASES, row.name):
                order = (
                    2 if row.second_grad and (exhaustive or index < SECOND_GRADIENT_CASES) else 1
                )
                problem = _gradient_problem(row, case, dtype, order)
                differing = first_other_gradient(row, case, dtype)
                if differing is not None and differing <= order:
                    agrees = NO_DIFFERENCE if problem is None else None
                    before = differing - 1
                    problem = agrees or (before and _gradient_problem(row, case, dtype, before))
                if problem:
                    problems.append(f"{row.name}{case} in {dtype}: {problem}")
    _report(problems)


def _gradient_problem(
    row: Operator,
    case: Case,
    dtype: str,
    order: int,
    slack: float = 1.0,
    library: Library = FLOW,
) -> str | None:
    _, error = _outcome(TORCH, row, case, dtype)
    if error is not None:
        return None
    try:
        their_outputs, theirs = with_gradients(TORCH, row, case, dtype, _seed(row, case), order)
    except RuntimeError as missing:
        if not re.search("not implemented|invalid gradient", str(missing)):
            raise
        below = order - 1
        return _gradient_problem(row, case, dtype, below, slack, library) if below else None
    my_outputs, mine = with_gradients(library, row, case, dtype, _seed(row, case), order)
    if len(my_outputs) != len(their_outputs):
        return f"{len(my_outputs)} outputs require grad, torch's {len(their_outputs)}"
    if not their_outputs:
        return None
    for level, (my_grads, their_grads) in enumerate(zip(mine, theirs, strict=True), 1):
        count = min(len(my_grads), len(their_grads))
        problem = gradient_difference(my_grads[:count], their_grads[:count], slack * row.tolerance)
        if problem:
            return f"order {level}, {problem}"
    return None


@pytest.mark.one_in(16 if ACCELERATOR is None else 1)
@every_operator
def test_another_device_gives_the_same(row: Operator) -> None:
    """Results and gradients, of tensors there and of what creates some there."""
    case, dtype = row.cases[0], row.dtypes[0]
    with flow.device(OTHER_DEVICE):
        problem = _problem(row, case, dtype, library=ON_OTHER_DEVICE)
        if has_other_values(row, case, dtype):
            problem = None
        results = flat_tensors(_outcome(ON_OTHER_DEVICE, row, case, dtype)[0])
        elsewhere = {result.device for result in results} - {OTHER_DEVICE}
        if elsewhere and row.name not in ON_THE_CPU:
            problem = f"results are on {elsewhere}"
        for kind in row.gradient_dtypes[:1] if problem is None else ():
            if first_other_gradient(row, case, kind) is None:
                problem = _gradient_problem(row, case, kind, 1, library=ON_OTHER_DEVICE)
    assert problem is None, f"{row.name}{case} in {dtype}: {problem}"


@pytest.mark.one_in(48)
@every_operator
def test_one_program_gives_one_answer(row: Operator) -> None:
    """Op by op, as one executable, and without a compiler, a program gives the same values."""
    case = row.cases[0]
    dtype = next(iter(row.gradient_dtypes), row.dtypes[0])
    if not row.values:
        pytest.skip(NO_VALUES)
    if _outcome(FLOW, row, case, dtype)[1] is not None:
        pytest.skip(FIRST_CASE_RAISES)
    with eager_mode("cold"):
        tensors = _forward_and_backward(row, case, dtype)
        plain = evaluated(tensors) if tensors else []
        cold = [tensor.numpy() for tensor in tensors]
    with eager_mode("compiled"):
        hot = [tensor.numpy() for tensor in _forward_and_backward(row, case, dtype)]
    for mine, reference, tensor in zip(hot, cold, tensors, strict=True):
        problem = array_difference(mine, reference, dtype_name(tensor), 0.1 * row.tolerance)
        assert problem is None, f"compiled differs from op by op: {problem}"
    for mine, reference, tensor in zip(cold, plain or cold, tensors, strict=True):
        problem = array_difference(mine, reference, dtype_name(tensor), 0.1 * row.tolerance)
        assert problem is None, f"op by op differs from the plain evaluator: {problem}"


def _forward_and_backward(row: Operator, case: Case, dtype: str) -> list[Tensor]:
    """Outputs and, where there are any, gradients; nothing read."""
    if row.gradient_dtypes:
        outputs, levels = with_gradients(FLOW, row, case, dtype, _seed(row, case), 1)
        return [*outputs, *[grad for grad in levels[0] if grad is not None]]
    arguments = FLOW.arguments(case, dtype, _seed(row, case))
    return flat_tensors(FLOW.function(row)(*arguments.args, **arguments.kwargs))


@pytest.mark.one_in(12)
@operators_that(lambda family, row: family in _VECTORISED)
def test_large_tensors_are_torchs_as_one_executable(row: Operator) -> None:
    """Users get this once a program is hot, at sizes at which all of its code is vectorised."""
    case, dtype = grown(row), row.dtypes[0]
    if case is None:
        pytest.skip("its samples cannot grow")
    if not row.values:
        pytest.skip(NO_VALUES)
    theirs, error = _outcome(TORCH, row, case, dtype)
    assert error is None, f"give the row a `large` case; torch refuses {case} in {dtype}: {error!r}"
    with eager_mode("compiled"):
        mine, error = _outcome(FLOW, row, case, dtype)
        assert error is None, (
            f"{row.name}{case} in {dtype}: raised {error!r}, torch gives {theirs!r}"
        )
        problem = difference(mine, theirs, _LARGE * row.tolerance)
        for kind in row.gradient_dtypes[:1] if problem is None else ():
            problem = _gradient_problem(row, case, kind, 1, _LARGE)
    assert problem is None, f"{row.name}{case} in {dtype}: {problem}"


# Errors of PyTorch's own vectorised code: gelu of infinity, polygamma at its pole.
_NOT_AT_SPECIAL_NUMBERS = ("nn.functional.gelu", "polygamma", "Tensor.polygamma")
_SPECIAL_NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5]


@pytest.mark.one_in(4)
@operators_that(
    lambda family, row: (
        family in ("activations", "unary") and row.name not in _NOT_AT_SPECIAL_NUMBERS
    )
)
def test_special_numbers_are_torchs_as_one_executable(row: Operator) -> None:
    tensors = [argument for argument in row.cases[0].args if type(argument) is TensorSample]
    if len(tensors) != 1 or tensors[0].dtype is not None or "float32" not in row.dtypes:
        pytest.skip("not a function of one float32 tensor")
    sample = TensorSample((99,), values=np.resize(_SPECIAL_NUMBERS, 99).tolist())
    given = tuple(sample if argument is tensors[0] else argument for argument in row.cases[0].args)
    case = Case(given, row.cases[0].kwargs)
    if not row.values:
        pytest.skip(NO_VALUES)
    if _outcome(TORCH, row, case, "float32")[1] is not None:
        pytest.skip("PyTorch raises for these numbers")
    with eager_mode("compiled"):
        problem = _problem(row, case, "float32")
    assert problem is None, f"{row.name} of special numbers: {problem}"


@pytest.mark.one_in(2)
@every_operator
def test_second_run_compiles_nothing(row: Operator) -> None:
    """Nor does another number in place of a number."""
    case, dtype = row.cases[0], row.dtypes[0]
    with_numbers = next((varied for varied in row.cases if _varied(varied) != varied), None)
    if not row.vary_numbers:
        with_numbers = None
    with eager_mode("cold"):
        for chosen in [case, *([with_numbers] if with_numbers else [])]:
            _outcome(FLOW, row, chosen, dtype)
            before = STATISTICS.new_programs, STATISTICS.operation_compiles
            _outcome(FLOW, row, _varied(chosen) if chosen is with_numbers else chosen, dtype)
            after = STATISTICS.new_programs, STATISTICS.operation_compiles
            assert after == before, f"{row.name}{chosen} recorded another program the second time"


def _varied(case: Case) -> Case:
    """The case with other floats."""
    return Case(
        tuple(_vary(argument) for argument in case.args),
        {name: _vary(value) for name, value in case.kwargs.items()},
    )


def _vary(value: Any) -> Any:
    return value * 1.0625 if type(value) is float and np.isfinite(value) else value


def _is_method(family: str, row: Operator) -> bool:
    return row.variants and hasattr(Tensor, row.name) and type(row.cases[0].args[0]) is TensorSample


@operators_that(_is_method)
def test_variants_agree(row: Operator) -> None:
    """The method is the function; the in-place form gives its values, in the tensor itself."""
    name, case = row.name, row.cases[0]
    with eager_mode("cold"):
        for dtype in row.dtypes[:2]:
            for method_name in (name, f"{name}_"):
                if not hasattr(Tensor, method_name) or not hasattr(
                    TORCH.module.Tensor, method_name
                ):
                    continue
                method = Operator(
                    f"Tensor.{method_name}", (case,), row.dtypes, tolerance=row.tolerance
                )
                problem = _problem(method, case, dtype)
                assert problem is None, f"{method_name}{case} in {dtype}: {problem}"
        if hasattr(Tensor, f"{name}_") and hasattr(TORCH.module.Tensor, f"{name}_"):
            arguments = FLOW.arguments(case, row.dtypes[0], _seed(row, case))
            try:
                changed = getattr(Tensor, f"{name}_")(*arguments.args, **arguments.kwargs)
            except (RuntimeError, TypeError):
                return  # as PyTorch's does: compared above
            assert changed is arguments.args[0], f"{name}_ returns another tensor"
