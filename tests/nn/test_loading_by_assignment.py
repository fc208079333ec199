"""State dicts whose tensors a module takes over, instead of copying their values."""

from __future__ import annotations

import pytest
import torch

import oneflow as flow


def test_loading_by_assignment_takes_the_tensors_over():
    net = flow.nn.Linear(2, 1)
    state = {"weight": flow.ones(1, 2, dtype=flow.float64), "bias": flow.ones(1)}
    net.load_state_dict(state, assign=True)
    assert net.weight.dtype is flow.float64
    assert isinstance(net.weight, flow.nn.Parameter)


@pytest.mark.parametrize("asks", [False, True])
def test_loading_by_assignment_keeps_who_requires_grad(asks):
    nets = []
    for f in (flow, torch):
        net = f.nn.Linear(2, 1)
        net.bias.requires_grad_(asks)
        parts = f.nn.Parameter(f.ones(1, 2), requires_grad=asks), f.nn.Parameter(f.ones(1))
        net.load_state_dict(dict(zip(("weight", "bias"), parts, strict=True)), assign=True)
        assert net.bias is parts[1]
        nets.append((net.weight.requires_grad, net.bias.requires_grad))
    assert nets == [(True, asks)] * 2
    with pytest.raises(RuntimeError, match=r"[Oo]nly Tensors of floating point"):
        flow.nn.Linear(2, 1).load_state_dict(
            {"weight": flow.ones(1, 2, dtype=flow.int64)}, strict=False, assign=True
        )
