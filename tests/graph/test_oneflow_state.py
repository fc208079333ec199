"""States of graphs that OneFlow 0.9.0 wrote: training goes on as it did there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import oneflow as flow
from oneflow import nn
from tests.graph.helpers import TrainGraph

# Optimizer; values of weight, bias and what is kept for each after three steps; the next losses.
ROWS: dict[str, tuple[Callable[[Any], Any], bool, list, list, dict[str, tuple], list[float]]] = {
    "SGD": (
        lambda parameters: flow.optim.SGD(parameters, lr=0.1, momentum=0.9),
        True,
        [0.75014067, -0.06053129],
        [-0.10965624],
        {"momentum": ([1.7721874, -3.9393747], [3.6431246])},
        [0.18801970779895782, 0.11955738067626953, 0.10846453160047531],
    ),
    "Adam": (
        lambda parameters: flow.optim.Adam(parameters, lr=0.1, amsgrad=True),
        True,
        [0.75455153, -0.7507759],
        [0.25220466],
        {
            "m": ([0.09955215, -0.74031097], [0.334406]),
            "v": ([0.000454, 0.0227772], [0.00481451]),
            "max_v": ([0.000454, 0.0227772], [0.00481451]),
        },
        [1.0749651193618774, 0.914171576499939, 0.8399715423583984],
    ),
    "RMSprop": (
        lambda parameters: flow.optim.RMSprop(parameters, lr=0.1, centered=True),
        False,
        [-0.00753123, -0.4124481],
        [-0.59369427],
        {
            "mean_square": ([0.02699782, 0.13631415], [0.05550779]),
            "mean_gradient": ([0.01115543, -0.01283821], [0.01994269]),
        },
        [1.0340262651443481, 0.5092548727989197, 0.16514965891838074],
    ),
    "Adadelta": (
        lambda parameters: flow.optim.Adadelta(parameters, lr=0.1),
        False,
        [0.9990297, -0.9990294],
        [0.49902952],
        {
            "square_avgs": ([0.06763446, 2.437613], [0.6090566]),
            "acc_deltas": ([2.8441527e-06, 2.8460208e-06], [2.845134e-06]),
        },
        [2.120150327682495, 2.1184816360473633, 2.1167960166931152],
    ),
    "Adagrad": (
        lambda parameters: flow.optim.Adagrad(parameters, lr=0.1),
        False,
        [0.796105, -0.7790904],
        [0.2869141],
        {"sum": ([0.48385197, 23.147655], [5.021478])},
        [1.18462073802948, 1.0328738689422607, 0.9103607535362244],
    ),
}
X = [[1.0, 2.0], [0.5, -1.0]]


def graph_and_state(name: str) -> tuple[nn.Graph, dict[str, Any]]:
    make, has_schedule, weight, bias, kept, _ = ROWS[name]
    module = nn.Linear(2, 1)
    optimizer = make(module.parameters())
    schedule = flow.optim.lr_scheduler.StepLR(optimizer, 2, 0.5) if has_schedule else None
    graph = TrainGraph(module, lambda m, x: (m(x) ** 2).mean(), optimizer, schedule)
    state: dict[str, Any] = {
        "module": {"weight": flow.tensor([weight]), "bias": flow.tensor(bias)},
        "System-Train-TrainStep": flow.tensor([3]),
    }
    for kind, (of_weight, of_bias) in kept.items():
        state[f"module.weight-{kind}"] = flow.tensor([of_weight])
        state[f"module.bias-{kind}"] = flow.tensor(of_bias)
    return graph, state


@pytest.mark.parametrize("name", ROWS)
def test_training_goes_on(name: str) -> None:
    graph, state = graph_and_state(name)
    graph.load_state_dict(state)
    losses = [graph(flow.tensor(X)).item() for _ in range(3)]
    assert losses == pytest.approx(ROWS[name][-1], rel=1e-5)
    assert graph.state_dict()["System-Train-TrainStep"].tolist() == [6]


def test_names_that_do_not_fit_change_nothing() -> None:
    graph, state = graph_and_state("SGD")
    state["other.weight-momentum"] = flow.ones(1)
    with pytest.raises(RuntimeError, match=r"unexpected \['other.weight-momentum'\]"):
        graph.load_state_dict(state)
    assert not graph.added_optimizers()[0].optimizer.state
