"""A module and its PyTorch twin: same parameters, same inputs, compared results and gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

import oneflow as flow
from tests.oracle import difference, flat_tensors, to_flow, to_torch


def copy_state(source: flow.nn.Module, target: torch.nn.Module) -> None:
    """Give the PyTorch module the parameters and buffers of ours."""
    target.load_state_dict(
        {name: torch.tensor(t.numpy()) for name, t in source.state_dict().items()}
    )


def twin(make: Callable[[Any], Any]) -> tuple[flow.nn.Module, torch.nn.Module]:
    """``make(flow)`` and ``make(torch)`` with the same state, in float64."""
    mine, theirs = make(flow), make(torch)
    mine.double()
    theirs.double()
    copy_state(mine, theirs)
    return mine, theirs


def random_array(*shape: int, seed: int = 0) -> np.ndarray:
    """Reproducible float64 numbers in [-1, 1)."""
    return np.random.default_rng((seed, *shape)).uniform(-1, 1, shape)


def both(array: np.ndarray, requires_grad: bool = True) -> tuple[flow.Tensor, torch.Tensor]:
    """An array as a leaf tensor of both libraries."""
    pair = to_flow(array), to_torch(array)
    if requires_grad and array.dtype.kind == "f":
        for tensor in pair:
            tensor.requires_grad_()
    return pair


def weighted_sum(result: Any, make: Callable) -> Any:
    """A number that depends on every element of a result differently."""
    total = 0
    for index, tensor in enumerate(flat_tensors(result)):
        if tensor.dtype in (flow.float64, torch.float64):
            total = total + (tensor * make(random_array(*tensor.shape, seed=index + 1))).sum()
    return total


def assert_same(mine: Any, theirs: Any, what: str = "result") -> None:
    """Compare tensors, or nested tuples of them, with those of PyTorch."""
    problem = difference(mine, theirs)
    assert problem is None, f"{what}: {problem}"


def assert_twins_agree(
    mine: flow.nn.Module, theirs: torch.nn.Module, inputs: Sequence[np.ndarray], *rest: Any
) -> None:
    """Results, gradients of inputs and gradients of parameters are PyTorch's."""
    pairs = [both(array) for array in inputs]
    my_result = mine(*[pair[0] for pair in pairs], *rest)
    their_result = theirs(*[pair[1] for pair in pairs], *rest)
    assert_same(my_result, their_result)
    weighted_sum(my_result, to_flow).backward()
    weighted_sum(their_result, to_torch).backward()
    for number, (a, b) in enumerate(pairs):
        if b.requires_grad and b.grad is not None:
            assert_same(a.grad, b.grad, f"gradient of input {number}")
    assert_same_parameter_gradients(mine, theirs)


def assert_same_parameter_gradients(mine: flow.nn.Module, theirs: torch.nn.Module) -> None:
    """Names and gradients of all parameters are PyTorch's."""
    my_parameters, their_parameters = (dict(module.named_parameters()) for module in (mine, theirs))
    assert list(my_parameters) == list(their_parameters)
    for name, parameter in their_parameters.items():
        if parameter.grad is not None:
            assert_same(my_parameters[name].grad, parameter.grad, f"gradient of {name}")


def raised_by(call: Callable[[], Any]) -> type[BaseException]:
    """The type of the exception that `call` raises."""
    try:
        call()
    except Exception as error:
        return type(error)
    raise AssertionError("PyTorch does not raise here")
