"""The search for the least sum of costs, against trying everything."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from oneflow.passes import minimize as module
from oneflow.passes.minimize import minimize, total


@st.composite
def problems(draw):
    """Up to six nodes with up to three states, and costs of some pairs."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=6))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    nodes = [random.integers(0, 9, size).astype(float) for size in sizes]
    pairs = {}
    for i, j in itertools.permutations(range(len(sizes)), 2):
        if (j, i) not in pairs and draw(st.booleans()):
            pairs[i, j] = random.integers(0, 9, (sizes[i], sizes[j])).astype(float)
    start = [int(random.integers(size)) for size in sizes]
    return nodes, pairs, start


@settings(max_examples=100, deadline=None)
@given(problems())
def test_the_least_is_found(problem):
    nodes, pairs, start = problem
    every = itertools.product(*(range(len(costs)) for costs in nodes))
    least = min(total(nodes, pairs, states) for states in every)
    assert total(nodes, pairs, minimize(nodes, pairs, start)) == pytest.approx(least)


@settings(max_examples=100, deadline=None)
@given(problems())
def test_never_worse_than_the_start_with_small_tables(problem):
    nodes, pairs, start = problem
    most, module._MAX_TABLE_SIZE = module._MAX_TABLE_SIZE, 9
    try:
        found = minimize(nodes, pairs, start)
    finally:
        module._MAX_TABLE_SIZE = most
    assert total(nodes, pairs, found) <= total(nodes, pairs, start)
