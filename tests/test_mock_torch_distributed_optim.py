"""Optimizers of several processes refuse what they cannot train; steps are in the law of DDP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import oneflow as flow
from tests.in_place import in_place_of

OPTIM = in_place_of("torch.distributed.optim")
AVERAGING = "torch.distributed.algorithms.model_averaging"
PERIODIC = in_place_of(f"{AVERAGING}.averagers").PeriodicModelAverager
HIERARCHICAL = in_place_of(f"{AVERAGING}.hierarchical_model_averager").HierarchicalModelAverager
UTILS = in_place_of(f"{AVERAGING}.utils")


def divided(*tensors: flow.Tensor, **options: Any) -> Any:
    return OPTIM.ZeroRedundancyOptimizer(tensors, flow.optim.SGD, lr=0.1, **options)


BAD = {
    "no parameters": (divided, ValueError, "empty parameter list"),
    "two types": (
        lambda: divided(flow.nn.Parameter(flow.ones(1)), flow.nn.Parameter(flow.ones(1).double())),
        ValueError,
        "DoubleTensor and",
    ),
    "an overlap": (
        lambda: divided(flow.nn.Parameter(flow.ones(1)), overlap_with_ddp=True),
        NotImplementedError,
        "`overlap_with_ddp` must be False",
    ),
    "one tensor": (
        lambda: OPTIM.ZeroRedundancyOptimizer(flow.ones(2), flow.optim.SGD, lr=0.1),
        TypeError,
        "iterable of Tensors or dicts",
    ),
    "no period": (lambda: PERIODIC(0), ValueError, "`period` must be a positive value, got 0"),
    "no warmup": (lambda: PERIODIC(2, -1), ValueError, "`warmup_steps`"),
    "no groups": (lambda: HIERARCHICAL({}), ValueError, "must not be empty"),
    "an early period": (lambda: HIERARCHICAL({0: 1}), ValueError, "smallest period"),
    "no warmup of groups": (lambda: HIERARCHICAL({2: 1}, -1), ValueError, "`warmup_steps`"),
    "a large group": (lambda: HIERARCHICAL({2: 7}), ValueError, "must be that of the group, 1"),
    "no parameter": (lambda: UTILS.get_params_to_average([1]), NotImplementedError, "got int"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused(name: str) -> None:
    make, error, message = BAD[name]
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("make", [lambda: PERIODIC(1), lambda: HIERARCHICAL({1: 1})])
def test_means_in_every_step_are_warned_of(make: Callable[[], Any]) -> None:
    with pytest.warns(UserWarning, match="DistributedDataParallel alone"):
        make()


def test_states_of_other_groups_are_refused_and_change_nothing() -> None:
    w, v = (flow.nn.Parameter(flow.ones(1)) for _ in range(2))
    optimizer = divided(w, momentum=0.5)
    other = divided(w, v, momentum=0.5)
    w.sum().backward()
    for loaded in (optimizer, other):
        loaded.step()
        loaded.consolidate_state_dict()
    with pytest.raises(ValueError, match="doesn't match the size"):
        optimizer.load_state_dict({**other.state_dict(), "lr": 3.0})
    assert optimizer.param_groups[0]["lr"] == 0.1
    optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.optim.state[w]["momentum_buffer"].item() == 1


def test_a_state_without_a_step_begins_again() -> None:
    w = flow.nn.Parameter(flow.ones(1))
    averager = PERIODIC(2)
    optimizer = OPTIM.PostLocalSGDOptimizer(flow.optim.SGD([w], lr=0.1, momentum=0.5), averager)
    w.sum().backward()
    assert optimizer.step(lambda: flow.tensor(3.0)).item() == 3
    state = optimizer.state_dict()
    assert state.pop("step") == 1
    with pytest.warns(UserWarning, match="begins at step 0"):
        optimizer.load_state_dict(state)
    assert averager.step == 0
    assert optimizer.state[w]["momentum_buffer"].item() == 1
    optimizer.zero_grad()
    assert w.grad is None
    optimizer.add_param_group({"params": [flow.nn.Parameter(flow.ones(1))], "lr": 0.7})
    assert [group["lr"] for group in optimizer.optim.param_groups] == [0.1, 0.7]
    assert repr(optimizer) == repr(optimizer.optim)
    optimizer.optim.load_state_dict(optimizer.optim.state_dict())
    assert optimizer.state is optimizer.optim.state
