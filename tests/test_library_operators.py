"""Operators of `torch.library`: what they give, record and refuse, against PyTorch."""

from __future__ import annotations

import itertools

import pytest
import torch

import oneflow as flow
from oneflow import mock_torch
from tests.autograd.both import agree

_numbers = itertools.count()


def _library(lib):
    """PyTorch, or what `oneflow` gives in its place."""
    if lib is torch:
        return torch
    with mock_torch.enable():
        import torch as mocked
    return mocked


class Scaled:
    """`x` times `k` as an operator with a keyword-only `m`, defined in one of several ways.

    Args:
        lib: the library.
        way: how: ``"custom"``, or the dispatch key of the kernel of a `Library`.
        gradient: whether it has a gradient by `register_autograd`; that is twice the true one.
    """

    def __init__(self, lib, way, gradient):
        self.t = _library(lib)
        name = f"scaled{next(_numbers)}"
        if way == "custom":
            self.t.library.custom_op(
                f"tests::{name}",
                self.kernel,
                mutates_args=(),
                schema="(Tensor x, float k=2., *, int m=1) -> Tensor",
            )
        else:
            self.home = self.t.library.Library("tests", "FRAGMENT")
            self.home.define(f"{name}(Tensor x, float k=2., *, int m=1) -> Tensor")
            self.home.impl(name, self.kernel, way)
        self.operator = getattr(self.t.ops.tests, name)
        if gradient:
            self.t.library.register_autograd(
                f"tests::{name}", self.backward, setup_context=self.setup
            )

    def kernel(self, x, k=2.0, *, m=1):
        return x * k * m

    def setup(self, ctx, inputs, keyword_only_inputs, output):
        (_, ctx.k), ctx.m = inputs, keyword_only_inputs["m"]

    def backward(self, ctx, g):
        assert ctx.needs_input_grad[0] is True
        return 2 * g * ctx.k * ctx.m, None


CALLS = {
    "by position": lambda op, x: op(x, 3.0),
    "by keyword": lambda op, x: op(x, k=3.0),
    "all by keyword": lambda op, x: op(m=5, k=3.0, x=x),
    "keyword-only": lambda op, x: op(x, m=5),
    "defaults": lambda op, x: op(x),
    "default overload": lambda op, x: op.default(x, k=3.0),
    "without gradient": lambda op, x: op(x.detach(), k=3.0),
    "unknown keyword": lambda op, x: op(x, q=3.0),
    "missing": lambda op, x: op(k=3.0),
}


WAYS = ["custom", "CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd"]
# PyTorch takes one function for a dispatch key, so that a gradient could not follow.
CASES = [*itertools.product(WAYS, [False, True]), ("Autograd", False)]


@pytest.mark.filterwarnings("ignore:.*an autograd kernel was not registered")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("way", "gradient"), CASES)
def test_values_and_gradients_are_pytorchs(way, gradient, name):
    def case(lib):
        x = lib.tensor([1.0, -2.0], requires_grad=True)
        try:
            y = CALLS[name](Scaled(lib, way, gradient).operator, x)
        except RuntimeError:
            return "refused"
        if not y.requires_grad:
            return y, False
        try:
            y.sum().backward()
        except RuntimeError as error:
            return y, "no autograd formula was registered" in str(error)
        return y, x.grad

    agree(case)


def _lists(lib):
    """Lists of tensors among arguments, results and gradients."""
    t = _library(lib)

    def kernel(xs, k=2.0):
        return [x * k for x in xs]

    name, schema = f"tests::lists{next(_numbers)}", "(Tensor[] xs, float k=2.) -> Tensor[]"
    operator = t.library.custom_op(name, kernel, mutates_args=(), schema=schema)
    operator.register_autograd(
        lambda ctx, grads: ([2 * g * ctx.k for g in grads], None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "k", inputs[1]),
    )
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    first, second = operator(k=3.0, xs=[x, x.detach()])
    first.sum().backward()
    return first, second, x.grad


def _several_results(lib):
    t = _library(lib)

    def kernel(x, index):
        return x * 2, index + 1

    name = f"tests::several{next(_numbers)}"
    schema = "(Tensor x, Tensor index) -> (Tensor, Tensor)"
    operator = t.library.custom_op(name, kernel, mutates_args=(), schema=schema)
    operator.register_autograd(lambda ctx, g, _: (3 * g, None))
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    value, index = operator(index=lib.tensor([1]), x=x)
    value.sum().backward()
    return value, index, index.requires_grad, x.grad


def _changed_argument(lib):
    t = _library(lib)

    def kernel(x, k=2.0):
        x.mul_(k)

    name, schema = f"tests::changed{next(_numbers)}", "(Tensor(a!) x, float k=2.) -> ()"
    operator = t.library.custom_op(name, kernel, mutates_args=("x",), schema=schema)
    leaf = lib.tensor([1.0, 2.0], requires_grad=True)
    x = leaf * 1
    assert operator(x, k=3.0) is None
    x.sum().backward()
    with pytest.raises(RuntimeError, match="non-functional operator"):
        operator.register_autograd(lambda ctx, g: g)
    return x, leaf.grad


def _kernel_for_autograd(lib):
    """One that reaches the kernel for the device through a `Function`."""
    t = _library(lib)
    name = f"above{next(_numbers)}"
    home = t.library.Library("tests", "FRAGMENT")
    home.define(f"{name}(Tensor x) -> Tensor")
    operator = getattr(t.ops.tests, name)

    class Above(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with t._C._AutoDispatchBelowAutograd():
                return operator(x)

        @staticmethod
        def backward(ctx, g):
            return g * 5

    home.impl(name, lambda x: x * 2, "CPU")
    home.impl(name, Above.apply, "Autograd")
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y = operator(x)
    y.sum().backward()
    with lib.no_grad():
        return y, x.grad, operator(x)


def _wrong_number_of_gradients(lib):
    t = _library(lib)
    name, schema = f"tests::wrong{next(_numbers)}", "(Tensor x) -> Tensor"
    operator = t.library.custom_op(name, lambda x: x * 2, mutates_args=(), schema=schema)
    operator.register_autograd(lambda ctx, g: (g, g, None))
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError):
        operator(x).sum().backward()


@pytest.mark.parametrize(
    "case",
    [_lists, _several_results, _changed_argument, _kernel_for_autograd, _wrong_number_of_gradients],
)
def test_operators_of_other_forms(case):
    agree(case)


def test_a_second_definition_takes_the_place_of_the_first():
    t = _library(flow)
    t.library.custom_op("tests::again", lambda x: x * 2, mutates_args=()).register_autograd(
        lambda ctx, g: g
    )
    second = t.library.custom_op("tests::again", lambda x, y: x * y, mutates_args=())
    x = flow.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"`tests::again`.*register_autograd"):
        second(x, y=3).sum().backward()
    assert t.ops.tests.again is second
