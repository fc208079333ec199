"""Equations and decompositions of matrices in exported models."""

from __future__ import annotations

import numpy as np
import pytest

import oneflow as flow
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx
from tests.onnx.runtime import assert_exported, exported, operators_of, run, session_of

DTYPES = [flow.float32, flow.float64]
SHAPES = [(1, 1), (2, 7, 4), (3, 1, 4, 6)]


def positive(*shape):
    """Positive definite matrices."""
    x = flow.randn(*shape)
    return x @ x.transpose(-1, -2) + 2 * flow.eye(shape[-1])


def symmetric(*shape, dtype=flow.float32):
    """Symmetric matrices."""
    x = flow.randn(*shape, dtype=dtype)
    return x + x.transpose(-1, -2)


def solved(a, b):
    """The solution of ``a @ x = b`` by way of `cholesky`."""
    lower = flow.linalg.cholesky(a)
    y = flow.linalg.solve_triangular(lower, b, upper=False)
    return lower, flow.linalg.solve_triangular(lower.transpose(-1, -2), y, upper=True)


def in_onnx_runtime(function, x):
    """What ONNX Runtime gives for a function of one tensor."""
    return run(session_of(exported(function, [x])), [x])


def rounding_errors(found, wanted):
    """The largest difference, in units of rounding of the largest element."""
    error = np.abs(np.asarray(found, np.float64) - np.asarray(wanted, np.float64)).max(initial=0)
    return error / max(np.abs(wanted).max(initial=0), 1) / np.finfo(found.dtype).eps


def assert_orthonormal(columns):
    product = np.swapaxes(columns, -1, -2) @ columns
    wanted = np.broadcast_to(np.eye(columns.shape[-1]), product.shape)
    assert rounding_errors(product, wanted) < 20


# --- equations


@pytest.mark.parametrize("batches", [((), ()), ((3,), ()), ((2, 1), (3,)), ((), (4,))])
def test_equations_are_solved(batches):
    (of_a, of_b), sizes = batches, (6, 2)
    arguments = [(positive(*of_a, 6, 6), flow.randn(*of_b, *sizes)) for _ in range(2)]
    assert_exported(solved, *arguments[0], others=arguments[1:])


def test_equations_with_any_matrices_are_solved():
    a, y = 3 * flow.eye(6) + flow.randn(2, 1, 6, 6), flow.randn(3, 6, 2)
    assert_exported(flow.linalg.solve, a, y, tolerance=1e-3)
    assert_exported(lambda a, y: flow.linalg.solve(a, y, left=False), a, y.transpose(-1, -2))


def test_rows_are_exchanged_for_the_largest_pivot():
    a = flow.tensor([[0.0, 2.0, 1.0], [1e-6, 1.0, 3.0], [4.0, 0.0, 1.0]])
    factors = in_onnx_runtime(lambda a: flow.linalg.lu_factor_ex(a), a)
    for found, wanted in zip(factors, flow.linalg.lu_factor_ex(a), strict=True):
        np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-6)
    singular = flow.tensor([[1.0, 2.0], [2.0, 4.0]])
    assert_exported(lambda a: flow.linalg.inv_ex(a).info, singular)


@pytest.mark.parametrize("function", [flow.linalg.inv, solved])
def test_the_batch_is_symbolic(function):
    count = 2 if function is solved else 1
    arguments = [(positive(n, 4, 4), flow.randn(n, 4, 1))[:count] for n in (2, 5)]
    dynamic = {place: {0: "batch"} for place in range(count)}
    assert_exported(function, *arguments[0], others=arguments[1:], dynamic=dynamic)


def test_info_says_which_matrices_have_no_factor():
    a = flow.stack([positive(3, 3), -positive(3, 3)])
    assert_exported(lambda a: flow.linalg.cholesky_ex(a), a)


def test_files_do_not_grow_with_the_matrices():
    small, large = (exported(flow.linalg.inv, [flow.randn(n, n)]) for n in (20, 100))
    assert operators_of(small) == operators_of(large)


@pytest.mark.parametrize("function", [flow.linalg.det, flow.linalg.slogdet])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [2, 5])
def test_determinants(function, dtype, size):
    assert_exported(function, flow.randn(3, size, size, dtype=dtype), opset=11)


# --- orthogonal factors


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_qr_has_the_signs_of_lapack(shape, dtype, mode):
    x = flow.randn(*shape, dtype=dtype)
    first = 1 if mode == "r" else 0
    found = in_onnx_runtime(lambda x: flow.linalg.qr(x, mode)[first:], x)
    for mine, wanted in zip(found, flow.linalg.qr(x, mode)[first:], strict=True):
        assert rounding_errors(mine, wanted.numpy()) < 100
    if mode != "r":
        assert_orthonormal(found[0])


def test_columns_that_are_reduced_already_are_let_alone():
    x = flow.tensor([[3.0, 1.0], [0.0, -2.0], [0.0, 0.0]])
    assert_exported(lambda x: flow.geqrf(x), x)


# --- singular values and eigenvalues

SPECIAL = {
    "of rank 1": flow.ones(6, 5),
    "zero": flow.zeros(5, 4),
    "one": flow.eye(4),
    "large": 1e30 * flow.randn(4, 4),
    "small": 1e-30 * flow.randn(3, 4),
    "Hilbert's": 1 / (flow.arange(8.0)[:, None] + flow.arange(8.0) + 1),
}


def check_singular_values(x):
    """Check that the factors are orthogonal and give the matrix, and the values are NumPy's."""
    left, values, right = in_onnx_runtime(lambda x: flow.linalg.svd(x), x)
    size = float(np.abs(x.numpy()).max()) or 1.0
    assert_orthonormal(left)
    assert_orthonormal(np.swapaxes(right, -1, -2))
    count = values.shape[-1]
    product = (left[..., :count] * (values / size)[..., None, :]) @ right[..., :count, :]
    assert rounding_errors(product, x.numpy() / size) < 50
    exact = np.linalg.svd(x.numpy().astype(np.float64), compute_uv=False)
    assert rounding_errors(values / size, exact / size) < 50
    assert np.array_equal(values, -np.sort(-values, -1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SHAPES, (40, 40)])
def test_singular_values(shape, dtype):
    check_singular_values(flow.randn(*shape, dtype=dtype))


@pytest.mark.parametrize("kind", SPECIAL)
def test_singular_values_of_special_matrices(kind):
    check_singular_values(SPECIAL[kind])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (1, 1), (2, 6, 6), (30, 30)])
def test_eigenvalues(shape, dtype):
    x = symmetric(*shape, dtype=dtype)
    values, vectors = in_onnx_runtime(lambda x: flow.linalg.eigh(x), x)
    assert_orthonormal(vectors)
    product = (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    assert rounding_errors(product, x.numpy()) < 50
    assert rounding_errors(values, np.linalg.eigvalsh(x.numpy())) < 50


def test_eigenvalues_of_both_signs_and_several_times():
    x = flow.diag(flow.tensor([2.0, -2.0, 2.0, 0.0, -2.0]))
    values, vectors = in_onnx_runtime(lambda x: flow.linalg.eigh(x), x)
    np.testing.assert_allclose(values, [-2, -2, 0, 2, 2], atol=1e-5)
    assert_orthonormal(vectors)


@pytest.mark.parametrize("function", [flow.linalg.svdvals, flow.linalg.eigvalsh])
def test_what_is_no_number_ends_the_sweeps(function):
    assert np.isnan(in_onnx_runtime(function, flow.full((4, 4), float("nan")))[0]).all()


def test_pseudo_inverses_and_least_squares():
    a, y = flow.randn(2, 6, 4), flow.randn(2, 6, 3)
    assert_exported(flow.linalg.pinv, a)
    assert_exported(lambda a, y: flow.linalg.lstsq(a, y).solution, a, y)
    assert_exported(flow.linalg.matrix_rank, flow.ones(5, 5))


@pytest.mark.parametrize("function", [flow.linalg.inv, flow.linalg.svdvals])
def test_exported_loops_are_imported(function):
    x = flow.randn(3, 4, 4)
    back = from_onnx(exported(function, [x]))
    np.testing.assert_allclose(back(x).numpy(), function(x).numpy(), rtol=1e-3, atol=1e-4)
