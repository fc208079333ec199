"""Muon's update, whose step is an orthogonal matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from oneflow.primitives.operators.optimizer import update_rule


class MuonNumbers(NamedTuple):
    """`fresh`: weight of the gradient in the momentum. `keep`: 1 - lr * decay."""

    lr: Any
    momentum: Any
    fresh: Any
    keep: Any
    eps: Any


@update_rule("muon_update", MuonNumbers, axes=None, differentiable=False)
def muon_update(
    p, g, states, n, *, nesterov: bool, coefficients: tuple[float, ...], iterations: int, scale: str
):
    """Steps along the orthogonal matrix next to the momentum, which is the state."""
    momentum = states[0] + n.fresh * (g - states[0])
    direction = g + n.momentum * (momentum - g) if nesterov else momentum
    step = _orthogonalize(direction, coefficients, iterations, n.eps).astype(p.dtype)
    return p * n.keep - n.lr * _scale_of(scale, *p.shape) * step, momentum


def _scale_of(scale: str, rows: int, columns: int) -> float:
    """The factor of the learning rate of a matrix with this shape."""
    if scale == "match_rms_adamw":
        return 0.2 * max(rows, columns) ** 0.5
    return max(1.0, rows / columns) ** 0.5


def _orthogonalize(matrix, coefficients: tuple[float, ...], iterations: int, eps):
    """An approximation of ``U @ Vh`` for ``matrix = U @ diag(S) @ Vh``, in bfloat16.

    Newton-Schulz iterations with a polynomial of odd powers, which takes singular values to the
    neighbourhood of 1: Jordan et al., "Muon: an optimizer for hidden layers in neural networks"
    (2024).
    """
    c1, c3, c5 = coefficients
    is_transposed = matrix.shape[0] > matrix.shape[1]
    x = (matrix.T if is_transposed else matrix).astype(jnp.bfloat16)
    norm = jnp.sqrt(jnp.sum(jnp.square(x.astype(jnp.float32))))
    x = _to_bfloat16(x / jnp.maximum(norm, eps).astype(jnp.bfloat16))
    for _ in range(iterations):
        square = _to_bfloat16(_product(x, x.T))
        powers = _to_bfloat16(c3 * square.astype(jnp.float32) + c5 * _product(square, square))
        x = _to_bfloat16(c1 * x.astype(jnp.float32) + _product(powers, x))
    return x.T if is_transposed else x


def _product(a, b):
    return jnp.matmul(a, b, preferred_element_type=jnp.float32)


def _to_bfloat16(array):
    return array.astype(jnp.bfloat16)
