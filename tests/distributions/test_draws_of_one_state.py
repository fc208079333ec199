"""Draws of a distribution are those of the tensor method that PyTorch draws with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import oneflow as flow
from oneflow import distributions as d

ONE, TWO = flow.full((5,), 1.5), flow.full((5,), 0.7)
TINY = flow.finfo(flow.float32).tiny

DRAWS: dict[str, tuple[Callable[[], d.Distribution], Callable[[], flow.Tensor]]] = {
    "exponential": (lambda: d.Exponential(ONE), lambda: flow.empty(5).exponential_() / ONE),
    "normal": (lambda: d.Normal(ONE, TWO), lambda: flow.empty(5).normal_() * TWO + ONE),
    "half normal": (lambda: d.HalfNormal(TWO), lambda: (flow.empty(5).normal_() * TWO).abs()),
    "half Cauchy": (lambda: d.HalfCauchy(TWO), lambda: (flow.empty(5).cauchy_() * TWO).abs()),
    "geometric": (
        lambda: d.Geometric(TWO),
        lambda: (flow.empty(5).uniform_(TINY, 1).log() / (-TWO).log1p()).floor(),
    ),
    "Bernoulli": (lambda: d.Bernoulli(TWO), lambda: flow.bernoulli(TWO)),
    "Poisson": (lambda: d.Poisson(ONE), lambda: flow.poisson(ONE)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_those_of_the_method(name: str) -> None:
    make, draw = DRAWS[name]
    flow.manual_seed(7)
    state = flow.get_rng_state()
    expected = draw()
    flow.set_rng_state(state)
    assert flow.allclose(make().sample(), expected, rtol=1e-4)


def test_gradients_of_exponential_draws_are_those_of_their_scale() -> None:
    rate = flow.tensor([0.5, 2.0], requires_grad=True)
    flow.manual_seed(1)
    state = flow.get_rng_state()
    unit = flow.empty(2).exponential_()
    flow.set_rng_state(state)
    d.Exponential(rate).rsample().sum().backward()
    assert rate.grad is not None
    assert flow.allclose(rate.grad, -unit / rate.detach() ** 2)
