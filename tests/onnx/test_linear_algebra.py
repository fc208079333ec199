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
    """The result of ONNX Runtime for a function of one tensor."""
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


# --- eigenvalues of any square matrices

SQUARE = {
    "random": lambda: flow.randn(3, 6, 6),
    "one number": lambda: flow.tensor([[2.0]]),
    "zero": lambda: flow.zeros(3, 3),
    "one": lambda: flow.eye(4),
    "of rank 1": lambda: flow.ones(5, 5),
    "rotation": lambda: flow.tensor([[0.0, -1.0], [1.0, 0.0]]),
    "permutation": lambda: flow.eye(5).roll(1, 0),
    "its inverse": lambda: flow.eye(5).roll(-1, 0),
    "Jordan's": lambda: flow.diag(flow.ones(3), 1) + 2 * flow.eye(4),
    "triangular": lambda: flow.randn(5, 5).triu(),
    "not normal": lambda: flow.diag(flow.arange(8.0)) + 100 * flow.randn(8, 8).triu(1),
    "symmetric": lambda: flow.randn(4, 4) + flow.randn(4, 4).T,
    "large": lambda: 1e30 * flow.randn(4, 4),
    "small": lambda: 1e-30 * flow.randn(4, 4),
    "complex": lambda: flow.complex(flow.randn(2, 5, 5), flow.randn(2, 5, 5)),
}


def eigen_pairs(x):
    """Eigenvalues and eigenvectors in ONNX Runtime, complex numbers given and taken as pairs."""

    def function(given):
        matrices = flow.view_as_complex(given) if x.is_complex() else given
        values, vectors = flow.linalg.eig(matrices)
        return flow.view_as_real(values), flow.view_as_real(vectors), matrices.real

    given = flow.view_as_real(x) if x.is_complex() else x
    values, vectors, _ = in_onnx_runtime(function, given)
    return (pairs[..., 0] + 1j * pairs[..., 1] for pairs in (values, vectors))


def check_eigenvalues(x):
    """Check that vectors have length 1, and the matrix multiplies them by the values."""
    values, vectors = eigen_pairs(x)
    matrices = x.numpy()
    size = float(np.abs(matrices).max()) or 1.0
    product = (matrices / size) @ vectors
    wanted = vectors * (values / size)[..., None, :]
    eps = np.finfo(values.real.dtype).eps
    assert np.abs(product - wanted).max() < 20 * x.shape[-1] * eps
    assert np.abs(np.linalg.norm(vectors, axis=-2) - 1).max() < 20 * eps
    traces = np.trace(matrices / size, axis1=-2, axis2=-1)
    assert np.abs((values / size).sum(-1) - traces).max() < 50 * x.shape[-1] * eps


@pytest.mark.parametrize("kind", SQUARE)
def test_eigenvalues_of_matrices_that_are_not_symmetric(kind):
    check_eigenvalues(SQUARE[kind]())


@pytest.mark.parametrize("size", [2, 5, 20])
def test_eigenvalues_in_double_precision(size):
    x = flow.randn(2, size, size, dtype=flow.float64)
    check_eigenvalues(x)
    found = in_onnx_runtime(lambda x: flow.view_as_real(flow.linalg.eigvals(x)), x)[0]
    for mine, wanted in zip(found, np.linalg.eigvals(x.numpy()), strict=True):
        distances = np.abs((mine[:, 0] + 1j * mine[:, 1])[:, None] - wanted)
        assert distances.min(0).max() < 1e-10
        assert distances.min(1).max() < 1e-10


def test_eigenvectors_of_one_value_are_independent():
    _, vectors = eigen_pairs(flow.eye(4))
    assert abs(np.linalg.det(vectors)) == pytest.approx(1)


def test_largest_elements_of_eigenvectors_are_real():
    _, vectors = eigen_pairs(flow.randn(6, 6))
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(-2)[None], -2)
    assert np.abs(largest.imag).max() < 1e-6
    assert largest.real.min() > 0


# --- symbolic sizes


def product_of_factors(x):
    """A matrix from its singular value decomposition, and the singular values."""
    left, values, right = flow.linalg.svd(x, full_matrices=False)
    return (left * values.unsqueeze(-2)) @ right, values


def full_factors(x):
    """The products of orthogonal factors with themselves."""
    left, _, right = flow.linalg.svd(x)
    return left @ left.transpose(-1, -2), right @ right.transpose(-1, -2)


def from_qr(x):
    """A matrix from its orthogonal and triangular factors."""
    q, r = flow.linalg.qr(x)
    return q @ r, flow.triu(r) - r


def from_eigh(x):
    """A symmetric matrix from its eigenvalues and eigenvectors."""
    values, vectors = flow.linalg.eigh(x + x.transpose(-1, -2))
    return (vectors * values.unsqueeze(-2)) @ vectors.transpose(-1, -2), values


def from_eig(x):
    """The lengths of eigenvectors, with what the matrix does other than to stretch them."""
    values, vectors = flow.linalg.eig(x)
    difference = x.to(vectors.dtype) @ vectors - vectors * values.unsqueeze(-2)
    return 1 + difference.abs(), flow.view_as_real(values).sum((-2, -1))


RECTANGULAR = [product_of_factors, full_factors, from_qr, flow.linalg.pinv, flow.linalg.matrix_rank]
OF_SQUARES = [from_eigh, from_eig, flow.linalg.inv, flow.linalg.cond]


@pytest.mark.parametrize("function", RECTANGULAR)
@pytest.mark.parametrize(
    "sizes", [[(7, 4), (9, 4), (4, 4)], [(3, 5), (3, 8)]], ids=["tall", "wide"]
)
def test_rows_or_columns_are_symbolic(function, sizes):
    arguments = [(flow.randn(2, *size),) for size in sizes]
    dynamic = {0: {0: "batch", 1 if sizes[0][0] > sizes[0][1] else 2: "count"}}
    assert_exported(function, *arguments[0], others=arguments[1:], dynamic=dynamic, tolerance=1e-3)


@pytest.mark.parametrize("function", RECTANGULAR)
def test_rows_and_columns_are_symbolic(function):
    arguments = [(flow.randn(*shape),) for shape in [(5, 7), (7, 5), (6, 6), (1, 3), (9, 2)]]
    dynamic = {0: {0: "rows", 1: "columns"}}
    assert_exported(function, *arguments[0], others=arguments[1:], dynamic=dynamic, tolerance=1e-3)


@pytest.mark.parametrize("function", [*RECTANGULAR, *OF_SQUARES])
def test_the_size_of_square_matrices_is_symbolic(function):
    arguments = [(positive(size, size) + flow.randn(size, size),) for size in (4, 5, 9, 1)]
    dynamic = {0: {0: "size", 1: "size"}}
    assert_exported(function, *arguments[0], others=arguments[1:], dynamic=dynamic, tolerance=1e-3)


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
