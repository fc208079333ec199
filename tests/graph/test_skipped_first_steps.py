"""Steps that a gradient scaler skips before the first one that counts, against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.graph.helpers import TrainGraph


# PyTorch's schedule does not see that the step is the scaler's to skip.
@pytest.mark.filterwarnings("ignore:Detected call of")
def test_the_first_step_size_of_rprop_is_the_rate_of_the_first_step_that_is_not_skipped():
    def trained(lib, is_static):
        model = lib.nn.Linear(1, 2, bias=False)
        with lib.no_grad():
            model.weight.fill_(1.0)
        optimizer = lib.optim.Rprop(model.parameters(), lr=0.5)
        schedule = lib.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 4)
        scaler = lib.amp.GradScaler(**({"device": "cpu"} if lib is torch else {}), init_scale=8.0)
        graph = (
            TrainGraph(model, lambda m, x: m(x).sum(), optimizer, schedule) if is_static else None
        )
        if graph is not None:
            graph.set_grad_scaler(scaler)
        for factor in (float("inf"), float("inf"), 1.0, -1.0, 1.0):
            x = lib.full((1, 1), factor)
            if graph is not None:
                graph(x)
                continue
            scaler.scale(model(x).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            schedule.step()
        return model.weight.detach().numpy()

    expected = trained(torch, is_static=False)
    for is_static in (False, True):
        np.testing.assert_allclose(trained(flow, is_static), expected, rtol=1e-6)
