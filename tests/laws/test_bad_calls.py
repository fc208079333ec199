"""A law of bad calls: PyTorch's exception, and a message that speaks of the call."""

from __future__ import annotations

import re
import warnings
from types import ModuleType

import pytest
import torch

import oneflow as flow
from tests.laws.bad_calls import calls, names_for
from tests.oracle import flat_tensors


def exception_of(lib: ModuleType, call: str) -> Exception | None:
    """The exception of a call, raised when its values are read if not before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for tensor in flat_tensors(eval(call, names_for(lib))):
                tensor.detach().numpy()
        except Exception as error:
            return error
    return None


def problem_of(call: str) -> str | None:
    theirs, mine = exception_of(torch, call), exception_of(flow, call)
    if theirs is None:
        return "PyTorch does not raise"
    if mine is None:
        return f"does not raise, PyTorch {theirs!r}"
    wanted = next(base for base in type(theirs).__mro__ if base.__module__ == "builtins")
    # The argument may be named here that PyTorch asks for an attribute that it has not.
    if not isinstance(mine, (wanted, TypeError) if wanted is AttributeError else wanted):
        return f"raised {mine!r}, PyTorch {theirs!r}"
    said = str(mine).lower()
    words = re.findall(r"[a-z]{3,}", call.lower())
    if not re.search(r"[\d`'\"]|\(\)", said) and not any(word in said for word in words):
        return f"the message names neither the function nor a value: {mine!r}"
    return None


CALLS = calls()


@pytest.mark.parametrize("family", CALLS)
def test_bad_calls_raise_pytorchs_exceptions(family: str) -> None:
    found = {call: problem_of(call) for call in CALLS[family]}
    problems = [f"{call}: {problem}" for call, problem in found.items() if problem]
    assert not problems, "\n".join(problems)


def test_there_are_hundreds_of_bad_calls():
    flat = [call for family in CALLS.values() for call in family]
    assert len(set(flat)) == len(flat)
    assert len(flat) >= 300
