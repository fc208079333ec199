"""A law of calls with PyTorch's keywords, as they are typed: PyTorch's results.

In ``keyword_calls.txt`` `t` is the library, `f` its functions and `nn` its modules; the tensors are
those of `names_for`.
"""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import pytest
import torch

import oneflow as flow
from tests.laws.bad_calls import calls
from tests.oracle import difference

CALLS = calls("keyword_calls.txt")


def names_for(lib: ModuleType) -> dict[str, Any]:
    """The names that the calls use, in a library."""
    return {
        "t": lib,
        "f": lib.nn.functional,
        "nn": lib.nn,
        "schedulers": lib.optim.lr_scheduler,
        "x": lib.tensor([[1.0, 2.0], [3.0, 4.0]]),
        "i": lib.tensor([0, 1]),
    }


def problem_of(call: str) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = eval(call, names_for(torch))
        try:
            mine = eval(call, names_for(flow))
        except Exception as error:
            return repr(error)
    return difference(mine, theirs)


@pytest.mark.parametrize("family", CALLS)
def test_keywords_mean_what_they_do_in_pytorch(family: str) -> None:
    found = {call: problem_of(call) for call in CALLS[family]}
    problems = [f"{call}: {problem}" for call, problem in found.items() if problem]
    assert not problems, "\n".join(problems)
