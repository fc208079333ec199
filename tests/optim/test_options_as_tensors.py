"""Options that are tensors act as their numbers do, in eager steps and in graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneflow as flow
from tests.optim.table import COMPOSED_ROWS, OWN_ROWS, ROWS, Row

EVERY_ROW = [*ROWS, *COMPOSED_ROWS, *OWN_ROWS]
# The rows with the most options.
ROW_OF_NAME = {row.name: row for row in sorted(EVERY_ROW, key=lambda row: len(row.options))}
# `SparseAdam` takes sparse gradients, which graphs do not make.
NAMES = sorted({*ROW_OF_NAME} - {"SparseAdam"})


def as_tensor(option: Any) -> Any:
    """A number, or numbers in a tuple, as tensors of float64."""
    if isinstance(option, tuple):
        return tuple(map(as_tensor, option))
    return flow.tensor(option, dtype=flow.float64) if isinstance(option, float) else option


class Model(flow.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        start = flow.arange(6.0, dtype=flow.float64).reshape(2, 3) - 2.5
        self.weight = flow.nn.Parameter(start)

    def forward(self, x: flow.Tensor) -> flow.Tensor:
        return (self.weight * x).square().sum() + self.weight.sum()


def steps(row: Row, place: str, kind: str) -> np.ndarray:
    """The parameter after each of six steps.

    Args:
        row: the optimizer.
        place: "eager" or "graph".
        kind: "numbers"; "tensors", for all options from the third step on; or "rate", which is a
            tensor from the first step, and is filled with another number before the fifth.
    """
    model = Model()
    optimizer = row.make([model.weight])
    group = optimizer.param_groups[0]

    def build(x: flow.Tensor) -> flow.Tensor:
        loss = model(x)
        loss.backward()
        return loss

    class Step(flow.nn.Graph):
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.add_optimizer(optimizer)

        def build(self, x: flow.Tensor) -> flow.Tensor:
            return build(x)

    graph, x, after = Step(), flow.tensor([[1.0, -2.0, 3.0], [1.0, 0.1, 2.0]]).double(), []
    if kind == "rate":
        group["lr"] = as_tensor(group["lr"])
    for step in range(6):
        if kind == "tensors" and step == 2:
            group.update({n: as_tensor(o) for n, o in group.items() if n != "params"})
        if step == 4:
            group["lr"] = group["lr"].fill_(0.03) if kind == "rate" else 0.03
        if place == "graph":
            graph(x)
        else:
            optimizer.zero_grad()
            build(x)
            optimizer.step()
        after.append(model.weight.numpy().copy())
    return np.stack(after)


@pytest.mark.parametrize("place", ["eager", "graph"])
@pytest.mark.parametrize("name", NAMES)
def test_options_may_be_tensors(name: str, place: str) -> None:
    row = ROW_OF_NAME[name]
    numbers = steps(row, "eager", "numbers")
    tolerance = row.tolerance if row.matrices_only else 1e-12
    for kind in ("tensors", "rate"):
        after = steps(row, place, kind)
        np.testing.assert_allclose(after, numbers, rtol=tolerance, atol=tolerance * 1e-2)
