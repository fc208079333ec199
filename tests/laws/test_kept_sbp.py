"""Operators that keep the shape keep the SBP, if they do not work along the split dimension.

Dimensions of size 1 and 0 are split like all others: their elements lie on one device, or nowhere.
"""

import itertools

import numpy as np
import pytest

import oneflow as flow
from oneflow.nn import functional as F

S, B = flow.sbp.split, flow.sbp.broadcast
PAIR = flow.placement("cpu", [0, 1])
GRID = flow.placement("cpu", [[0, 1], [2, 3]])
SHAPES = [(1, 3), (3, 1), (1, 1), (0, 3), (3, 0), (1,), (0,), (2, 1, 3), (1, 2, 1)]


def whole(x):
    return [B] * x.placement.ndim


# Elementwise functions of a tensor of any shape.
ELEMENTWISE = {
    "clone": lambda x: x.clone(),
    "detach": lambda x: x.detach().clone(),
    "contiguous": lambda x: x.contiguous(),
    "cast": lambda x: x.to(flow.float64),
    "bool": lambda x: x.bool(),
    "negative": lambda x: -x,
    "exp": flow.exp,
    "relu": flow.relu,
    "gelu": F.gelu,
    "add a number": lambda x: x + 1,
    "add itself": lambda x: x + x,
    "add a broadcast tensor": lambda x: x + flow.ones(1, placement=x.placement, sbp=whole(x)),
    "add another": lambda x: x + x.to_global(sbp=whole(x)),
    "compare": lambda x: x > 0,
    "where": lambda x: flow.where(x > 0, x, x * 2),
    "lerp": lambda x: flow.lerp(x, x + 1, 0.5),
    "clamp": lambda x: x.clamp(0, 1),
    "isnan": flow.isnan,
    "pow": lambda x: x**3,
    "dropout": lambda x: F.dropout(x, 0.5),
    "masked_fill": lambda x: x.masked_fill(x > 0, 2.0),
    "in place": lambda x: x.clone().mul_(2),
    "fill": lambda x: x.clone().fill_(2),
    "zero": lambda x: x.clone().zero_(),
    "random in place": lambda x: x.clone().uniform_(),
    "copy": lambda x: x.clone().copy_(x + 1),
    "loss": lambda x: F.mse_loss(x, x + 1, reduction="none"),
    "reshape": lambda x: x.reshape(x.shape),
    "gradient": lambda x: flow.autograd.grad((x.requires_grad_().exp() * 2).sum(), x)[0],
    "zeros_like": flow.zeros_like,
    "ones_like": flow.ones_like,
    "empty_like": flow.empty_like,
    "full_like": lambda x: flow.full_like(x, 3),
    "rand_like": flow.rand_like,
    "randn_like": flow.randn_like,
    "randint_like": lambda x: flow.randint_like(x, 0, 5),
    "new_zeros": lambda x: x.new_zeros(x.shape),
    "new_ones": lambda x: x.new_ones(x.shape),
    "new_empty": lambda x: x.new_empty(x.shape),
    "new_full": lambda x: x.new_full(x.shape, 3),
    "new_tensor": lambda x: x.new_tensor(np.zeros(x.shape)),
    "new_tensor of a tensor": lambda x: x.new_tensor(flow.zeros(*x.shape)),
    "new of sizes": lambda x: x.new(*x.shape),
    "new of data": lambda x: x.new(np.zeros(x.shape)),
}
# Along a dimension that is not split.
ALONG = {
    "softmax": lambda x, dim: flow.softmax(x, dim),
    "log_softmax": lambda x, dim: F.log_softmax(x, dim),
    "cumsum": lambda x, dim: flow.cumsum(x, dim),
    "sort": lambda x, dim: flow.sort(x, dim)[0],
    "flip": lambda x, dim: flow.flip(x, [dim]),
    "roll": lambda x, dim: flow.roll(x, 1, dim),
    "normalize": lambda x, dim: F.normalize(x, dim=dim),
    "mean": lambda x, dim: x.mean(dim, keepdim=True),
    "cat": lambda x, dim: flow.cat([x, x], dim),
    "narrow": lambda x, dim: x.narrow(dim, 0, x.shape[dim]),
}


def tensor(shape, placement, *dims):
    return flow.ones(*shape, placement=placement, sbp=[S(dim) for dim in dims])


def check(found, x, what):
    assert found.sbp == x.sbp, f"{what} of {tuple(x.shape)} {x.sbp}: {found.sbp}"


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name):
    for shape in SHAPES:
        for dim in range(len(shape)):
            x = tensor(shape, PAIR, dim)
            found = ELEMENTWISE[name](x)
            assert found.shape == x.shape
            check(found, x, name)
    for dims in itertools.product(range(2), repeat=2):
        x = tensor((1, 3), GRID, *dims)
        check(ELEMENTWISE[name](x), x, name)


@pytest.mark.parametrize("name", ALONG)
def test_along_another_dimension(name):
    for shape in [sizes for sizes in SHAPES if len(sizes) > 1 and 0 not in sizes]:
        for split, dim in itertools.permutations(range(len(shape)), 2):
            x = tensor(shape, PAIR, split)
            check(ALONG[name](x, dim), x, f"{name} along {dim}")


# Functions that add a dimension of one element at `at`, or fill it; the others only move.
ADDING = {
    "unsqueeze": lambda x, at: x.unsqueeze(at),
    "view": lambda x, at: x.view(*x.shape[:at], 1, *x.shape[at:]),
    "reshape": lambda x, at: x.reshape(*x.shape[:at], 1, *x.shape[at:]),
    "index": lambda x, at: x[(slice(None),) * at + (None,)],
    "expand": lambda x, at: x.unsqueeze(at).expand(*x.shape[:at], 3, *x.shape[at:]),
    "stack": lambda x, at: flow.stack([x, x], at),
    "gradient": lambda x, at: flow.autograd.grad(x.requires_grad_().unsqueeze(at).exp().sum(), x)[
        0
    ].unsqueeze(at),
}


@pytest.mark.parametrize("name", ADDING)
def test_a_split_moves_with_its_dimension(name):
    """One dimension of one element, or two, stand before, between or behind the others."""
    for shape in [(4, 6), (2, 4, 6), (1, 4, 6), (4, 1, 6), (2,)]:
        for dim, at in itertools.product(range(len(shape)), range(len(shape) + 1)):
            if shape[dim] == 1:
                continue
            x = tensor(shape, PAIR, dim)
            after = dim + (at <= dim)
            result = ADDING[name](x, at)
            assert result.sbp == (S(after),), f"{name} at {at} of {shape} split along {dim}"
            if result.shape[at] == 1:
                check(result.squeeze(at), x, f"squeeze({at}) after {name}")


def test_new_tensors_of_other_shapes():
    x = tensor((4, 6), PAIR, 1)
    for found in (
        x.new_zeros(8),
        x.new_ones(()),
        x.new_full((3,), 1),
        x.new_tensor([1, 2]),
        x.new(3),
    ):
        assert found.sbp == (B,)
    for found in (x.new_zeros(1, 3), x.new_empty((1, 2, 3)), x.new_tensor([[1, 2]])):
        assert found.sbp == (S(1),)
    assert x.new_zeros(4, 6, sbp=S(0)).sbp == (S(0),)
    assert x.new_zeros(4, 6, device="cpu").is_local
    sums = flow.ones(4, placement=PAIR, sbp=flow.sbp.partial_sum)
    assert sums.new_zeros(4).sbp == (B,)
    assert x.new_tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]


def test_products():
    left, right = tensor((1, 3, 4), PAIR, 0), tensor((1, 4, 5), PAIR, 0)
    check(left @ right, left, "matmul")
    check(flow.bmm(left, right), left, "bmm")
    check(flow.einsum("bij,bjk->bik", left, right), left, "einsum")
    row = tensor((1, 4), PAIR, 0)
    check(F.linear(row, flow.ones(5, 4, placement=PAIR, sbp=B)), row, "linear")
    check(F.layer_norm(row, (4,)), row, "layer_norm")


def test_what_is_not_split_is_not_split_along_one_element():
    """It would leave all work to one device."""
    x = flow.ones(1, 3, placement=PAIR, sbp=flow.sbp.partial_sum)
    assert x.exp().sbp != (S(0),)
    x = tensor((1, 3), PAIR, 1)
    assert flow.softmax(x, 1).sbp == (B,)
    wide = flow.ones(4, 3, placement=PAIR, sbp=B)
    assert (tensor((1, 3), PAIR, 0) + wide).sbp == (B,)
    assert (tensor((1, 3), PAIR, 1) + wide).sbp == (S(1),)


def test_values_of_one_split_element():
    rng = np.random.default_rng(0)
    array = rng.standard_normal((1, 3, 1)).astype(np.float32)
    for dim in range(3):
        x = flow.tensor(array, placement=PAIR, sbp=S(dim))
        y = (flow.softmax(x * 2, 1) + x).clone()
        expected = np.exp(2 * array) / np.exp(2 * array).sum(1, keepdims=True) + array
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5)
