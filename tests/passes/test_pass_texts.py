"""Every pass, text in and text out: the program before it and the program after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import oneflow as flow
from oneflow import nn
from oneflow.passes import fuse_attention
from oneflow.passes.pipeline import PASSES
from oneflow.program.ir import Program
from oneflow.program.printer import format_program
from oneflow.program.verifier import verify
from oneflow.runtime.checks import thread_checks
from tests.graph.helpers import TrainGraph, graph_of

TEXTS = Path(__file__).parent / "texts"
Call = tuple[nn.Graph, tuple]


def _mesh() -> flow.placement:
    return flow.placement("cpu", [0, 1])


def _square_loss(module: nn.Module, x: flow.Tensor) -> flow.Tensor:
    return module(x).square().sum()


def _checked_write() -> Call:
    """A buffer that is written to after a lookup, whose index may be out of range."""

    def build(x: flow.Tensor, index: flow.Tensor) -> flow.Tensor:
        rows = x.index_select(0, index)
        graph.counter.total += rows.sum()
        return rows

    counter = nn.Module()
    counter.register_buffer("total", flow.zeros(()))
    graph = graph_of(build, counter=counter)
    return graph, (flow.ones(3, 2), flow.tensor([0, 1]))


def _zero_3() -> Call:
    """A weight that is split over two ranks, read in the forward and in the backward pass."""
    model = nn.Sequential(nn.Linear(2, 4, bias=False), nn.Tanh(), nn.Linear(4, 2, bias=False))
    model.to_global(_mesh(), flow.sbp.broadcast)
    graph = TrainGraph(model, _square_loss, flow.optim.SGD(model.parameters(), lr=0.5))
    graph.config.enable_zero(stage=3, shard_min_size=1)
    return graph, (flow.ones(4, 2, placement=_mesh(), sbp=flow.sbp.split(0)),)


def _large_product() -> Call:
    """A product of which every rank would compute everything."""
    model = nn.Linear(512, 512, bias=False).to_global(_mesh(), flow.sbp.broadcast)
    graph = graph_of(lambda x: graph.model(x).relu(), model=model)
    graph.config.enable_auto_parallel()
    return graph, (flow.ones(512, 512, placement=_mesh(), sbp=flow.sbp.broadcast),)


def _product_of_splits() -> Call:
    """A product that is small to make split by columns, and costly to bring to rows then."""
    x = flow.ones(512, 16, placement=_mesh(), sbp=flow.sbp.split(0))
    weight = flow.ones(16, 2048, placement=_mesh(), sbp=flow.sbp.split(1))
    return graph_of(lambda x, weight: (x @ weight).softmax(1)), (x, weight)


def _lookup() -> Call:
    """A table that is looked up, and a weight."""
    model = nn.ModuleList([nn.Embedding(5, 2), nn.Linear(2, 1, bias=False)])
    optimizer = flow.optim.SGD(model.parameters(), lr=0.5)
    graph = TrainGraph(model, lambda m, i: m[1](m[0](i)).sum(), optimizer, is_sparse=True)
    return graph, (flow.tensor([1, 1, 4]),)


def _unused_value() -> Call:
    """A value that nothing returned depends on, and one with a run-time check."""

    def build(x: flow.Tensor, index: flow.Tensor) -> flow.Tensor:
        x.sin().add(1)
        x.index_select(0, index)
        return x.exp()

    return graph_of(build), (flow.ones(3, 2), flow.tensor([0, 1]))


def _convolution() -> Call:
    """A convolution between operators that follow it, and one that cannot."""
    graph = graph_of(
        lambda x: graph.conv(x.tanh()).relu().flatten(1), conv=nn.Conv2d(2, 3, 3, bias=False)
    )
    return graph, (flow.ones(1, 2, 8, 8),)


def _shared_operand() -> Call:
    """A value that a convolution reads, and another operator too."""

    def build(x: flow.Tensor) -> tuple[flow.Tensor, flow.Tensor]:
        y = graph.first(x).relu()
        return graph.second(y), y * 2

    first, second = nn.Conv2d(1, 4, 1, bias=False), nn.Conv2d(4, 1, 1, bias=False)
    graph = graph_of(build, first=first, second=second)
    return graph, (flow.ones(1, 1, 64, 64),)


def _two_layers() -> Call:
    """Two layers, so that the weight of the second is read for its input's gradient."""
    layers = [nn.Linear(128, 128, bias=False) for _ in range(2)]
    model = nn.Sequential(*layers)
    return TrainGraph(model, _square_loss, flow.optim.SGD(model.parameters(), lr=0.5)), (
        flow.ones(4, 128),
    )


def _micro_batches() -> Call:
    """A weight that two ranks have whole, trained with ZeRO 1 on two micro batches."""
    model = nn.Linear(2, 4, bias=False).to_global(_mesh(), flow.sbp.broadcast)
    graph = TrainGraph(model, _square_loss, flow.optim.SGD(model.parameters(), lr=0.5, momentum=1))
    graph.config.enable_zero(stage=1, shard_min_size=1)
    graph.config.set_gradient_accumulation_steps(2)
    return graph, (flow.ones(8, 2, placement=_mesh(), sbp=flow.sbp.split(0)),)


def _written_attention() -> Call:
    """Attention that is written out, as a training step."""

    def loss_of(module: nn.Module, q: flow.Tensor) -> flow.Tensor:
        scores = q @ module(q).transpose(-2, -1) * 0.5
        hidden = flow.ones(4, 4).tril() == 0
        weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        return (weights @ q).square().sum()

    model = nn.Linear(4, 4, bias=False)
    graph = TrainGraph(model, loss_of, flow.optim.SGD(model.parameters(), lr=0.5))
    return graph, (flow.ones(2, 4, 4),)


CALLS: dict[str, Callable[[], Call]] = {
    "checked_updates": _checked_write,
    "auto_parallel": _large_product,
    "sparse_updates": _lookup,
    "dead_code": _unused_value,
    "exchange_once": _micro_batches,
    "conversions": _product_of_splits,
    "regather": _zero_3,
    "fuse_attention": _written_attention,
    "channels_last": _convolution,
    "materialize": _shared_operand,
    "order_updates": _two_layers,
}


def text_of_pass(name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The programs before and after a pass, as text."""
    texts = []

    def observe(pass_name: str, before: Program, after: Program) -> None:
        if pass_name == name:
            verify(after)
            texts.extend(["--- before", format_program(before), "--- after", format_program(after)])

    monkeypatch.setattr("oneflow.graph.compilation.dump_callback", lambda graph: observe)
    monkeypatch.setattr(fuse_attention, "DEVICE_TYPES", {"cpu"})
    monkeypatch.setattr(fuse_attention, "is_fused", lambda operation: True)
    # As in a thread that has run no check: programs behind one take the flag that it sets.
    monkeypatch.setattr(thread_checks(), "checked", set())
    graph, arguments = CALLS[name]()
    graph(*arguments)
    return "\n".join([*texts, ""])


def test_every_pass_has_a_text():
    assert list(CALLS) == [pass_.name for pass_ in PASSES]


@pytest.mark.parametrize("name", CALLS)
def test_text(name, monkeypatch):
    assert text_of_pass(name, monkeypatch) == (TEXTS / f"{name}.txt").read_text(encoding="utf-8")
