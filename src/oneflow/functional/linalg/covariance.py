"""Covariance and correlation."""

from __future__ import annotations

from oneflow.base.dtype import Category, get_default_dtype
from oneflow.base.shape import as_integer
from oneflow.functional.linalg.matmul import matmul
from oneflow.functional.registry import function
from oneflow.tensor.operands import cast_to, require_tensor
from oneflow.tensor.tensor import Tensor


@function()
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """Covariance of variables in the rows of `input`, with observations in the columns.

    Args:
        input: ``[variables, observations]``, or ``[observations]`` of one variable.
        correction: divide by the number of observations less this.
        fweights: how often each observation counts; integers.
        aweights: how much each observation weighs.

    Returns:
        ``[variables, variables]``, or a 0-dim tensor of one variable.

    Raises:
        RuntimeError: `input` has more than two dimensions or holds bools, or weights are negative
            (they are read: a sync point), of another dtype or not as many as observations.

    Example:
        >>> import oneflow as flow
        >>> flow.cov(flow.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]], dtype=oneflow.float32)
    """
    require_tensor(input, "cov")
    spec = input._value.spec
    if spec.ndim > 2 or spec.dtype.category is Category.BOOL:
        raise RuntimeError(
            f"cov(): expected at most two dimensions and numbers, got {spec.ndim}D {spec.dtype!r}"
        )
    if spec.dtype.category < Category.FLOAT:
        input = cast_to(input, get_default_dtype())
    correction = as_integer(correction, "correction")
    _require_weights(fweights, aweights, spec.shape[-1] if spec.ndim else 1)
    x = input if spec.ndim == 2 else input.reshape((1, spec.numel))
    weights = fweights if aweights is None else aweights
    if fweights is not None and aweights is not None:
        weights = fweights * aweights
    if weights is None:
        centered = scaled = x - x.mean(1, True)
        divisor = x.shape[1] - correction
    else:
        total = weights.sum()
        centered = x - (x * weights).sum(1, True) / total
        scaled = centered * weights
        bias = 1 if aweights is None else (weights * aweights).sum() / total
        divisor = total - correction * bias
    result = matmul(centered, scaled.conj().transpose(0, 1))
    result = result / (divisor.clamp(0) if isinstance(divisor, Tensor) else max(divisor, 0))
    return result.reshape(()) if x.shape[0] == 1 else result


def _require_weights(fweights: Tensor | None, aweights: Tensor | None, count: int) -> None:
    """Refuse weights of another dtype, of another number than the observations, or negative ones.

    Raises:
        RuntimeError: that is so.
    """
    for name, weights, kind in (
        ("fweights", fweights, Category.INTEGER),
        ("aweights", aweights, Category.FLOAT),
    ):
        if weights is None:
            continue
        if weights.dtype.category is not kind:
            category_name = "integral" if kind is Category.INTEGER else "floating point"
            raise RuntimeError(
                f"cov(): expected {name} to have {category_name} dtype but got {weights.dtype!r}"
            )
        if weights.ndim > 1 or weights.numel() != count:
            raise RuntimeError(
                f"cov(): expected {name} to have one number for each of the {count} observations "
                f"but got shape {tuple(weights.shape)}"
            )
        if not weights.ge(0).all().item():
            raise RuntimeError(f"cov(): {name} cannot be negative")


@function()
def corrcoef(input: Tensor) -> Tensor:
    """Correlation coefficients of variables in the rows of `input`; see `cov`.

    Example:
        >>> import oneflow as flow
        >>> flow.corrcoef(flow.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]], dtype=oneflow.float32)
    """
    covariance = cov(input)
    if not covariance.ndim:
        return covariance / covariance
    deviation = covariance.diagonal().sqrt()
    return covariance / deviation.reshape((-1, 1)) / deviation
