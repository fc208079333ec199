"""A step that a gradient scaler skips leaves everything as it was; nobody reads whether it does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import nn
from oneflow.optim.skipped_steps import may_step_unless
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.unscale import unscale
from oneflow.runtime.eager import current

optim = flow.optim
OPTIMIZERS = {
    "SGD": lambda parameters: optim.SGD(parameters, lr=0.1),
    "momentum": lambda parameters: optim.SGD(parameters, lr=0.1, momentum=0.9, dampening=0.3),
    "Adam": lambda parameters: optim.Adam(parameters, lr=0.01, amsgrad=True),
    "AdamW": lambda parameters: optim.AdamW(parameters, lr=0.01),
    "NAdam": lambda parameters: optim.NAdam(parameters, lr=0.01),
    "RAdam": lambda parameters: optim.RAdam(parameters, lr=0.01),
    "ASGD": lambda parameters: optim.ASGD(parameters, lr=0.01, t0=3),
    "LAMB": lambda parameters: optim.LAMB(parameters, lr=0.01),
    "Adagrad": lambda parameters: optim.Adagrad(parameters, lr=0.01, lr_decay=0.1),
    "two groups": lambda parameters: optim.Adam(
        [{"params": [parameter], "lr": 0.01 * (1 + index)} for index, parameter in parameters]
    ),
    "a hook": lambda parameters: _hooked(optim.Adam(parameters, lr=0.01)),
}
STEPS, BAD = 10, (0, 4, 5)


def _hooked(optimizer):
    optimizer.register_step_pre_hook(lambda *arguments: None)
    return optimizer


def trained(make, scaler, place=lambda model: model):
    """The parameters, and the counts, after steps of which some gradients are infinite."""
    flow.manual_seed(0)
    model = place(nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)))
    is_numbered = make is OPTIMIZERS["two groups"]
    optimizer = make(enumerate(model.parameters()) if is_numbered else model.parameters())
    x = flow.randn(4, 6)
    weight = model[0].weight
    if weight.is_global:
        x = x.to_global(weight.placement, flow.sbp.broadcast)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        if scaler is None:
            loss.backward()
            if step not in BAD:
                optimizer.step()
            continue
        scaler.scale(loss).backward()
        if step in BAD:
            weight.grad.mul_(float("inf"))
        scaler.step(optimizer)
        scaler.update()
    counts = [int(state["step"]) for state in optimizer.state.values()]
    return [parameter.numpy() for parameter in model.parameters()], counts, optimizer


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_skipped_steps_have_not_happened(name):
    scaler = flow.amp.GradScaler(init_scale=4.0)
    parameters, counts, optimizer = trained(OPTIMIZERS[name], scaler)
    expected, expected_counts, _ = trained(OPTIMIZERS[name], None)
    assert may_step_unless(optimizer) == (name != "a hook")
    assert counts == expected_counts
    for value, wanted in zip(parameters, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)
    assert scaler.get_scale() == 4.0 / 2 ** len(BAD)


def test_skipped_steps_of_global_tensors():
    placement = flow.placement("cpu", [0, 1])

    def place(model):
        return model.to_global(placement, flow.sbp.broadcast)

    make = OPTIMIZERS["AdamW"]
    parameters, counts, _ = trained(make, flow.amp.GradScaler(init_scale=4.0), place)
    expected, expected_counts, _ = trained(make, None)
    assert counts == expected_counts
    for value, wanted in zip(parameters, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


def test_counts_of_skipped_steps_are_saved_and_go_on():
    weight = flow.tensor([1.0], requires_grad=True)
    optimizer, scaler = optim.Adam([weight], lr=0.1), flow.amp.GradScaler(init_scale=2.0)
    for factor in (1.0, float("inf"), 2.0):
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    saved = optimizer.state_dict()
    other = optim.Adam([weight.detach().clone().requires_grad_()], lr=0.1)
    other.load_state_dict(saved)
    assert int(saved["state"][0]["step"]) == 2
    # Steps without a scaler count on.
    for one in (optimizer, other):
        (parameter,) = one.param_groups[0]["params"]
        parameter.grad = flow.tensor([0.5])
        one.step()
    assert optimizer.state[weight]["step"] == 3
    assert weight.item() == other.param_groups[0]["params"][0].item()


PRECISE = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "dampening": 0.3},
    "Adam": {"lr": 0.01},
    "RAdam": {"lr": 0.01},
}


@pytest.mark.parametrize("name", PRECISE)
def test_float64_parameters_get_pytorchs_values(name):
    results = []
    for lib, scaler in (
        (flow, flow.amp.GradScaler(init_scale=4.0)),
        (torch, torch.amp.GradScaler("cpu", init_scale=4.0)),
    ):
        weight = lib.tensor([1.0, -2.0], dtype=lib.float64, requires_grad=True)
        optimizer = getattr(lib.optim, name)([weight], **PRECISE[name])
        for factor in (1.0, float("nan"), *[3.0] * 8):
            optimizer.zero_grad()
            scaler.scale((weight * weight * factor).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
        results.append(weight.detach().numpy())
    np.testing.assert_allclose(*results, rtol=1e-12)


class Wrapper:
    """An optimizer of a library, which is no `Optimizer`."""

    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.param_groups = optimizer.param_groups

    def step(self):
        return self.optimizer.step()


def test_an_object_with_the_methods_of_an_optimizer_is_stepped():
    weight = flow.tensor([1.0], requires_grad=True)
    optimizer = Wrapper(optim.SGD([weight], lr=0.5))
    scaler = flow.amp.GradScaler(init_scale=2.0)
    for factor in (1.0, float("inf")):
        weight.grad = None
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert weight.item() == 0.5


UNSCALED = [("float16", 1024.0), ("bfloat16", 3.0), ("float32", 1e38), ("float64", 7.0)]


@pytest.mark.parametrize("bad", [None, 0, 2])
@pytest.mark.parametrize("is_split", [False, True])
def test_all_gradients_are_unscaled_by_one_instruction(bad, is_split):
    parameters = [flow.ones(2, 3, dtype=getattr(flow, name)) for name, _ in UNSCALED]
    if is_split:
        devices = flow.placement("cpu", [0, 1])
        whole = [parameter.to_global(devices, flow.sbp.broadcast) for parameter in parameters]
        parameters = [parameter.to_global(sbp=flow.sbp.split(0)) for parameter in whole]
    optimizer = flow.optim.SGD([p.requires_grad_() for p in parameters], lr=0.1)
    for index, (parameter, (_, value)) in enumerate(zip(parameters, UNSCALED, strict=True)):
        parameter.grad = flow.full_like(parameter, value)
        if index == bad:
            parameter.grad[1, 2] = float("nan")
    scaler = flow.amp.GradScaler(2.0**17)  # more than float16 has
    scaler.scale(parameters[2].sum())
    flow.eager.synchronize()
    failed = scaler.unscale_(optimizer)
    if not is_split:
        recorded = [entry for entry in current.recorder.key if isinstance(entry, Operation)]
        assert [operation.primitive for operation in recorded] == [unscale]
    assert failed.item() is (bad is not None)
    for index, (parameter, (_, value)) in enumerate(zip(parameters, UNSCALED, strict=True)):
        expected = np.full((2, 3), value / 2.0**17)
        if index == bad:
            expected[1, 2] = np.nan
        assert parameter.grad.dtype is parameter.dtype
        assert np.allclose(parameter.grad.double().numpy(), expected, rtol=4e-3, equal_nan=True)


def test_a_second_step_before_the_update_is_refused():
    """Its gradients would still be scaled."""
    for f in (flow, torch):
        weight = f.ones(2, requires_grad=True)
        optimizer, scaler = f.optim.SGD([weight], lr=0.5), f.amp.GradScaler("cpu", init_scale=4.0)
        scaler.scale(weight.sum()).backward()
        scaler.step(optimizer)
        scaler.scale(weight.sum()).backward()
        with pytest.raises(RuntimeError, match="already been called since the last update"):
            scaler.step(optimizer)
        assert weight.tolist() == [0.5, 0.5]
        scaler.update()
        optimizer.zero_grad()
        scaler.scale(weight.sum()).backward()
        scaler.step(optimizer)
        assert weight.tolist() == [0.0, 0.0]
