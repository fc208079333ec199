"""Losses, schedules, metrics, averages, clipping and grids against torchvision's and timm's."""

import importlib
import io

import numpy as np
import pytest
import torch
from PIL import Image

import oneflow as flow
from flowvision import loss, scheduler, utils
from flowvision.utils.agc import unitwise_norm
from tests.flowvision import zoo  # noqa: F401 - lets torchvision and timm be imported

timm = pytest.importorskip("timm")
for _part in ("loss", "scheduler", "utils"):
    importlib.import_module(f"timm.{_part}")
torchvision = pytest.importorskip("torchvision")

RNG = np.random.default_rng(1)


def pair(array):
    return flow.tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)


def test_losses():
    logits, labels = RNG.normal(size=(5, 7)).astype(np.float32), np.array([0, 6, 2, 2, 1])
    soft = RNG.dirichlet(np.ones(7), 5).astype(np.float32)
    cases = [
        (loss.LabelSmoothingCrossEntropy(0.2), timm.loss.LabelSmoothingCrossEntropy(0.2), labels),
        (loss.LabelSmoothingCrossEntropy(0.0), torch.nn.CrossEntropyLoss(), labels),
        (loss.SoftTargetCrossEntropy(), timm.loss.SoftTargetCrossEntropy(), soft),
    ]
    for ours, theirs, target in cases:
        x, other = pair(logits)
        got, want = ours(x, flow.tensor(target)), theirs(other, torch.tensor(target))
        assert got.item() == pytest.approx(want.item(), rel=1e-6)
        got.backward()
        want.backward()
        np.testing.assert_allclose(x.grad.numpy(), other.grad.numpy(), atol=1e-7)
    with pytest.raises(ValueError, match="smoothing"):
        loss.LabelSmoothingCrossEntropy(1.0)


def sgd(library):
    groups = [
        {"params": [library.nn.Parameter(library.ones(1))], "lr": 0.3},
        {"params": [library.nn.Parameter(library.ones(1))], "lr_scale": 0.1},
    ]
    return library.optim.SGD(groups, lr=1.0)


WARM = {"warmup_t": 3, "warmup_lr_init": 0.01}
SCHEDULES = [
    ("CosineLRScheduler", {"t_initial": 10}, {}),
    ("CosineLRScheduler", {"t_initial": 10, **WARM, "lr_min": 0.02, "cycle_limit": 1}, {}),
    (
        "CosineLRScheduler",
        {"t_initial": 4, "t_mul": 2.0, "decay_rate": 0.5, "cycle_limit": 3, "warmup_prefix": True},
        {"t_mul": "cycle_mul", "decay_rate": "cycle_decay"},
    ),
    ("PolyLRScheduler", {"t_initial": 9, "power": 0.9, "lr_min": 0.01, **WARM, "k_decay": 1.5}, {}),
    ("PolyLRScheduler", {"t_initial": 5, "cycle_limit": 3, "cycle_decay": 0.7}, {}),
    ("TanhLRScheduler", {"t_initial": 8, **WARM, "lb": -5.0, "cycle_limit": 2}, {}),
    ("TanhLRScheduler", {"t_initial": 8, **WARM, "warmup_prefix": True}, {}),
    ("StepLRScheduler", {"decay_t": 4, "decay_rate": 0.5, **WARM}, {}),
    ("MultiStepLRScheduler", {"decay_t": [5, 9], "decay_rate": 0.1, **WARM}, {}),
]


@pytest.mark.parametrize("t_in_epochs", [True, False])
@pytest.mark.parametrize(("name", "options", "renamed"), SCHEDULES)
def test_schedules(name, options, renamed, t_in_epochs):
    theirs_options = {renamed.get(key, key): value for key, value in options.items()}
    if name in ("StepLRScheduler", "MultiStepLRScheduler"):
        theirs_options["warmup_prefix"] = False
    elif name == "CosineLRScheduler":
        theirs_options.setdefault("cycle_limit", 10**6)  # 0 has no limit here, and stops there
    ours_optimizer, theirs_optimizer = sgd(flow), sgd(torch)
    ours = getattr(scheduler, name)(ours_optimizer, **options, t_in_epochs=t_in_epochs)
    theirs = getattr(timm.scheduler, name)(
        theirs_optimizer, **theirs_options, t_in_epochs=t_in_epochs
    )
    for t in range(20):
        # Here the optimizer multiplies with the scale.
        got = [g["lr"] * g.get("lr_scale", 1.0) for g in ours_optimizer.param_groups]
        want = [group["lr"] for group in theirs_optimizer.param_groups]
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
        for schedule in (ours, theirs):
            schedule.step(t)
            schedule.step_update(t)
    if hasattr(ours, "get_cycle_length"):
        assert ours.get_cycle_length(2) == abs(theirs.get_cycle_length(2))


def test_linear_schedule_and_state():
    optimizer = sgd(flow)
    ours = scheduler.LinearLRScheduler(optimizer, 10, 0.1, warmup_t=2)
    for epoch, want in ((1, 0.15), (2, 0.3), (6, 0.3 * 0.55), (10, 0.03)):
        ours.step(epoch)
        assert optimizer.param_groups[0]["lr"] == pytest.approx(want)
        # From 1.0 instead of 0.3; the optimizer multiplies with the scale.
        assert optimizer.param_groups[1]["lr"] == pytest.approx(want / 0.3)
    again = scheduler.LinearLRScheduler(sgd(flow), 99, 0.5)
    again.load_state_dict(ours.state_dict())
    assert again.get_epoch_values(6) == ours.get_epoch_values(6)
    with pytest.raises(ValueError, match="t_initial"):
        scheduler.CosineLRScheduler(optimizer, 0)
    with pytest.raises(KeyError, match="initial_lr"):
        scheduler.StepLRScheduler(sgd(flow), 3, initialize=False)


def test_noise_of_schedules():
    optimizer = sgd(flow)
    ours = scheduler.StepLRScheduler(optimizer, 100, noise_range_t=(5, 300), noise_pct=0.5)
    rates = []
    for epoch in (4, *range(5, 200), 300):
        ours.step(epoch)
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates[0] == rates[-1] == 0.3
    noisy = np.array(rates[1:-1]) / 0.3 - 1
    assert np.abs(noisy).max() < 0.5
    assert abs(noisy.mean()) < 0.1
    assert len(set(rates)) > 150
    ours.step(7)
    assert optimizer.param_groups[0]["lr"] == rates[3]


def test_accuracy():
    logits, labels = RNG.normal(size=(40, 9)).astype(np.float32), RNG.integers(0, 9, 40)
    got = utils.accuracy(flow.tensor(logits), flow.tensor(labels), (1, 3, 20))
    want = timm.utils.accuracy(torch.tensor(logits), torch.tensor(labels), (1, 3, 20))
    np.testing.assert_allclose(
        [tensor.item() for tensor in got], [tensor.item() for tensor in want]
    )


def test_moving_average():
    ours, theirs = flow.nn.BatchNorm2d(3), torch.nn.BatchNorm2d(3)
    average, other = utils.ModelEmaV2(ours, 0.7), timm.utils.ModelEmaV2(theirs, 0.7)
    for _ in range(3):
        x = RNG.normal(2.0, 3.0, (4, 3, 5, 5)).astype(np.float32)
        for model, library, ema in ((ours, flow, average), (theirs, torch, other)):
            model.train()
            model(library.tensor(x))
            model.weight.data.add_(0.5)
            ema.update(model)
    want = other.module.state_dict()
    for name, tensor in average.module.state_dict().items():
        if tensor.dtype.is_floating_point:
            np.testing.assert_allclose(tensor.numpy(), want[name].numpy(), rtol=1e-6)
        else:
            assert tensor.item() == 3
    average.set(ours)
    np.testing.assert_array_equal(average.module.weight.numpy(), ours.weight.numpy())
    assert not average.module.training
    assert average(flow.zeros(1, 3, 2, 2)).shape == (1, 3, 2, 2)


@pytest.mark.parametrize(("mode", "value"), [("norm", 0.5), ("value", 0.3), ("agc", 0.02)])
def test_clipping(mode, value):
    weights = [RNG.normal(size=shape).astype(np.float32) for shape in ((6, 4, 3, 3), (5, 2), (7,))]
    grads = [RNG.normal(size=weight.shape).astype(np.float32) for weight in weights]
    grads[0][2] *= 1e-4
    ours, theirs = zip(*(pair(weight) for weight in weights), strict=True)
    for mine, other, grad in zip(ours, theirs, grads, strict=True):
        mine.grad, other.grad = flow.tensor(grad), torch.tensor(grad)
    utils.dispatch_clip_grad([*ours, flow.nn.Parameter(flow.ones(2))], value, mode)
    timm.utils.dispatch_clip_grad(theirs, value, mode)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=2e-5, atol=1e-8)
    assert unitwise_norm(flow.ones(3, 4)).tolist() == [[2.0], [2.0], [2.0]]
    with pytest.raises(ValueError, match="mode"):
        utils.dispatch_clip_grad(ours, value, "all")


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((5, 3, 4, 6), {"nrow": 3}),
        ((5, 1, 4, 6), {"nrow": 2, "padding": 1, "pad_value": 0.5}),
        ((4, 3, 4, 6), {"normalize": True}),
        ((4, 3, 4, 6), {"normalize": True, "scale_each": True}),
        ((4, 3, 4, 6), {"normalize": True, "value_range": (-0.5, 0.5)}),
        ((1, 3, 4, 6), {}),
        ((4, 6), {}),
        ((1, 4, 6), {}),
        ((17, 3, 2, 2), {}),
    ],
)
def test_grids(shape, options):
    array = RNG.normal(size=shape).astype(np.float32)
    got = utils.make_grid(flow.tensor(array), **options)
    want = torchvision.utils.make_grid(torch.tensor(array), **options)
    np.testing.assert_allclose(got.numpy(), want.numpy(), atol=1e-6)
    if len(shape) == 4:
        got = utils.make_grid([flow.tensor(image) for image in array], **options)
        np.testing.assert_allclose(got.numpy(), want.numpy(), atol=1e-6)
    ours, theirs = io.BytesIO(), io.BytesIO()
    utils.save_image(flow.tensor(array), ours, format="png", **options)
    torchvision.utils.save_image(torch.tensor(array), theirs, format="png", **options)
    np.testing.assert_array_equal(np.asarray(Image.open(ours)), np.asarray(Image.open(theirs)))


def test_grids_of_something_else():
    with pytest.raises(TypeError, match="expected"):
        utils.make_grid("images")
    with pytest.raises(ValueError, match="must hold an image"):
        utils.make_grid(flow.zeros(0, 3, 4, 4))
