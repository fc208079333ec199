"""Decompositions without XLA: bit for bit those that XLA's calls of LAPACK give."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import oneflow as flow
from oneflow.interpreter.numpy_function import NumpyFunction
from oneflow.interpreter.rules import UnsupportedEquation
from oneflow.primitives.trace import Trace
from tests.oracle import eager_mode

pytestmark = pytest.mark.usefixtures("jax_x64")

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
ALL_SHAPES = [(1, 1), (3, 3), (65, 65), (3, 5), (5, 3), (40, 70), (70, 40), (2, 2, 4, 3), (0, 3, 3)]
SQUARE_SHAPES = [(1, 1), (2, 2), (5, 5), (70, 70), (2, 3, 3), (0, 3, 3)]


def numpy_function(function, *arrays):
    """A function of JAX's on NumPy."""
    closed = jax.make_jaxpr(function)(*arrays)
    return NumpyFunction(Trace(closed.jaxpr, closed.consts))


def solve_both(a, **options):
    """Triangular systems with the matrices on both sides."""
    return [
        lax.linalg.triangular_solve(a, a + 1, left_side=left, lower=lower, **options)
        for left, lower in itertools.product((False, True), repeat=2)
    ]


SQUARE = {
    "cholesky": lambda a: lax.linalg.cholesky(a, symmetrize_input=False),
    "eigh": lambda a: lax.linalg.eigh(a),
    "eigh of the upper triangle": lambda a: lax.linalg.eigh(a, lower=False, symmetrize_input=False),
    "inverse": jnp.linalg.inv,
    "triangular": solve_both,
    "triangular, transposed": lambda a: solve_both(a, transpose_a=True),
    "triangular, adjoint": lambda a: solve_both(a, transpose_a=True, conjugate_a=True),
    "triangular, conjugate": lambda a: solve_both(a, conjugate_a=True, unit_diagonal=True),
}
ANY = {
    "LU": lax.linalg.lu,
    "QR": lambda a: lax.linalg.qr(a, full_matrices=False),
    "full QR": lambda a: lax.linalg.qr(a, full_matrices=True),
    "raw QR": lambda a: jnp.linalg.qr(a, mode="raw"),
    "SVD": lambda a: lax.linalg.svd(a, full_matrices=False),
    "full SVD": lambda a: lax.linalg.svd(a, full_matrices=True),
    "singular values": lambda a: lax.linalg.svd(a, compute_uv=False),
}
CASES = [
    *itertools.product(SQUARE.items(), SQUARE_SHAPES),
    *itertools.product(ANY.items(), ALL_SHAPES),
]


def samples(shape, dtype):
    """Matrices at random, positive definite if they are square, singular, and with NaN."""
    random = np.random.default_rng(0)
    a = random.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * random.standard_normal(shape)
    yield a.astype(dtype)
    if shape[-1] == shape[-2]:
        yield (a @ a.conj().swapaxes(-1, -2) + np.eye(shape[-1])).astype(dtype)
    for value in (0, np.nan):
        a[..., 0, :] = value
        yield a.astype(dtype)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("named", "shape"), CASES)
def test_results_are_those_of_xla(named, shape, dtype):
    _, function = named
    with jax.enable_x64(True):
        compiled = jax.jit(function)
        for a in samples(shape, dtype):
            with np.errstate(all="ignore"):
                cold = numpy_function(function, a)(a)
            hot = jax.tree.leaves(compiled(a))
            for mine, theirs in zip(cold, hot, strict=True):
                assert mine.dtype == theirs.dtype
                np.testing.assert_array_equal(mine, np.asarray(theirs))


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (2, 0, 3)])
def test_matrices_without_elements_are_left_to_xla(shape):
    for function in ANY.values():
        with pytest.raises(UnsupportedEquation):
            numpy_function(function, np.ones(shape, np.float32))
    assert flow.linalg.solve(flow.eye(3), flow.ones(3, 0)).shape == (3, 0)


@pytest.mark.parametrize("mode", ["cold", "compiled"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_singular_values_of_what_is_not_finite_are_nan(value, mode):
    """Not a call that never returns; other matrices of the batch keep theirs."""
    a = np.ones((2, 3, 3), np.float32) + np.eye(3, dtype=np.float32)
    a[0, 0, 0] = value
    with eager_mode(mode):
        x = flow.tensor(a)
        for found in (flow.linalg.svd(x).S, flow.linalg.svdvals(x), flow.linalg.pinv(x)):
            assert flow.isnan(found[0]).all()
            assert flow.isfinite(found[1]).all()
