"""``torch.optim.swap_in_optimizer_params_and_state``: an optimizer of other tensors for a while."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from oneflow.optim.optimizer import Optimizer
from oneflow.tensor.tensor import Tensor

_NAME = "swap_in_optimizer_params_and_state"


def _numbers(number: int, group: Mapping[str, Any], other: Any) -> list[int]:
    """The numbers of the parameters of a group of a state dict.

    Raises:
        RuntimeError: the group is not as that of the optimizer.
    """
    if not isinstance(other, dict) or not isinstance(other.get("params"), list):
        raise RuntimeError(f"{_NAME}: group {number} must be a dictionary with a list of params")
    numbers = other["params"]
    if not all(isinstance(place, int) for place in numbers):
        raise RuntimeError(f"{_NAME}: group {number} must have numbers as params, got {numbers}")
    if len(numbers) != len(group["params"]):
        raise RuntimeError(
            f"{_NAME}: group {number} must have {len(group['params'])} params, got {len(numbers)}"
        )
    if other.keys() != group.keys():
        raise RuntimeError(
            f"{_NAME}: group {number} must have the options of the optimizer's; one of them lacks "
            f"{sorted(other.keys() ^ group.keys())}"
        )
    return numbers


def _checked(optimizer: Optimizer, swapin_optim_state: Any) -> tuple[dict, list]:
    """The states and the groups of a state dict.

    Raises:
        RuntimeError: it is none of this optimizer.
    """
    if not optimizer.state:
        raise RuntimeError(f"{_NAME}: the optimizer must have a state; call `step` first")
    if not isinstance(swapin_optim_state, dict):
        raise RuntimeError(f"{_NAME}: `swapin_optim_state` must be a dictionary")
    states, groups = swapin_optim_state.get("state"), swapin_optim_state.get("param_groups")
    if not isinstance(states, dict) or not all(isinstance(x, dict) for x in states.values()):
        raise RuntimeError(f"{_NAME}: 'state' must be a dictionary of dictionaries")
    if not isinstance(groups, list) or len(groups) != len(optimizer.param_groups):
        raise RuntimeError(
            f"{_NAME}: 'param_groups' must be a list of {len(optimizer.param_groups)} groups"
        )
    return states, groups


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: Mapping[str, Tensor], swapin_optim_state: Any
) -> Iterator[None]:
    """Let an optimizer update other tensors in a block, with states and options of their own.

    What it writes into tensors of the state stays; its own parameters, states and options are as
    before behind the block.

    Args:
        optimizer: it has made a step.
        swapin_parameters: the tensors, in the order of its parameters.
        swapin_optim_state: as its `state_dict()` is.

    Raises:
        RuntimeError: they are not as many as its parameters, or the state dict is not as its own.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
        >>> optimizer = torch.optim.SGD([x], lr=1.0, momentum=0.5)
        >>> x.grad = y.grad = torch.ones(1)
        >>> optimizer.step()
        >>> with torch.optim.swap_in_optimizer_params_and_state(
        ...     optimizer, {"y": y}, optimizer.state_dict()
        ... ):
        ...     optimizer.step()
        >>> x.item(), y.item()
        (0.0, -0.5)
    """
    states, groups = _checked(optimizer, swapin_optim_state)
    tensors, begin = list(swapin_parameters.values()), 0
    swapped: list[tuple[dict[str, Any], dict[str, Any], list[Tensor]]] = []
    own_states: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
    seen: set[int] = set()
    for number, (group, other) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        numbers = _numbers(number, group, other)
        parameters = tensors[begin : begin + len(numbers)]
        begin += len(numbers)
        if len(parameters) < len(numbers):
            raise RuntimeError(f"{_NAME}: there are more parameters than `swapin_parameters`")
        swapped.append((group, other, parameters))
        own_states.update(
            {
                tensor: dict(states.get(place, {}))
                for tensor, place in zip(parameters, numbers, strict=True)
            }
        )
        seen.update(numbers)
    if not states.keys() <= seen:
        raise RuntimeError(f"{_NAME}: 'state' has numbers of no params: {states.keys() - seen}")
    before = [dict(group) for group in optimizer.param_groups]
    state = optimizer.state
    try:
        for group, other, parameters in swapped:
            group.update({**other, "params": parameters})
        optimizer.state = own_states
        yield
    finally:
        for group, values in zip(optimizer.param_groups, before, strict=True):
            group.clear()
            group.update(values)
        optimizer.state = state
