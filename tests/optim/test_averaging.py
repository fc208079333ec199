"""Averages of weights and their learning rate, against PyTorch's."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.nn.twins import assert_same, copy_state, raised_by, random_array
from tests.optim.test_lr_scheduler import assert_close, optimizers, trace

LIBRARIES = (flow, torch)


@pytest.mark.parametrize(
    "options",
    [
        {"swa_lr": 0.05},
        {"swa_lr": [0.05, 0.5], "anneal_epochs": 4, "anneal_strategy": "linear"},
        {"swa_lr": 2.0, "anneal_epochs": 0},
    ],
)
def test_the_schedule(options):
    traces = []
    for optimizer, lib in zip(optimizers(), LIBRARIES, strict=True):
        traces.append(trace(optimizer, lib.optim.swa_utils.SWALR(optimizer, **options)))
    assert_close(*traces)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
def test_the_schedule_goes_on_from_where_another_one_has_come(strategy):
    traces = []
    for optimizer, lib in zip(optimizers(), LIBRARIES, strict=True):
        first = lib.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda step: 0.8)
        second = lib.optim.swa_utils.SWALR(optimizer, 0.05, 4, strategy)
        rates = []
        for step in range(10):
            optimizer.step()
            (first if step < 4 else second).step()
            rates.append([group["lr"] for group in optimizer.param_groups])
        traces.append(rates)
    np.testing.assert_allclose(*traces, rtol=1e-9)


def test_the_schedule_takes_the_rates_of_those_before_it_in_a_chain():
    optimizer, _ = optimizers()
    base = [group["lr"] for group in optimizer.param_groups]
    schedules = flow.optim.lr_scheduler
    exponential = schedules.ExponentialLR(optimizer, 0.9)
    chain = schedules.ChainedScheduler(
        [exponential, flow.optim.swa_utils.SWALR(optimizer, 0.05, 4, "linear")]
    )
    for step in range(6):
        share = min(step / 4, 1.0)
        expected = [lr * 0.9**step * (1 - share) + 0.05 * share for lr in base]
        np.testing.assert_allclose([group["lr"] for group in optimizer.param_groups], expected)
        optimizer.step()
        chain.step()


def models():
    mine, theirs = (
        lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.BatchNorm1d(2)).double() for lib in LIBRARIES
    )
    copy_state(mine, theirs)
    return mine, theirs


AVERAGES = {
    "plain": lambda lib: {},
    "exponential": lambda lib: {"avg_fn": lib.optim.swa_utils.get_ema_avg_fn(0.75)},
    "of several": lambda lib: {"multi_avg_fn": lib.optim.swa_utils.get_ema_multi_avg_fn(0.75)},
    "own": lambda lib: {"avg_fn": lambda old, new, count: old + (new - old) / (count + 2)},
}


@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize("average", AVERAGES)
def test_averaged_models(average, use_buffers):
    pair = models()
    averaged = [
        lib.optim.swa_utils.AveragedModel(model, use_buffers=use_buffers, **AVERAGES[average](lib))
        for lib, model in zip(LIBRARIES, pair, strict=True)
    ]
    for step in range(3):
        values = {"weight": random_array(2, 2, seed=step), "bias": random_array(2, seed=step)}
        for lib, model, average in zip(LIBRARIES, pair, averaged, strict=True):
            with lib.no_grad():
                for name, value in values.items():
                    getattr(model[0], name).copy_(lib.tensor(value))
            model(lib.tensor(random_array(4, 2, seed=step + 9)))
            average.update_parameters(model)
    mine, theirs = (model.state_dict() for model in averaged)
    assert list(mine) == list(theirs)
    for name, tensor in theirs.items():
        assert_same(mine[name], tensor, name)


def test_all_tensors_at_once():
    averages, new = [flow.tensor([1.0, 2.0])], [flow.tensor([4.0, 5.0])]
    flow.optim.swa_utils.get_swa_multi_avg_fn()(averages, new, flow.tensor(2))
    assert averages[0].tolist() == [2.0, 3.0]


@pytest.mark.parametrize("as_tuples", [False, True])
def test_running_statistics_anew(as_tuples):
    pair = models()
    for lib, model in zip(LIBRARIES, pair, strict=True):
        batches = [lib.tensor(random_array(4, 2, seed=step)) for step in range(3)]
        lib.optim.swa_utils.update_bn([(x, 1) for x in batches] if as_tuples else batches, model)
        assert model.training
        assert model[1].momentum == 0.1
    for name, tensor in pair[1].state_dict().items():
        assert_same(pair[0].state_dict()[name], tensor, name)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda u, lib, o: u.SWALR(o, 0.1, anneal_strategy="x"),
        lambda u, lib, o: u.SWALR(o, 0.1, anneal_epochs=-1),
        lambda u, lib, o: u.SWALR(o, [0.1] * 3),
        lambda u, lib, o: u.get_ema_avg_fn(2.0),
        lambda u, lib, o: u.get_ema_multi_avg_fn(-1.0),
        lambda u, lib, o: u.AveragedModel(
            lib.nn.ReLU(), avg_fn=u.get_ema_avg_fn(), multi_avg_fn=u.get_ema_multi_avg_fn()
        ),
    ],
)
def test_errors_are_of_pytorchs_type(misuse):
    mine, theirs = optimizers()
    expected = raised_by(lambda: misuse(torch.optim.swa_utils, torch, theirs))
    with pytest.raises(expected):
        misuse(flow.optim.swa_utils, flow, mine)


P01, P23 = (flow.placement("cpu", ranks=ranks) for ranks in ([0, 1], [2, 3]))


@pytest.mark.parametrize("form", ["default", "averages", "all at once", "buffers"])
@pytest.mark.parametrize("second", [P01, P23], ids=["one placement", "two stages"])
def test_averages_of_a_model_on_placements(form, second):
    utils = flow.optim.swa_utils
    options = {
        "default": {},
        "averages": {"avg_fn": utils.get_ema_avg_fn(0.75)},
        "all at once": {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.75)},
        "buffers": {"use_buffers": True},
    }[form]
    local = flow.nn.Sequential(flow.nn.Linear(2, 2), flow.nn.BatchNorm1d(2))
    placed = copy.deepcopy(local)
    placed[0].to_global(P01, flow.sbp.broadcast)
    placed[1].to_global(second, flow.sbp.broadcast)
    averages = [utils.AveragedModel(model, **options) for model in (local, placed)]
    for _ in range(3):
        for model, average in zip((local, placed), averages, strict=True):
            with flow.no_grad():
                for tensor in (*model.parameters(), model[1].running_var):
                    tensor.mul_(1.5).add_(0.25)
            average.update_parameters(model)
    expected, result = (average.state_dict() for average in averages)
    for name, tensor in expected.items():
        assert result[name].is_global, name
        np.testing.assert_allclose(result[name].numpy(), tensor.numpy(), rtol=1e-6, err_msg=name)
