"""Triangular matrices in exported models."""

from __future__ import annotations

import pytest

import oneflow as flow
from oneflow_onnx.oneflow2onnx.errors import UnsupportedOperatorsError
from tests.onnx.runtime import assert_exported, exported


def positive(*shape):
    """Positive definite matrices."""
    x = flow.randn(*shape)
    return x @ x.transpose(-1, -2) + 2 * flow.eye(shape[-1])


def solved(a, b):
    """The solution of ``a @ x = b`` by way of `cholesky`."""
    lower = flow.linalg.cholesky(a)
    y = flow.linalg.solve_triangular(lower, b, upper=False)
    return lower, flow.linalg.solve_triangular(lower.transpose(-1, -2), y, upper=True)


@pytest.mark.parametrize("batches", [((), ()), ((3,), ()), ((2, 1), (3,)), ((), (4,))])
def test_equations_are_solved(batches):
    (of_a, of_b), sizes = batches, (6, 2)
    arguments = [(positive(*of_a, 6, 6), flow.randn(*of_b, *sizes)) for _ in range(2)]
    assert_exported(solved, *arguments[0], others=arguments[1:])


def test_the_batch_is_symbolic():
    arguments = [(positive(n, 4, 4), flow.randn(n, 4, 1)) for n in (2, 5)]
    dynamic = {0: {0: "batch"}, 1: {0: "batch"}}
    assert_exported(solved, *arguments[0], others=arguments[1:], dynamic=dynamic)


def test_info_says_which_matrices_have_no_factor():
    a = flow.stack([positive(3, 3), -positive(3, 3)])
    assert_exported(lambda a: flow.linalg.cholesky_ex(a).info, a)


def test_large_matrices_are_refused():
    with pytest.raises(UnsupportedOperatorsError, match="more than 64 rows"):
        exported(flow.linalg.cholesky, [positive(65, 65)])


@pytest.mark.parametrize("size", [2, 5])
def test_determinants(size):
    assert_exported(flow.linalg.det, flow.randn(3, size, size), opset=11)
