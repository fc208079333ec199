"""Functions in place of nested and sparse tensors, as methods and as functions of a module."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oneflow as flow
from oneflow.nested.dispatch import NESTED_FUNCTIONS
from oneflow.nested.operators import pointwise
from tests.in_place import overrides_enabled

_ARGUMENTS = {"add": (2.0,), "mul": (2.0,), "sub": (2.0,), "div": (2.0,), "pow": (2.0,)}
NAMES = sorted(
    name
    for name, compute in NESTED_FUNCTIONS.items()
    if compute is pointwise
    and hasattr(flow.Tensor, f"{name}_")
    and (name in _ARGUMENTS or name in {"abs", "relu", "tanh", "neg", "sgn", "sin", "exp", "floor"})
)


def _nested(requires_grad: bool = False) -> tuple[list[flow.Tensor], flow.Tensor]:
    parts = [flow.tensor([0.5, -0.25]), flow.tensor([0.75])]
    leaves = [part.requires_grad_(requires_grad) for part in parts]
    return leaves, flow.nested.as_nested_tensor(leaves)


@pytest.mark.parametrize("is_function", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_writes_give_what_the_function_gives(name: str, is_function: bool) -> None:
    _, x = _nested()
    # OneFlow has no function of some names.
    home = flow if is_function and hasattr(flow, f"{name}_") else flow.Tensor
    function = getattr(home, f"{name}_")
    expected = [getattr(part, name)(*_ARGUMENTS.get(name, ())) for part in x.unbind()]
    assert function(x, *_ARGUMENTS.get(name, ())) is x
    for one, other in zip(x.unbind(), expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", ["tanh", "sin", "exp", "neg"])
def test_gradients_flow_through_writes(name: str) -> None:
    leaves, x = _nested(requires_grad=True)
    y = x * 1
    getattr(flow.Tensor, f"{name}_")(y)
    flow.nested.to_padded_tensor(y, 0.0).sum().backward()
    for leaf in leaves:
        other = leaf.detach().requires_grad_()
        getattr(other, name)().sum().backward()
        np.testing.assert_allclose(leaf.grad.numpy(), other.grad.numpy(), rtol=1e-5)


def test_writes_where_methods_ask_for_overrides() -> None:
    with overrides_enabled():
        _, x = _nested()
        assert flow.Tensor.sin_(x) is x
        assert x.unbind()[1].tolist() == pytest.approx([math.sin(0.75)])


def test_functions_of_sparse_tensors_write_as_methods_do() -> None:
    for write in (flow.neg_, flow.Tensor.neg_, lambda x: x.neg_()):
        x = flow.tensor([0.0, 2.0]).to_sparse()
        assert write(x) is x
        assert x.to_dense().tolist() == [0.0, -2.0]


def test_detach_cuts_nested_tensors_off_their_history() -> None:
    _, x = _nested(requires_grad=True)
    y = x * 2
    assert y.detach_() is y
    assert not y.requires_grad
    assert [part.tolist() for part in y.unbind()] == [[1.0, -0.5], [1.5]]


def test_functions_that_write_take_tensors_made_of_others() -> None:
    _, x = _nested(requires_grad=True)
    y = x * 2
    assert flow.detach_(y) is y
    assert not y.requires_grad
    assert flow.fill_(y, 3.0) is y
    assert [part.tolist() for part in y.unbind()] == [[3.0, 3.0], [3.0]]
    assert [part.tolist() for part in flow.zero_(y).unbind()] == [[0.0, 0.0], [0.0]]
    assert flow.zero_(flow.eye(2).to_sparse()).to_dense().tolist() == [[0.0, 0.0], [0.0, 0.0]]
