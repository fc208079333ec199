"""Functions take arguments by the names that PyTorch gives them.

The names come from the signatures that PyTorch keeps for testing; where PyTorch itself does not
take them the sample is passed over. Only shapes are compared: what counts is that a call is
understood.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from torch.overrides import get_testing_overrides

from tests.oracle import FLOW, TORCH, Library, flat_tensors
from tests.samples.table import Case, Operator, operators

DESCRIBED = get_testing_overrides()
CASES = 2


def by_name(function: Any, case: Case) -> Case | None:
    """The case with all arguments by name, or None where they have none."""
    try:
        bound = inspect.signature(function).bind(*case.args, **case.kwargs)
    except (TypeError, ValueError):
        return None
    kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
    if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY}:
        return None
    return Case((), dict(bound.arguments))


def outcome(library: Library, row: Operator, case: Case) -> Any:
    """Shapes of what a call gives, or the exception it raised."""
    arguments = library.arguments(case, row.dtypes[0], "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = library.function(row)(*arguments.args, **arguments.kwargs)
        except Exception as error:
            return error
    return [tuple(tensor.shape) for tensor in flat_tensors(result)]


def test_functions_take_pytorchs_names():
    problems, tried = [], 0
    for _, row in operators():
        if row.call is not None or row.torch is not None:
            continue
        described = DESCRIBED.get(TORCH.function(row))
        for case in row.cases[:CASES] if described else ():
            named = by_name(described, case)
            expected = None if named is None else outcome(TORCH, row, named)
            if named is None or isinstance(expected, Exception):
                continue
            tried += 1
            found = outcome(FLOW, row, named)
            if isinstance(found, Exception) or found != expected:
                problems.append(f"{row.name}{named}: {found!r}, expected {expected!r}")
    assert tried > 200
    assert not problems, "\n".join(problems)
