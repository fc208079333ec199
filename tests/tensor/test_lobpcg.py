"""Eigenvalues of large symmetric matrices by iteration."""

from __future__ import annotations

import numpy as np
import pytest

import oneflow as flow


def symmetric(size, batch=(), dtype=np.float64, seed=0):
    """Random matrices with eigenvalues that are well apart."""
    random = np.random.default_rng(seed)
    values = 1.5 ** np.arange(size)
    turned = np.linalg.qr(random.standard_normal((*batch, size, size)))[0]
    if np.issubdtype(dtype, np.complexfloating):
        turned = np.linalg.qr(turned + 1j * random.standard_normal((*batch, size, size)))[0]
    return ((turned * values) @ np.conj(np.swapaxes(turned, -1, -2))).astype(dtype), values


@pytest.mark.parametrize("largest", [None, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_eigenvalues_and_vectors(dtype, largest):
    a, values = symmetric(12, dtype=dtype)
    found, vectors = flow.lobpcg(flow.tensor(a), k=3, largest=largest, tol=1e-6)
    expected = values[:3] if largest is False else values[:-4:-1]
    assert vectors.shape == (12, 3)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4)
    np.testing.assert_allclose(
        a @ vectors.numpy(), vectors.numpy() * found.numpy(), atol=1e-4 * values[-1]
    )


def test_batches_and_preconditioners():
    a, values = symmetric(12, batch=(2,))
    found, vectors = flow.lobpcg(flow.tensor(a), k=2, n=3, iK=flow.tensor(np.linalg.inv(a)))
    assert vectors.shape == (2, 12, 2)
    np.testing.assert_allclose(found.numpy(), np.tile(values[:-3:-1], (2, 1)), rtol=1e-4)


@pytest.mark.parametrize("largest", [True, False])
def test_the_generalized_problem(largest):
    a, b = symmetric(9)[0], symmetric(9, seed=1)[0]
    found, vectors = flow.lobpcg(
        flow.tensor(a),
        X=flow.tensor(np.eye(9)[:, :2]),
        B=flow.tensor(b),
        largest=largest,
        tol=1e-9,
    )
    x = vectors.numpy()
    np.testing.assert_allclose(a @ x, b @ x * found.numpy(), atol=1e-6 * np.abs(a @ x).max())
    np.testing.assert_allclose(x.T @ b @ x, np.eye(2), atol=1e-8)
    expected = np.sort(np.linalg.eigvals(np.linalg.solve(b, a)).real)
    expected = expected[::-1][:2] if largest else expected[:2]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)


def test_eigenvalues_have_gradients():
    a, _ = symmetric(9)
    x = flow.tensor(a, requires_grad=True)
    values, vectors = flow.lobpcg(x, k=2, tol=1e-10)
    assert not vectors.requires_grad
    values[0].backward()
    first = vectors.numpy()[:, 0]
    np.testing.assert_allclose(x.grad.numpy(), np.outer(first, first), atol=1e-6)


def test_bad_arguments():
    with pytest.raises(ValueError, match="at least 3 x"):
        flow.lobpcg(flow.eye(5), k=2)
    with pytest.raises(RuntimeError, match="square"):
        flow.lobpcg(flow.ones(6, 5))
    with pytest.raises(NotImplementedError, match="tracker"):
        flow.lobpcg(flow.eye(5), tracker=print)
