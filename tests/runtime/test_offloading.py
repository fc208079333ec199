"""Numbers that wait in the host's memory; the CPU's arrays stand in for an accelerator's."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import oneflow as flow
from oneflow.functional.creation.offloading import move_to_host

# Tensors that share the memory of one.
SHARING = {
    "view": lambda x: x[:2],
    "view of a view": lambda x: x.view(2, 2)[0],
    "transposed": lambda x: x.view(2, 2).t(),
    "detached": lambda x: x.detach(),
    "part of a detached one": lambda x: x.detach()[1:3],
    "data": lambda x: x.data,
}
BACK = {"load": lambda x: x.load(), "read": lambda x: x.tolist(), "write": lambda x: None}


@pytest.mark.parametrize("moved", ["whole", "part"])
@pytest.mark.parametrize("sharing", SHARING)
def test_tensors_go_on_sharing_their_memory(sharing: str, moved: str) -> None:
    for back, written in itertools.product(BACK.values(), ("whole", "part")):
        x = flow.arange(4.0)
        tensors = {"whole": x, "part": SHARING[sharing](x)}
        expected = {"whole": flow.arange(4.0)}
        expected["part"] = SHARING[sharing](expected["whole"])
        move_to_host(tensors[moved])
        assert all(tensor.is_offloaded() for tensor in tensors.values())
        back(tensors[moved])
        for part in (tensors, expected):
            part[written].add_(10)
        for name, tensor in tensors.items():
            assert tensor.tolist() == expected[name].tolist()
            assert not tensor.is_offloaded()
        assert tensors["whole"]._version == expected["whole"]._version


def test_a_single_tensor_stays_single() -> None:
    x = flow.arange(4.0)
    move_to_host(x)
    assert x.is_offloaded()
    assert x.detach().is_offloaded()  # an alias reads nothing
    assert x.tolist() == [0, 1, 2, 3]
    assert not x.is_offloaded()


@pytest.mark.parametrize("has_view", [False, True])
def test_gradients_reach_what_waits(has_view: bool) -> None:
    leaf: Any = flow.ones(2, requires_grad=True)
    between = leaf * 3
    view = between.view(1, 2) if has_view else None
    loss = (between * between).sum()
    for tensor in (leaf, between):
        move_to_host(tensor)
    assert leaf.is_leaf
    assert not between.is_leaf
    (loss + between.sum() + leaf.sum()).backward(retain_graph=True)
    assert leaf.grad.tolist() == [22, 22]
    if view is not None:
        (gradient,) = flow.autograd.grad((view * leaf).sum(), leaf)
        assert gradient.tolist() == [6, 6]


def losses(moves: bool) -> list[float]:
    flow.manual_seed(0)
    net = flow.nn.Sequential(flow.nn.Linear(4, 8), flow.nn.ReLU(), flow.nn.Linear(8, 2))
    optimizer = flow.optim.Adam(net.parameters(), lr=0.1)
    found = []
    for _ in range(3):
        states = itertools.chain(*map(dict.values, optimizer.state.values()))
        for tensor in itertools.chain(net.parameters(), states):
            if moves and isinstance(tensor, flow.Tensor):
                move_to_host(tensor)
        loss = net(flow.ones(4, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def test_training_is_the_same() -> None:
    assert losses(True) == pytest.approx(losses(False), rel=1e-5)


def test_inference_tensors_stay_such() -> None:
    with flow.inference_mode():
        x = flow.ones(2)
    move_to_host(x)
    assert x.is_inference()
    assert x.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="inference"):
        x.add_(1)


@pytest.mark.parametrize("sbp", [flow.sbp.broadcast, flow.sbp.split(0), flow.sbp.partial_sum])
def test_global_tensors_keep_their_sbp(sbp: Any) -> None:
    place = flow.placement("cpu", [0, 1])
    x = flow.arange(8.0).view(4, 2).to_global(place, flow.sbp.broadcast).to_global(sbp=sbp)
    flat = x.view(8)
    move_to_host(x)
    assert x.is_offloaded()
    assert x.sbp == (sbp,)
    assert x.sum().item() == 28
    assert flat.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
