"""Steps of an operator that are chosen by a value: `If` in ONNX."""

from __future__ import annotations

import jax.numpy as jnp
import pytest
from jax import lax

import oneflow as flow
from oneflow.primitives.registry import PRIMITIVES, primitive
from oneflow.tensor import call
from tests.onnx.runtime import assert_exported, operators_of


@pytest.fixture
def new_primitive():
    """Define a primitive that is forgotten after the test."""
    names = []

    def define(implementation):
        names.append(f"test_branches_{implementation.__name__}")
        return primitive(names[-1], implementation)

    yield define
    for name in names:
        del PRIMITIVES[name]


def halved_or_doubled(x):
    """With a value from around the branches, and one of them in the other."""

    def big():
        return lax.cond(x.min() > 0, lambda: x / 2, lambda: jnp.abs(x))

    return lax.cond(x.sum() > 1, big, lambda: x * 2)


def switched(x, place):
    """Two results; numbers beyond the branches mean the first and the last."""
    branches = [
        lambda y: (y, y.sum()),
        lambda y: (y * y, y.max()),
        lambda y: (-y, y.min()),
    ]
    return lax.switch(place[0], branches, x)


POSITIVE, MIXED, NEGATIVE = [1.0, 2.0, 3.0], [-1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]


@pytest.mark.parametrize("opset", [9, 13, 21])
def test_branches_chosen_by_a_value(new_primitive, opset):
    chosen = new_primitive(halved_or_doubled)
    others = [(flow.tensor(values),) for values in (MIXED, NEGATIVE)]
    proto = assert_exported(
        lambda x: call(chosen, x) + 1, flow.tensor(POSITIVE), others=others, opset=opset
    )
    (node,) = [member for member in proto.graph.node if member.op_type == "If"]
    inner = [member.op_type for a in node.attribute for member in a.g.node]
    assert inner.count("If") == 1
    assert operators_of(proto).count("Abs") == 0


def test_branches_chosen_by_a_number(new_primitive):
    chosen = new_primitive(switched)
    x = flow.tensor(MIXED)
    others = [(x, flow.tensor([place])) for place in (-3, 1, 2, 7)]
    assert_exported(lambda *args: call(chosen, *args), x, flow.tensor([0]), others=others)


def test_branches_with_a_symbolic_size(new_primitive):
    chosen = new_primitive(halved_or_doubled)
    others = [(flow.tensor(values),) for values in (MIXED * 2, NEGATIVE[:1])]
    assert_exported(
        lambda x: call(chosen, x), flow.tensor(POSITIVE), others=others, dynamic={0: {0: "n"}}
    )
