"""Every process chooses the same layout, and moves its parts of parameters and states."""

import numpy as np
from tests.graph.helpers import TrainGraph

import oneflow as flow

B, S = flow.sbp.broadcast, flow.sbp.split
placement = flow.placement.all("cpu")
losses = []
for automatic in (True, False):
    flow.manual_seed(0)
    model = flow.nn.Sequential(
        flow.nn.Linear(64, 2048), flow.nn.ReLU(), flow.nn.Linear(2048, 64)
    ).to_global(placement, B)
    graph = TrainGraph(
        model,
        lambda module, x, y: flow.nn.functional.cross_entropy(module(x), y),
        flow.optim.Adam(model.parameters(), lr=0.001),
    )
    graph.config.enable_auto_parallel(automatic)
    x = flow.randn(32, 64, placement=placement, sbp=S(0))
    y = flow.randint(0, 64, (32,), placement=placement, sbp=S(0))
    losses.append([graph(x, y).item() for _ in range(3)])
    assert (model[0].weight.sbp == (S(0),)) is automatic
np.testing.assert_allclose(*losses, rtol=2e-5)
