"""The surroundings of a call: modes that change after the first call count as in eager code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.optim import lr_scheduler
from oneflow.utils.global_view import global_mode
from tests.graph.helpers import TrainGraph, graph_of

Change = Callable[[nn.Module], contextlib.AbstractContextManager]


def _model() -> nn.Module:
    flow.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


@contextlib.contextmanager
def _eval(model: nn.Module) -> Iterator[None]:
    model.eval()
    yield
    model.train()


@contextlib.contextmanager
def _part_in_eval(model: nn.Module) -> Iterator[None]:
    model[1].eval()
    yield
    model.train()


@contextlib.contextmanager
def _double(model: nn.Module) -> Iterator[None]:
    flow.set_default_dtype(flow.float64)
    yield
    flow.set_default_dtype(flow.float32)


@contextlib.contextmanager
def _hook(model: nn.Module) -> Iterator[None]:
    handle = model[0].register_forward_hook(lambda module, args, output: output * 2.0)
    yield
    handle.remove()


@contextlib.contextmanager
def _other_hook(model: nn.Module) -> Iterator[None]:
    handle = model[0].register_forward_pre_hook(lambda module, args: (args[0] + 1.0,))
    yield
    handle.remove()


CHANGES: dict[str, Change] = {
    "as it was": lambda model: contextlib.nullcontext(),
    "autocast": lambda model: flow.autocast("cpu", flow.bfloat16),
    "autocast float16": lambda model: flow.autocast("cpu", flow.float16),
    "autocast off": lambda model: flow.autocast("cpu", enabled=False),
    "no_grad": lambda model: flow.no_grad(),
    "inference_mode": lambda model: flow.inference_mode(),
    "eval": _eval,
    "a part in eval": _part_in_eval,
    "default dtype": _double,
    "forward hook": _hook,
    "forward pre-hook": _other_hook,
    "saved tensors": lambda model: flow.autograd.graph.saved_tensors_hooks(
        lambda saved: saved * 2.0, lambda packed: packed
    ),
}


def _build(model: nn.Module) -> Callable[[flow.Tensor], tuple]:
    def build(x: flow.Tensor) -> tuple:
        x = x.clone().requires_grad_() if flow.is_grad_enabled() else x
        y = model(x)
        (slope,) = flow.autograd.grad((y * y).sum(), x) if y.requires_grad else (x,)
        return y, slope, flow.ones(2) / 3.0

    return build


def test_graphs_heed_what_changes_around_them() -> None:
    model = _model()
    build = _build(model)
    graph = graph_of(build, model=model)
    x = flow.randn(3, 4)
    # Each change follows every other kind of call, and is left again.
    for name in (*CHANGES, *reversed(CHANGES)):
        with CHANGES[name](model):
            got = graph(x)
            want = build(x)
        for mine, eager in zip(got, want, strict=True):
            assert mine.dtype is eager.dtype, name
            assert mine.is_inference() == eager.is_inference(), name
            mine, eager = mine.detach().float().numpy(), eager.detach().float().numpy()
            np.testing.assert_allclose(mine, eager, rtol=2e-2, atol=2e-2, err_msg=name)
    # Steps that were recorded before are used again, but for hooks, whose objects are new.
    known = len(graph._steps)
    for name in ("as it was", "autocast", "eval", "no_grad"):
        with CHANGES[name](model):
            graph(x)
    assert len(graph._steps) == known


def test_global_mode_around_a_graph_counts() -> None:
    graph = graph_of(lambda: flow.ones(2))
    assert not graph().is_global
    with global_mode(True, flow.placement("cpu", [0]), flow.sbp.broadcast):
        assert flow.ones(2).is_global
        assert graph().placement == flow.placement("cpu", [0])
    assert not graph().is_global


def test_a_training_graph_under_autocast_trains_as_its_own_mixed_precision() -> None:
    x = flow.randn(8, 4)

    def losses(half_by_config: bool) -> list[float]:
        model = _model()
        optimizer = flow.optim.SGD(model.parameters(), lr=0.1)
        graph = TrainGraph(model, lambda model, x: (model(x).float() ** 2).mean(), optimizer)
        if half_by_config:
            graph.config.enable_amp(True, dtype=flow.bfloat16)
            return [graph(x).item() for _ in range(3)]
        with flow.autocast("cpu", flow.bfloat16):
            return [graph(x).item() for _ in range(3)]

    assert losses(True) == losses(False)


def test_a_graph_saves_what_was_called_last(tmp_path) -> None:
    model = _model()
    graph = graph_of(lambda x: model(x), model=model)
    x = flow.randn(3, 4)
    graph(x)
    model.eval()
    want = graph(x)
    graph.save(tmp_path / "saved")
    loaded = nn.Graph.load(tmp_path / "saved")
    np.testing.assert_allclose(loaded(x).numpy(), want.numpy(), rtol=1e-6)


def test_an_optimizer_without_backward_is_an_error() -> None:
    model = _model()

    class Forgetful(nn.Graph):
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.add_optimizer(flow.optim.SGD(model.parameters(), lr=0.1))

        def build(self, x: flow.Tensor) -> flow.Tensor:
            return self.model(x).sum()

    graph = Forgetful()
    with pytest.raises(RuntimeError, match=r"`backward\(\)` on the loss"):
        graph(flow.ones(2, 4))
    assert model(flow.ones(2, 4)).shape == (2, 2)


SCHEDULES: dict[str, Callable[[flow.optim.Optimizer], lr_scheduler.LRScheduler]] = {
    "StepLR": lambda optimizer: lr_scheduler.StepLR(optimizer, 1),
    "OneCycleLR": lambda optimizer: lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=9),
    "ReduceLROnPlateau": lambda optimizer: lr_scheduler.ReduceLROnPlateau(optimizer),
    "SequentialLR": lambda optimizer: lr_scheduler.SequentialLR(
        optimizer, [lr_scheduler.StepLR(optimizer, 1), lr_scheduler.StepLR(optimizer, 2)], [3]
    ),
    "ChainedScheduler": lambda optimizer: lr_scheduler.ChainedScheduler(
        [lr_scheduler.StepLR(optimizer, 1)]
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_not_stepped_inside_build(name) -> None:
    model = _model()
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = SCHEDULES[name](optimizer)
    before = optimizer.param_groups[0]["lr"]

    def loss_of(model: nn.Module, x: flow.Tensor) -> flow.Tensor:
        schedule.step(*([0.5] if name == "ReduceLROnPlateau" else []))
        return model(x).sum()

    graph = TrainGraph(model, loss_of, optimizer)
    with pytest.raises(RuntimeError, match=r"inside `build`.*lr_sch=scheduler"):
        graph(flow.ones(2, 4))
    assert optimizer.param_groups[0]["lr"] == before


def test_anomaly_mode_refuses_graphs_that_go_backward() -> None:
    model = _model()
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1)
    graph = TrainGraph(model, lambda model, x: model(x).sum(), optimizer)
    x = flow.ones(2, 4)
    graph(x)
    with flow.autograd.set_detect_anomaly(True), pytest.raises(RuntimeError, match="anomaly mode"):
        graph(x)
    graph(x)
