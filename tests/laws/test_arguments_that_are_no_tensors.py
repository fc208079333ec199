"""A law of all functions and layers: where a tensor belongs, anything else is named in the error.

No function answers with an attribute that the user never wrote (`'list' object has no attribute
'_value'`).
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.functional.registry import FUNCTIONS

WRONG = {"list": [1.0], "none": None, "array": np.ones((2, 2), np.float32), "text": "a"}
# They hand on what they get, take lists of numbers or nothing, or have no use for the argument.
TAKE_ANYTHING = {"_C.assign_local_tensor", "_C.depend", "_C.slice_view_1d_contiguous", "isin", "to"}
TAKE_ANYTHING |= {"nn.functional.depend", "_C.fused_glu", "_C.fused_matmul_bias"}
VALUES = {"int": 1, "float": 1.0, "bool": True, "str": "mean", "DType": flow.float32}


def value_for(parameter: inspect.Parameter) -> Any:
    """Something that a parameter may take, mostly."""
    annotation = str(parameter.annotation)
    if annotation.startswith("Tensor"):
        return flow.ones(2, 2)
    if "Sequence[Tensor]" in annotation:
        return [flow.ones(2, 2)]
    return next((value for name, value in VALUES.items() if name in annotation), 1)


def parameters_of(called: Callable[..., Any]) -> list[inspect.Parameter]:
    parameters = inspect.signature(called).parameters.values()
    return [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]


def wrong_calls(called: Callable[..., Any], wrong: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls with `wrong` in place of each tensor, and the name of its argument."""
    parameters = parameters_of(called)
    required = {p.name: value_for(p) for p in parameters if p.default is p.empty}
    for parameter in parameters:
        annotation = str(parameter.annotation)
        optional = wrong is None and "None" in annotation
        if annotation.startswith("Tensor") and not optional:
            yield parameter.name, {**required, parameter.name: wrong}


def problem_of(called: Callable[..., Any], keywords: dict[str, Any], may_pass: bool) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            called(**keywords)
        except AttributeError as error:
            return f"AttributeError: {error}"
        except Exception:
            return None
    return None if may_pass else "does not raise"


@pytest.mark.parametrize("kind", WRONG)
def test_functions_say_which_argument_must_be_a_tensor(kind: str) -> None:
    wrong, problems = WRONG[kind], []
    for path, called in FUNCTIONS.items():
        # Arrays are operands of many functions.
        may_pass = kind == "array" or path in TAKE_ANYTHING
        for name, keywords in wrong_calls(called, wrong):
            if problem := problem_of(called, keywords, may_pass):
                problems.append(f"{path}({name}=<{kind}>): {problem}")
    assert not problems, "\n".join(problems)


def layers() -> Iterator[nn.Module]:
    """A layer of each class that is made of plain numbers."""
    for name in sorted(dir(nn)):
        kind = getattr(nn, name)
        if inspect.isclass(kind) and issubclass(kind, nn.Module) and kind is not nn.Module:
            required = [p for p in parameters_of(kind) if p.default is p.empty]
            for value in (2, 1, (2, 2), [2, 2], nn.Linear(2, 2)):
                try:
                    layer = kind(*[value for _ in required])
                except Exception:
                    continue
                yield layer
                break


@pytest.mark.parametrize("kind", WRONG)
def test_layers_say_which_argument_must_be_a_tensor(kind: str) -> None:
    problems, count = [], 0
    for layer in layers():
        count += 1
        for name, keywords in wrong_calls(layer.forward, WRONG[kind]):
            if problem := problem_of(
                layer, keywords, may_pass=kind == "array" or type(layer) is nn.Identity
            ):
                problems.append(f"{type(layer).__name__}({name}=<{kind}>): {problem}")
    assert not problems, "\n".join(problems)
    assert count > 150


MESSAGES = {
    "cross_entropy(): argument 'target' (position 2) must be Tensor, not list": lambda: (
        nn.CrossEntropyLoss()(flow.ones(1, 3), [0])
    ),
    "mse_loss(): argument 'input' (position 1) must be Tensor, not list": lambda: (
        nn.functional.mse_loss([1.0], flow.ones(1))
    ),
    "add(): argument 'other' (position 2) must be Tensor or a number, not list": lambda: flow.add(
        flow.ones(1), [1]
    ),
    "stack(): argument 'inputs[1]' (position 1) must be Tensor, not list": lambda: flow.stack(
        [flow.ones(1), [1]]
    ),
    "LSTM(): argument 'input' (position 1) must be Tensor | PackedSequence, not str": lambda: (
        nn.LSTM(1, 1)("a")
    ),
    "type_as(): argument 'target' (position 1) must be Tensor, not int": lambda: flow.ones(
        1
    ).type_as(3),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_messages(message: str) -> None:
    with pytest.raises(TypeError) as error:
        MESSAGES[message]()
    assert str(error.value) == message
    assert error.value.__context__ is None or error.value.__suppress_context__


def test_layers_of_users_keep_their_errors() -> None:
    class Own(nn.Module):
        def forward(self, x: flow.Tensor) -> Any:
            return x.nothing

    with pytest.raises(AttributeError, match="'list' object has no attribute 'nothing'"):
        Own()([1])
