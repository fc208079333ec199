"""ZeRO changes no step: every optimizer, at every stage, goes on as on one device."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import oneflow as flow
from tests.optim.table import COMPOSED_ROWS, OWN_ROWS, ROWS, Row

PAIR = flow.placement("cpu", [0, 1])
B, S = flow.sbp.broadcast, flow.sbp.split
CALLS = 4


class Training(flow.nn.Graph):
    def __init__(self, model: Any, optimizer: Any, stage: int) -> None:
        super().__init__()
        self.model = model
        self.add_optimizer(optimizer)
        if stage:
            self.config.enable_zero(stage=stage, shard_min_size=4)

    def build(self, x: Any) -> Any:
        loss = self.model(x).square().mean()
        loss.backward()
        return loss


def make_model() -> Any:
    rng = np.random.default_rng(0)
    model = flow.nn.Sequential(
        flow.nn.Linear(6, 8, bias=False), flow.nn.Tanh(), flow.nn.Linear(8, 4, bias=False)
    ).double()
    for parameter in model.parameters():
        parameter.data = flow.tensor(rng.standard_normal(tuple(parameter.shape)))
    return model


def batches() -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal((4, 6)) for _ in range(CALLS + 1)]


def numbers_of(model: Any, optimizer: Any) -> list[np.ndarray]:
    """The parameters, and the tensors of their states, by name."""
    parameters = list(model.parameters())
    tensors = [
        state[name]
        for state in (optimizer.state[parameter] for parameter in parameters)
        for name in sorted(state)
        if flow.is_tensor(state[name])
    ]
    return [tensor.detach().numpy() for tensor in (*parameters, *tensors)]


def step(model: Any, optimizer: Any, x: Any) -> None:
    model(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def expected_numbers(row: Row) -> list[np.ndarray]:
    model = make_model()
    optimizer = row.make(model.parameters())
    for batch in batches():
        step(model, optimizer, flow.tensor(batch))
    return numbers_of(model, optimizer)


def in_full_precision(matrix: Any, coefficients: Any, iterations: int, eps: Any) -> Any:
    """Muon's iterations without bfloat16, which makes 1e-3 of the order of sums."""
    c1, c3, c5 = coefficients
    x = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    x = x / jnp.maximum(jnp.sqrt(jnp.sum(x * x)), eps)
    for _ in range(iterations):
        square = x @ x.T
        x = c1 * x + (c3 * square + c5 * square @ square) @ x
    return x.T if matrix.shape[0] > matrix.shape[1] else x


@pytest.mark.parametrize("stage", [1, 2, 3])
@pytest.mark.parametrize("row", [*ROWS, *COMPOSED_ROWS, *OWN_ROWS], ids=lambda row: row.label)
def test_stages_are_the_steps_of_one_device(row: Row, stage: int, monkeypatch: Any) -> None:
    """After the calls of a graph comes an eager step."""
    monkeypatch.setattr("oneflow.primitives.operators.muon._orthogonalize", in_full_precision)
    model = make_model().to_global(PAIR, B)
    optimizer = row.make(model.parameters())
    graph = Training(model, optimizer, stage)
    on_both = [flow.tensor(batch).to_global(PAIR, B) for batch in batches()]
    *first, last = [batch.to_global(sbp=S(0)) for batch in on_both]
    for batch in first:
        graph(batch)
    step(model, optimizer, last)
    expected = expected_numbers(row)
    for numbers, theirs in zip(numbers_of(model, optimizer), expected, strict=True):
        np.testing.assert_allclose(numbers, theirs, rtol=1e-9, atol=1e-12)


class Gradients(flow.nn.Graph):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def build(self, x: Any) -> Any:
        loss = self.model(x).square().mean()
        loss.backward()
        return loss


@pytest.mark.parametrize("stages", [(0,), (2,), (0, 2), (2, 0)], ids=str)
def test_gradients_that_a_graph_hands_out_are_whole(stages: tuple[int, ...]) -> None:
    """Whatever ZeRO did to the parameters before the graph was recorded, or between its calls."""
    model = make_model().to_global(PAIR, B)
    x = flow.tensor(batches()[0]).to_global(PAIR, B).to_global(sbp=S(0))
    graph = Gradients(model)
    for stage in stages:
        if stage:
            # A step of 0, so that the parameters stay.
            Training(model, flow.optim.SGD(model.parameters(), lr=0.0), stage)(x)
        graph(x)
    alone = make_model()
    alone(flow.tensor(batches()[0])).square().mean().backward()
    for ours, theirs in zip(model.parameters(), alone.parameters(), strict=True):
        expected = len(stages) * theirs.grad.numpy()
        np.testing.assert_allclose(ours.grad.numpy(), expected, rtol=1e-9)
