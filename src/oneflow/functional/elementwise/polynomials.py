"""Orthogonal polynomials. Degrees are integers: a part after the point is cut off.

Below degree 0 they are 0, as in PyTorch. Unlike there, they can be differentiated.
"""

from __future__ import annotations

from typing import Any

from oneflow.functional.registry import function
from oneflow.primitives.operators import polynomials as p
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call
from oneflow.tensor.operands import promote_operands, require_tensor
from oneflow.tensor.tensor import Tensor


@function(namespace="special", method=False)
def chebyshev_polynomial_t(input: Any, n: Any) -> Tensor:
    """Chebyshev polynomial of the first kind, of degree `n`.

    Args:
        input: tensor or number.
        n: degree, a tensor or number; the two broadcast.

    Example:
        >>> import oneflow as flow
        >>> flow.special.chebyshev_polynomial_t(flow.tensor([0.5, 2.0]), 3)
        tensor([-1., 26.], dtype=oneflow.float32)
    """
    return _of_degree(p.chebyshev_t, input, n)


@function(namespace="special", method=False)
def chebyshev_polynomial_u(input: Any, n: Any) -> Tensor:
    """Chebyshev polynomial of the second kind, of degree `n`.

    Args:
        input: tensor or number.
        n: degree, a tensor or number; the two broadcast.

    Example:
        >>> import oneflow as flow
        >>> flow.special.chebyshev_polynomial_u(flow.tensor([0.5, 2.0]), 3)
        tensor([-1., 56.], dtype=oneflow.float32)
    """
    return _of_degree(p.chebyshev_u, input, n)


@function(namespace="special", method=False)
def chebyshev_polynomial_v(input: Any, n: Any) -> Tensor:
    """Chebyshev polynomial of the third kind, of degree `n`.

    Args:
        input: tensor or number.
        n: degree, a tensor or number; the two broadcast.

    Example:
        >>> import oneflow as flow
        >>> flow.special.chebyshev_polynomial_v(flow.tensor([0.5, 2.0]), 3)
        tensor([-1., 41.], dtype=oneflow.float32)
    """
    return _of_degree(p.chebyshev_v, input, n)


@function(namespace="special", method=False)
def chebyshev_polynomial_w(input: Any, n: Any) -> Tensor:
    """Chebyshev polynomial of the fourth kind, of degree `n`.

    Args:
        input: tensor or number.
        n: degree, a tensor or number; the two broadcast.

    Example:
        >>> import oneflow as flow
        >>> flow.special.chebyshev_polynomial_w(flow.tensor([0.5, 2.0]), 3)
        tensor([-1., 71.], dtype=oneflow.float32)
    """
    return _of_degree(p.chebyshev_w, input, n)


@function(namespace="special", method=False)
def shifted_chebyshev_polynomial_t(input: Any, n: Any) -> Tensor:
    """Chebyshev polynomial of the first kind of ``2 * input - 1``, of degree `n`.

    Args:
        input: tensor or number.
        n: degree, a tensor or number; the two broadcast.

    Example:
        >>> import oneflow as flow
        >>> flow.special.shifted_chebyshev_polynomial_t(flow.tensor([0.5, 2.0]), 3)
        tensor([-0., 99.], dtype=oneflow.float32)
    """
    return _of_degree(p.chebyshev_t, input, n, shift=True)


@function(namespace="special", method=False)
def shifted_chebyshev_polynomial_u(input: Any, n: Any) -> Tensor:
    """Chebyshev polynomial of the second kind of ``2 * input - 1``, of degree `n`.

    Args:
        input: tensor or number.
        n: degree, a tensor or number; the two broadcast.

    Example:
        >>> import oneflow as flow
        >>> flow.special.shifted_chebyshev_polynomial_u(flow.tensor([0.5, 2.0]), 3)
        tensor([ -0., 204.], dtype=oneflow.float32)
    """
    return _of_degree(p.chebyshev_u, input, n, shift=True)


@function(namespace="special", method=False)
def shifted_chebyshev_polynomial_v(input: Any, n: Any) -> Tensor:
    """Chebyshev polynomial of the third kind of ``2 * input - 1``, of degree `n`.

    Args:
        input: tensor or number.
        n: degree, a tensor or number; the two broadcast.

    Example:
        >>> import oneflow as flow
        >>> flow.special.shifted_chebyshev_polynomial_v(flow.tensor([0.5, 2.0]), 3)
        tensor([  1., 169.], dtype=oneflow.float32)
    """
    return _of_degree(p.chebyshev_v, input, n, shift=True)


@function(namespace="special", method=False)
def shifted_chebyshev_polynomial_w(input: Any, n: Any) -> Tensor:
    """Chebyshev polynomial of the fourth kind of ``2 * input - 1``, of degree `n`.

    Args:
        input: tensor or number.
        n: degree, a tensor or number; the two broadcast.

    Example:
        >>> import oneflow as flow
        >>> flow.special.shifted_chebyshev_polynomial_w(flow.tensor([0.5, 2.0]), 3)
        tensor([ -1., 239.], dtype=oneflow.float32)
    """
    return _of_degree(p.chebyshev_w, input, n, shift=True)


@function(namespace="special", method=False)
def hermite_polynomial_h(input: Any, n: Any) -> Tensor:
    """Physicist's Hermite polynomial, of degree `n`.

    Args:
        input: tensor or number.
        n: degree, a tensor or number; the two broadcast.

    Example:
        >>> import oneflow as flow
        >>> flow.special.hermite_polynomial_h(flow.tensor([0.5, 2.0]), 3)
        tensor([-5., 40.], dtype=oneflow.float32)
    """
    return _of_degree(p.hermite_h, input, n)


@function(namespace="special", method=False)
def hermite_polynomial_he(input: Any, n: Any) -> Tensor:
    """Probabilist's Hermite polynomial, of degree `n`.

    Args:
        input: tensor or number.
        n: degree, a tensor or number; the two broadcast.

    Example:
        >>> import oneflow as flow
        >>> flow.special.hermite_polynomial_he(flow.tensor([0.5, 2.0]), 3)
        tensor([-1.3750,  2.0000], dtype=oneflow.float32)
    """
    return _of_degree(p.hermite_he, input, n)


@function(namespace="special", method=False)
def laguerre_polynomial_l(input: Any, n: Any) -> Tensor:
    """Laguerre polynomial, of degree `n`.

    Args:
        input: tensor or number.
        n: degree, a tensor or number; the two broadcast.

    Example:
        >>> import oneflow as flow
        >>> flow.special.laguerre_polynomial_l(flow.tensor([0.5, 2.0]), 3)
        tensor([-0.1458, -0.3333], dtype=oneflow.float32)
    """
    return _of_degree(p.laguerre, input, n)


@function(namespace="special", method=False)
def legendre_polynomial_p(input: Any, n: Any) -> Tensor:
    """Legendre polynomial, of degree `n`.

    Args:
        input: tensor or number.
        n: degree, a tensor or number; the two broadcast.

    Example:
        >>> import oneflow as flow
        >>> flow.special.legendre_polynomial_p(flow.tensor([0.5, 2.0]), 3)
        tensor([-0.4375, 17.0000], dtype=oneflow.float32)
    """
    return _of_degree(p.legendre, input, n)


def _of_degree(primitive: Primitive, x: Any, n: Any, shift: bool = False) -> Tensor:
    """The polynomials of `x`, or of what maps [0, 1] to [-1, 1].

    Raises:
        TypeError: neither `x` nor `n` is a tensor.
    """
    if not (isinstance(x, Tensor) or isinstance(n, Tensor)):
        require_tensor(x, primitive.name)
    x, n = promote_operands((x, n), floating=True)
    return call(primitive, 2 * x - 1 if shift else x, n)
