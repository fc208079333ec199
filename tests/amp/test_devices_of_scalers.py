"""Gradient scaling where losses, gradients and optimizers are on several devices."""

import numpy as np
import pytest

import oneflow as flow
from oneflow.optim.optimizer import MAX_RESULTS
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.unscale import unscale
from oneflow.runtime.eager import current

HERE, THERE = "cpu:0", "cpu:1"
SCALERS = [flow.amp.StaticGradScaler, flow.amp.GradScaler]
KINDS = {"SGD": {"lr": 0.1, "momentum": 0.9}, "Adam": {"lr": 0.1}}
#: The devices of each optimizer's parameters, and of the loss.
PLACES = {
    "loss elsewhere": ([[THERE]], HERE),
    "gradients on two devices": ([[HERE, THERE]], HERE),
    "first gradient elsewhere": ([[THERE, HERE]], HERE),
    "optimizers on two devices": ([[HERE], [THERE]], THERE),
}


def _train(devices, loss_device, kind, scaler, bad_step=None):
    """The parameters after four steps; in one of them a gradient is infinite."""
    optimizers = []
    for places in devices:
        parameters = [flow.ones(2, device=place).requires_grad_() for place in places]
        optimizers.append(getattr(flow.optim, kind)(parameters, **KINDS[kind]))
    for step in range(4):
        loss = flow.zeros((), device=loss_device)
        factor = float("inf") if step == bad_step else 2.0
        for optimizer in optimizers:
            optimizer.zero_grad()
            for parameter in optimizer.param_groups[0]["params"]:
                loss = loss + (parameter.square() * factor).sum().to(loss_device)
        (loss if scaler is None else scaler.scale(loss)).backward()
        for optimizer in optimizers:
            if scaler is not None:
                scaler.step(optimizer)
            elif step != bad_step:
                optimizer.step()
        if scaler is not None:
            scaler.update()
    return [p.numpy() for o in optimizers for p in o.param_groups[0]["params"]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make_scaler", SCALERS)
@pytest.mark.parametrize("place", PLACES)
def test_scaled_training_is_training_without_scaling(place, make_scaler, kind):
    bad_step = 1 if make_scaler is flow.amp.GradScaler else None
    expected = _train(*PLACES[place], kind, None, bad_step)
    result = _train(*PLACES[place], kind, make_scaler(8.0), bad_step)
    np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("make_scaler", SCALERS)
@pytest.mark.parametrize("place", [HERE, THERE])
def test_gradients_are_unscaled_where_they_are(place, make_scaler):
    weight = flow.zeros(2, device=place).requires_grad_()
    scaler = make_scaler(8.0)
    scaler.scale((weight * 2).sum().to(HERE)).backward()
    flag = scaler.unscale_(flow.optim.SGD([weight], lr=0.1))
    assert weight.grad.tolist() == [2.0, 2.0]
    assert str(weight.grad.device) == str(flag.device) == place
    assert not flag.item()


def test_steps_skip_wherever_the_first_gradient_is():
    parameters = [flow.ones(1, device=place).requires_grad_() for place in (HERE, THERE)]
    optimizer, scaler = flow.optim.Adam(parameters, lr=0.1), flow.amp.GradScaler(8.0)
    for present in ([0, 1], [1], [0, 1]):
        for number, parameter in enumerate(parameters):
            gradient = flow.full_like(parameter, 8.0)
            parameter.grad = gradient if number in present else None
        scaler.scale(flow.ones(1))
        scaler.step(optimizer)
        scaler.update()
    assert [parameter.item() for parameter in parameters] == pytest.approx([0.8, 0.7], rel=1e-5)


@pytest.mark.parametrize("norm_type", [2.0, float("inf"), 0.0])
def test_gradients_on_two_devices_are_clipped_by_their_common_norm(norm_type):
    def clipped(places):
        parameters = [flow.zeros(2, device=place).requires_grad_() for place in places]
        for parameter in parameters:
            parameter.grad = flow.full_like(parameter, 3.0)
        norm = flow.nn.utils.clip_grad_norm_(parameters, 1.0, norm_type)
        return [norm.item(), *(parameter.grad.numpy()[0] for parameter in parameters)]

    assert clipped([HERE, THERE]) == pytest.approx(clipped([HERE, HERE]), rel=1e-5)


def test_many_gradients_are_several_instructions():
    parameters = [flow.zeros(1).requires_grad_() for _ in range(2 * MAX_RESULTS + 1)]
    for parameter in parameters:
        parameter.grad = flow.full_like(parameter, 8.0)
    parameters[-1].grad.fill_(float("nan"))
    scaler = flow.amp.GradScaler(8.0)
    scaler.scale(flow.ones(1))
    flow.eager.synchronize()
    failed = scaler.unscale_(flow.optim.SGD(parameters, lr=0.1))
    recorded = [entry for entry in current.recorder.key if isinstance(entry, Operation)]
    counts = [entry.count - 1 for entry in recorded if entry.primitive is unscale]
    assert counts == [MAX_RESULTS, MAX_RESULTS, 1]
    assert failed.item()
    assert all(parameter.grad.item() == 1 for parameter in parameters[:-1])


def test_one_gradient_is_unscaled_by_the_same_rule():
    gradient = flow.full((2,), 1024.0, dtype=flow.float16)
    scaler = flow.amp.StaticGradScaler(2.0**17)  # more than float16 has
    result = scaler.unscale_gradient(gradient)
    assert result.dtype is flow.float16
    assert result.tolist() == [2.0**-7] * 2
