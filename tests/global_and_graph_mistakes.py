"""Ordinary mistakes with graphs and global tensors, with a word that the message must have."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

import oneflow as flow
from oneflow import nn

BROADCAST = flow.sbp.broadcast
PLACEMENT = flow.placement("cpu", ranks=[0])
ONES = flow.ones(2, 3)


def _graph(
    build: Callable[..., Any],
    *optimizers: Any,
    model: nn.Module | None = None,
    prepare: Callable[[Any], Any] = lambda graph: None,
) -> nn.Graph:
    """A graph; `build` takes it and the arguments, `prepare` is called before optimizers come."""

    class Mistaken(nn.Graph):
        def __init__(self) -> None:
            super().__init__()
            self.model = model if model is not None else nn.Identity()
            prepare(self)
            for optimizer in optimizers:
                self.add_optimizer(optimizer)

        def build(self, *args: Any) -> Any:
            return build(self, *args)

    return Mistaken()


def _built(compute: Callable[[Any], Any]) -> Any:
    return _graph(lambda graph, x: compute(x))(ONES)


def _trained(step: Callable[[Any], Any], *wrong_optimizers: Any, **options: Any) -> Any:
    model = nn.Linear(3, 1)
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1)

    def build(graph: Any, x: Any) -> Any:
        return step(graph.model(x))

    return _graph(build, optimizer, *wrong_optimizers, model=model, **options)(ONES)


def _configured(configure: Callable[[Any], Any]) -> Any:
    return _graph(lambda graph, x: x, prepare=lambda graph: configure(graph.config))


def _without_start() -> Any:
    members = {"__init__": lambda self: None, "build": lambda self, x: x}
    return type("Unstarted", (nn.Graph,), members)()(ONES)


def _stepped_in_build() -> Any:
    model = nn.Linear(3, 1)
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1)

    def build(graph: Any, x: Any) -> Any:
        graph.model(x).sum().backward()
        optimizer.step()

    return _graph(build, model=model)(ONES)


def _held_twice() -> Any:
    model = nn.Linear(3, 1)
    optimizers = [flow.optim.SGD(model.parameters(), lr=0.1) for _ in range(2)]
    return _graph(lambda graph, x: graph.model(x).sum().backward(), *optimizers, model=model)(ONES)


def _global(**options: Any) -> Any:
    return ONES.to_global(**{"placement": PLACEMENT, "sbp": BROADCAST, **options})


Mistake = tuple[Callable[[], Any], str]
GRAPHS: dict[str, Mistake] = {
    "a branch on a value": (lambda: _built(lambda x: x if x.sum() > 0 else -x), "oneflow.where"),
    "a number read": (lambda: _built(lambda x: x.sum().item()), "was read inside `build`"),
    "an array read": (lambda: _built(lambda x: x.numpy()), "was read inside `build`"),
    "a list read": (lambda: _built(lambda x: x.tolist()), "was read inside `build`"),
    "a shape of values": (lambda: _built(lambda x: x[x > 0]), "was read inside `build`"),
    "an array returned": (lambda: _built(lambda x: np.ones(2)), "result of .* is a ndarray"),
    "a set returned": (lambda: _built(lambda x: {x}), "result of .* is a set"),
    "no build": (lambda: type("Empty", (nn.Graph,), {})()(ONES), "must define `build`"),
    "no start of the base class": (_without_start, "must call super"),
    "a graph within a graph": (
        lambda: _built(lambda x: _graph(lambda graph, y: y)(x)),
        "graphs cannot be nested",
    ),
    "a graph as a layer": (lambda: nn.Sequential(_graph(lambda graph, x: x)), "not a Module"),
    "no backward pass": (lambda: _trained(lambda y: y.sum()), "call `backward"),
    "a backward pass of many": (lambda: _trained(lambda y: y.backward()), "scalar outputs"),
    "an optimizer stepped in build": (_stepped_in_build, "give it to `add_optimizer`"),
    "a parameter of two optimizers": (_held_twice, "both hold `model.weight`"),
    "an optimizer's class": (lambda: _trained(lambda y: y, flow.optim.SGD), "must be an Optimizer"),
    "an argument too few": (lambda: _graph(lambda graph, x, y: x)(ONES), "missing 1 required"),
    "an argument too many": (lambda: _graph(lambda graph, x: x)(ONES, ONES), "but 3 were given"),
    "an array given": (lambda: _graph(lambda graph, x: x)(np.ones(2)), "ndarray"),
    "local and global arguments": (
        lambda: _graph(lambda graph, x, y: x + y)(ONES, _global()),
        "to_global",
    ),
    "another device in build": (lambda: _built(lambda x: x.to("cuda")), "runs on one device"),
    "precision by name": (lambda: _configured(lambda config: config.enable_amp("yes")), "True or"),
    "an unknown stage of ZeRO": (
        lambda: _configured(lambda config: config.enable_zero(True, stage=4)),
        "1, 2 or 3, got 4",
    ),
    "no micro batch": (
        lambda: _configured(lambda config: config.set_gradient_accumulation_steps(0)),
        "at least 1, got 0",
    ),
    "a batch that micro batches do not divide": (
        lambda: _trained(
            lambda y: y.sum().backward(),
            prepare=lambda graph: graph.config.set_gradient_accumulation_steps(3),
        ),
        "multiple of 3",
    ),
    "a scale in place of a scaler": (
        lambda: _graph(lambda graph, x: x).set_grad_scaler(2.0),
        "must be a GradScaler",
    ),
    "a state of nothing": (
        lambda: _graph(lambda graph, x: x, model=nn.Linear(1, 1)).load_state_dict({}),
        "missing",
    ),
    "saved before it was called": (
        lambda: flow.save(_graph(lambda graph, x: x), "graph"),
        "has not been called",
    ),
    "copied": (lambda: copy.deepcopy(_graph(lambda graph, x: x)), "cannot be copied"),
    "pickled": (lambda: pickle.dumps(_graph(lambda graph, x: x)), "cannot be copied or pickled"),
    "details by a word": (lambda: _graph(lambda graph, x: x).debug("high"), "integer from -1 to 3"),
}
GLOBALS: dict[str, Mistake] = {
    "no sbp": (lambda: ONES.to_global(placement=PLACEMENT), "`sbp` is missing"),
    "no placement": (lambda: ONES.to_global(sbp=BROADCAST), "`placement` is missing"),
    "an sbp by name": (lambda: _global(sbp="split"), r"sbp.split\(dim\)"),
    "a split without its dimension": (lambda: flow.sbp.split(), "dim"),
    "a split by name": (lambda: flow.sbp.split("0"), "got '0'"),
    "a split of a missing dimension": (lambda: _global(sbp=flow.sbp.split(2)), "2 dimension"),
    "a split of one before the first": (lambda: _global(sbp=flow.sbp.split(-3)), "2 dimension"),
    "two of a placement of one dimension": (
        lambda: _global(sbp=[BROADCAST, BROADCAST]),
        "one per dimension",
    ),
    "ranks as a placement": (lambda: _global(placement=[0]), "must be a oneflow.placement"),
    "an unknown device": (lambda: flow.placement("abc", ranks=[0]), "expected one of cpu"),
    "a rank twice": (lambda: flow.placement("cpu", ranks=[0, 0]), "different numbers"),
    "a negative rank": (lambda: flow.placement("cpu", ranks=[-1]), "from 0 on"),
    "ranks that are no grid": (lambda: flow.placement("cpu", ranks=[[0], [0, 1]]), "like a grid"),
    "no ranks": (lambda: flow.placement("cpu", ranks=[]), "like a grid"),
    "ranks beyond the job": (
        lambda: _global(placement=flow.placement("cpu", ranks=[0, 1000])),
        "1000",
    ),
    "a device that is not here": (
        lambda: _global(placement=flow.placement("tpu", ranks=[0])),
        "XLA found none",
    ),
    "local and global": (lambda: _global() + ONES, "bring them together"),
    "the parts of a local tensor": (lambda: ONES.to_local(), "local tensors have no `to_local`"),
    "the sbp of a local tensor": (lambda: ONES.sbp, "local tensors have no `sbp`"),
    "the placement of a local tensor": (lambda: ONES.placement, "have no `placement`"),
    "device and placement": (
        lambda: flow.ones(2, placement=PLACEMENT, sbp=BROADCAST, device="cpu"),
        "not both",
    ),
    "a placement alone": (lambda: flow.ones(2, placement=PLACEMENT), "`sbp` is missing"),
    "a list that is split along a missing dimension": (
        lambda: flow.tensor([1.0], placement=PLACEMENT, sbp=flow.sbp.split(1)),
        "1 dimension",
    ),
    "data parallelism of a global module": (
        lambda: nn.parallel.DistributedDataParallel(
            nn.Linear(1, 1).to_global(placement=PLACEMENT, sbp=BROADCAST)
        ),
        "`weight` is global",
    ),
}
