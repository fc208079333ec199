"""Special functions: error, gamma, Bessel and their relatives."""

from __future__ import annotations

import math
from typing import Any

from oneflow.base.dtype import Category, get_default_dtype
from oneflow.base.shape import as_integer
from oneflow.functional.elementwise.binary import floating_pair
from oneflow.functional.elementwise.unary import floating
from oneflow.functional.registry import function
from oneflow.primitives.operators import elementwise as e, special as p
from oneflow.tensor.call import call
from oneflow.tensor.methods import attach_inplace, attach_method
from oneflow.tensor.operands import as_float, cast_to, require_tensor, require_tensors
from oneflow.tensor.tensor import Tensor
from oneflow.tuning.host_memory import OBJECT_SIZE, require_host_memory


@function(inplace=True, also=("special.erf", "erf_"))
def erf(x: Tensor) -> Tensor:
    """Error function.

    Example:
        >>> import oneflow as flow
        >>> flow.erf(flow.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8427], dtype=oneflow.float32)
    """
    return floating(e.erf, x)


@function(inplace=True, also=("special.erfc", "erfc_"))
def erfc(x: Tensor) -> Tensor:
    """``1 - erf(x)``, exact for large numbers.

    Example:
        >>> import oneflow as flow
        >>> flow.erfc(flow.tensor([0.0, 1.0]))
        tensor([1.0000, 0.1573], dtype=oneflow.float32)
    """
    return floating(p.erfc, x)


@function(inplace=True, also=("special.erfinv", "erfinv_"))
def erfinv(x: Tensor) -> Tensor:
    """Inverse of the error function; NaN outside [-1, 1].

    Example:
        >>> import oneflow as flow
        >>> flow.erfinv(flow.tensor([0.0, 0.5]))
        tensor([0.0000, 0.4769], dtype=oneflow.float32)
    """
    return floating(p.erfinv, x)


@function(inplace=True, also=("special.gammaln",))
def lgamma(x: Tensor) -> Tensor:
    """Logarithm of the absolute value of the gamma function.

    Example:
        >>> import oneflow as flow
        >>> flow.lgamma(flow.tensor([0.5, 4.0]))
        tensor([0.5724, 1.7918], dtype=oneflow.float32)
    """
    return floating(p.lgamma, x)


@function(inplace=True, also=("special.digamma", "special.psi"))
def digamma(input: Tensor) -> Tensor:
    """Derivative of the logarithm of the gamma function.

    Example:
        >>> import oneflow as flow
        >>> flow.digamma(flow.tensor([1.0, 2.0]))
        tensor([-0.5772,  0.4228], dtype=oneflow.float32)
    """
    return floating(p.digamma, input)


@function(inplace=True, also=("special.i0", "special.modified_bessel_i0", "i0_"))
def i0(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind of order 0.

    Example:
        >>> import oneflow as flow
        >>> flow.i0(flow.tensor([0.0, 1.0]))
        tensor([1.0000, 1.2661], dtype=oneflow.float32)
    """
    return floating(p.i0, input)


@function(inplace=True, also=("special.logit", "logit_"))
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """``log(input / (1 - input))``; NaN outside [0, 1].

    Args:
        input: tensor.
        eps: limit `input` to ``[eps, 1 - eps]`` first.

    Example:
        >>> import oneflow as flow
        >>> flow.logit(flow.tensor([0.5, 0.75]))
        tensor([0.0000, 1.0986], dtype=oneflow.float32)
    """
    if eps is None:
        return floating(p.logit, input)
    require_tensor(input, "logit")
    return call(p.logit_clamped, _as_float(input), as_float(eps, "eps"))


@function(method=False, also=("special.polygamma",))
def polygamma(n: int, input: Tensor) -> Tensor:
    """The `n`-th derivative of `digamma`.

    Args:
        n: order, at least 0.
        input: tensor.

    Raises:
        RuntimeError: `n` is negative.

    Example:
        >>> import oneflow as flow
        >>> flow.polygamma(1, flow.tensor([1.0, 2.0]))
        tensor([1.6449, 0.6449], dtype=oneflow.float32)
    """
    n = as_integer(n, "n")
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return digamma(input)
    require_tensor(input, "polygamma")
    return call(p.polygamma, _as_float(input), n=n)


def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """The `n`-th derivative of `digamma`, see `oneflow.polygamma`.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([1.0, 2.0]).polygamma(1)
        tensor([1.6449, 0.6449], dtype=oneflow.float32)
    """
    return polygamma(n, self)


attach_method("polygamma", _polygamma_method)
attach_inplace("polygamma_", _polygamma_method)


@function(inplace=True, also=("special.multigammaln",))
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension `p`.

    Raises:
        RuntimeError: `p` is less than 1.

    Example:
        >>> import oneflow as flow
        >>> flow.mvlgamma(flow.tensor([2.0, 3.0]), 2)
        tensor([0.4516, 1.5502], dtype=oneflow.float32)
    """
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, got {p}")
    require_tensor(input, "mvlgamma")
    x = _as_float(input)
    require_host_memory("mvlgamma", p, OBJECT_SIZE)
    total = lgamma(x)
    for step in range(1, p):
        total = total + lgamma(x - step / 2)
    return total + p * (p - 1) / 4 * math.log(math.pi)


def _as_float(x: Tensor) -> Tensor:
    return x if x._value.spec.dtype.category >= Category.FLOAT else cast_to(x, get_default_dtype())


@function(namespace="special", method=False)
def entr(input: Tensor) -> Tensor:
    """``-input * log(input)``, 0 for 0 and -infinity below.

    Example:
        >>> import oneflow as flow
        >>> flow.special.entr(flow.tensor([0.5, 2.0]))
        tensor([ 0.3466, -1.3863], dtype=oneflow.float32)
    """
    return floating(p.entr, input)


@function(namespace="special", method=False)
def i0e(input: Tensor) -> Tensor:
    """`i0` scaled by ``exp(-abs(input))``.

    Example:
        >>> import oneflow as flow
        >>> flow.special.i0e(flow.tensor([0.0, 1.0]))
        tensor([1.0000, 0.4658], dtype=oneflow.float32)
    """
    return floating(p.i0e, input)


@function(namespace="special", method=False, aliases=("modified_bessel_i1",))
def i1(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind of order 1.

    Example:
        >>> import oneflow as flow
        >>> flow.special.i1(flow.tensor([0.0, 1.0]))
        tensor([0.0000, 0.5652], dtype=oneflow.float32)
    """
    return floating(p.i1, input)


@function(namespace="special", method=False)
def i1e(input: Tensor) -> Tensor:
    """`i1` scaled by ``exp(-abs(input))``.

    Example:
        >>> import oneflow as flow
        >>> flow.special.i1e(flow.tensor([0.0, 1.0]))
        tensor([0.0000, 0.2079], dtype=oneflow.float32)
    """
    return floating(p.i1e, input)


@function(namespace="special", method=False)
def ndtr(input: Tensor) -> Tensor:
    """Distribution function of the standard normal distribution.

    Example:
        >>> import oneflow as flow
        >>> flow.special.ndtr(flow.tensor([0.0, 1.0]))
        tensor([0.5000, 0.8413], dtype=oneflow.float32)
    """
    return floating(p.ndtr, input)


@function(namespace="special", method=False)
def ndtri(input: Tensor) -> Tensor:
    """Inverse of `ndtr`.

    Example:
        >>> import oneflow as flow
        >>> flow.special.ndtri(flow.tensor([0.5, 0.75]))
        tensor([0.0000, 0.6745], dtype=oneflow.float32)
    """
    return floating(p.ndtri, input)


@function(namespace="special", method=False)
def log_ndtr(input: Tensor) -> Tensor:
    """Logarithm of `ndtr`, exact far below 0.

    Example:
        >>> import oneflow as flow
        >>> flow.special.log_ndtr(flow.tensor([0.0, -10.0]))
        tensor([ -0.6931, -53.2313], dtype=oneflow.float32)
    """
    return floating(p.log_ndtr, input)


@function(namespace="special", method=False)
def xlog1py(input: Any, other: Any) -> Tensor:
    """``input * log(1 + other)``, and 0 where `input` is 0.

    Example:
        >>> import oneflow as flow
        >>> flow.special.xlog1py(flow.tensor([0.0, 2.0]), flow.tensor([0.0, 1.0]))
        tensor([0.0000, 1.3863], dtype=oneflow.float32)
    """
    return floating_pair(p.xlog1py, input, other)


@function(namespace="special", method=False)
def zeta(input: Any, other: Any) -> Tensor:
    """Hurwitz zeta function.

    Example:
        >>> import oneflow as flow
        >>> flow.special.zeta(flow.tensor([2.0]), flow.tensor([1.0]))
        tensor([1.6449], dtype=oneflow.float32)
    """
    return floating_pair(p.zeta, input, other)


@function(inplace=True, also=("special.gammainc",))
def igamma(input: Tensor, other: Tensor) -> Tensor:
    """Regularised lower incomplete gamma function.

    Example:
        >>> import oneflow as flow
        >>> flow.igamma(flow.tensor([1.0]), flow.tensor([1.0]))
        tensor([0.6321], dtype=oneflow.float32)
    """
    require_tensors("igamma", input, other)
    return floating_pair(p.gammainc, input, other)


@function(inplace=True, also=("special.gammaincc",))
def igammac(input: Tensor, other: Tensor) -> Tensor:
    """Regularised upper incomplete gamma function.

    Example:
        >>> import oneflow as flow
        >>> flow.igammac(flow.tensor([1.0]), flow.tensor([1.0]))
        tensor([0.3679], dtype=oneflow.float32)
    """
    require_tensors("igammac", input, other)
    return floating_pair(p.gammaincc, input, other)
