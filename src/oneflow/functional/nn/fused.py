"""OneFlow's fused operators. The compiler fuses what they are composed of."""

from __future__ import annotations

from oneflow.base.dtype import bool_
from oneflow.functional.creation.factory_functions import ones
from oneflow.functional.elementwise.activation import gelu
from oneflow.functional.elementwise.clamp import where
from oneflow.functional.nn.dropout import dropout
from oneflow.functional.nn.softmax import softmax
from oneflow.functional.registry import function
from oneflow.functional.shape.rearrange import tril
from oneflow.random.generator import Generator
from oneflow.tensor.tensor import Tensor


def add_bias(a: Tensor, b: Tensor, axis: int) -> Tensor:
    """`a` plus the vector `b` along `axis`."""
    if b.ndim != 1 or not -a.ndim <= axis < a.ndim or a.shape[axis] != b.shape[0]:
        raise RuntimeError(
            f"`b` of shape {tuple(b.shape)} must be a vector as long as dimension `axis`={axis} of "
            f"`a` of shape {tuple(a.shape)}"
        )
    shape = [1] * a.ndim
    shape[axis] = -1
    return a + b.reshape(shape)


@function(method=False, namespace="_C")
def fused_bias_add_gelu(a: Tensor, b: Tensor, *, axis: int) -> Tensor:
    """`gelu` of `a` with the vector `b` added along `axis`.

    Raises:
        RuntimeError: `b` is no vector of that length.

    Example:
        >>> import oneflow as flow
        >>> flow._C.fused_bias_add_gelu(flow.ones(1, 2), flow.tensor([-1.0, 0.0]), axis=1)
        tensor([[0.0000, 0.8413]], dtype=oneflow.float32)
    """
    return gelu(add_bias(a, b, axis))


@function(method=False, namespace="_C")
def fused_bias_add_dropout(
    a: Tensor, b: Tensor, *, p: float = 0.5, axis: int, generator: Generator | None = None
) -> Tensor:
    """`dropout` of `a` with the vector `b` added along `axis`.

    Raises:
        RuntimeError: `b` is no vector of that length.

    Example:
        >>> import oneflow as flow
        >>> flow._C.fused_bias_add_dropout(flow.ones(1, 2), flow.ones(2), p=0.0, axis=1)
        tensor([[2., 2.]], dtype=oneflow.float32)
    """
    return dropout(add_bias(a, b, axis), p, generator=generator)


@function(method=False, namespace="_C")
def fused_scale_mask_softmax(
    x: Tensor, mask: Tensor, *, fill_value: float = 0.0, scale: float = 1.0
) -> Tensor:
    """Softmax along the last dimension of ``x * scale``, with `fill_value` where `mask` is False.

    Args:
        x: floating point tensor.
        mask: bool tensor that broadcasts to `x`.
        fill_value: what stands where `mask` is False.
        scale: factor of `x`.

    Example:
        >>> import oneflow as flow
        >>> mask = flow.tensor([True, True, False])
        >>> flow._C.fused_scale_mask_softmax(flow.zeros(1, 3), mask, fill_value=-10000.0)
        tensor([[0.5000, 0.5000, 0.0000]], dtype=oneflow.float32)
    """
    return softmax(where(mask, x * scale, fill_value), -1)


@function(method=False, namespace="_C")
def fused_scale_mask_bias_softmax(
    x: Tensor,
    mask: Tensor,
    bias: Tensor | None = None,
    scale: float = 0.35355,
    inplace: bool = False,
) -> Tensor:
    """Softmax along the last dimension of ``x * scale + mask + bias``.

    Args:
        x: floating point tensor.
        mask: summand that broadcasts to `x`.
        bias: another one; default: nothing.
        scale: factor of `x`.
        inplace: also write the result to `x`.

    Example:
        >>> import oneflow as flow
        >>> flow._C.fused_scale_mask_bias_softmax(flow.zeros(1, 2), flow.tensor([0.0, -1e9]))
        tensor([[1., 0.]], dtype=oneflow.float32)
    """
    scores = x * scale + mask
    result = softmax(scores if bias is None else scores + bias, -1)
    return x.copy_(result) if inplace else result


@function(method=False, namespace="_C")
def fused_scale_mask_softmax_dropout(
    x: Tensor,
    mask: Tensor,
    *,
    fill_value: float = 0.0,
    scale: float = 1.0,
    p: float = 0.5,
    training: bool = True,
    generator: Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """`fused_scale_mask_softmax` with and without dropout of probability `p`.

    Example:
        >>> import oneflow as flow
        >>> mask = flow.ones(1, 2, dtype=flow.bool)
        >>> flow._C.fused_scale_mask_softmax_dropout(flow.zeros(1, 2), mask, p=0.0)[0]
        tensor([[0.5000, 0.5000]], dtype=oneflow.float32)
    """
    probabilities = fused_scale_mask_softmax(x, mask, fill_value=fill_value, scale=scale)
    return dropout(probabilities, p, training, generator=generator), probabilities


@function(method=False, namespace="_C")
def fused_scale_tril(
    x: Tensor, diagonal: int = 0, fill_value: float = 0, scale: float = 1
) -> Tensor:
    """``x * scale`` on and below a diagonal of the last two dimensions, `fill_value` above.

    Args:
        x: tensor of at least two dimensions.
        diagonal: 0 is the main diagonal, positive ones are above it.
        fill_value: what stands above the diagonal.
        scale: factor of `x`.

    Example:
        >>> import oneflow as flow
        >>> flow._C.fused_scale_tril(flow.ones(2, 2), fill_value=-1.0, scale=3.0)
        tensor([[ 3., -1.],
                [ 3.,  3.]], dtype=oneflow.float32)
    """
    if x.ndim < 2:
        raise RuntimeError(f"`x` must have at least 2 dimensions, got shape {tuple(x.shape)}")
    below = tril(ones(*x.shape[-2:], dtype=bool_, device=x.device), diagonal)
    return where(below, x * scale, fill_value)


@function(method=False, namespace="_C")
def fused_scale_tril_softmax_mask_scale(
    a: Tensor,
    *,
    p: float = 0.5,
    diagonal: int,
    tril_scale_value: float,
    tril_fill_value: float = 0.0,
    generator: Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Softmax along the last dimension of `fused_scale_tril`, with and without dropout.

    Example:
        >>> import oneflow as flow
        >>> flow._C.fused_scale_tril_softmax_mask_scale(
        ...     flow.zeros(2, 2), p=0.0, diagonal=0, tril_scale_value=1.0, tril_fill_value=-10000.0
        ... )[1]
        tensor([[1.0000, 0.0000],
                [0.5000, 0.5000]], dtype=oneflow.float32)
    """
    probabilities = softmax(fused_scale_tril(a, diagonal, tril_fill_value, tril_scale_value), -1)
    return dropout(probabilities, p, generator=generator), probabilities
