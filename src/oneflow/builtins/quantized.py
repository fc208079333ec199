"""Weights as small integers, with a factor for each group of them."""

from __future__ import annotations

from oneflow.base.dtype import int8, uint8
from oneflow.functional.nn.dense import linear
from oneflow.functional.registry import function
from oneflow.functional.shape.concat import stack
from oneflow.tensor.tensor import Tensor


@function(method=False, namespace="_C")
def groupwise_dequantize(
    input: Tensor,
    scale: Tensor,
    *,
    zero: Tensor | None = None,
    num_bits: int = 8,
    symmetric: bool = True,
    group_dim: int = -1,
    group_size: int = -1,
) -> Tensor:
    """The floating point numbers that small integers stand for.

    Args:
        input: uint8 or int8. Numbers of four bits lie two in each along the last dimension, the
            first in the upper half.
        scale: a factor for each group of neighbours along `group_dim`.
        zero: what the integer 0 stands for in each group; needed unless `symmetric`.
        num_bits: 4 or 8.
        symmetric: signed integers stand for their multiples of `scale`, unsigned ones for those
            of their distance from ``2 ** (num_bits - 1) - 1``.
        group_dim: the dimension that is in groups.
        group_size: how many numbers a group has; default all of the dimension.

    Returns:
        Tensor of the type of `scale`.

    Raises:
        RuntimeError: the arguments do not fit.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1, 2, 3, 4]], dtype=flow.int8)
        >>> flow._C.groupwise_dequantize(x, flow.tensor([[0.5, 2.0]]), group_size=2)
        tensor([[0.5000, 1.0000, 6.0000, 8.0000]], dtype=oneflow.float32)
    """
    if num_bits not in (4, 8) or input.dtype not in (int8, uint8):
        raise RuntimeError(
            f"`num_bits` must be 4 or 8, and `input` of uint8 or int8; got {num_bits} and "
            f"{input.dtype}"
        )
    if symmetric is not (zero is None) or not (symmetric or input.dtype == uint8):
        raise RuntimeError(
            "`zero` must be given, and `input` be of uint8, where `symmetric` is False; got "
            f"symmetric={symmetric}, {'no' if zero is None else 'a'} `zero` and {input.dtype}"
        )
    numbers = _unpacked(input) if num_bits == 4 else input
    dimension = group_dim % numbers.ndim
    size = numbers.shape[dimension] if group_size == -1 else group_size
    groups = numbers.shape[dimension] // max(size, 1)
    expected = (*numbers.shape[:dimension], groups, *numbers.shape[dimension + 1 :])
    if size < 1 or groups * size != numbers.shape[dimension] or scale.shape != expected:
        raise RuntimeError(
            f"`group_size` must divide {numbers.shape[dimension]}, and `scale` have a number for "
            f"each group; got {group_size} and the shape {list(scale.shape)}"
        )
    values = numbers.to(scale.dtype).unflatten(dimension, (groups, size))
    if symmetric and input.dtype == uint8:
        values = values - (2 ** (num_bits - 1) - 1)
    values = values * scale.unsqueeze(dimension + 1)
    if zero is not None:
        values = values + zero.unsqueeze(dimension + 1)
    return values.flatten(dimension, dimension + 1)


def _unpacked(x: Tensor) -> Tensor:
    """Numbers of four bits, in a last dimension of twice the size."""
    lower = (x << 4) >> 4  # of int8, with its sign
    return stack([x >> 4, lower], -1).flatten(-2)


@function(method=False, namespace="_C")
def fused_linear_with_groupwise_quantized_weight(
    x: Tensor,
    w: Tensor,
    w_scale: Tensor,
    *,
    w_zero: Tensor | None = None,
    b: Tensor | None = None,
    num_bits: int = 8,
    symmetric: bool = True,
    group_dim: int = -1,
    group_size: int = -1,
) -> Tensor:
    """`nn.functional.linear` with a weight of small integers, as `groupwise_dequantize` has them.

    Args:
        x: shape ``(..., features)``.
        w: shape ``(outputs, features)``, or half as many features of four bits.
        w_scale: a factor for each group.
        w_zero: what the integer 0 stands for in each group.
        b: a summand for each output.
        num_bits: 4 or 8.
        symmetric: see `groupwise_dequantize`.
        group_dim: the dimension that is in groups.
        group_size: how many numbers a group has.

    Raises:
        RuntimeError: the arguments do not fit.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([[1, 2], [3, 4]], dtype=flow.int8)
        >>> flow._C.fused_linear_with_groupwise_quantized_weight(
        ...     flow.ones(1, 2), w, flow.tensor([[1.0], [2.0]])
        ... )
        tensor([[ 3., 14.]], dtype=oneflow.float32)
    """
    weight = groupwise_dequantize(
        w,
        w_scale,
        zero=w_zero,
        num_bits=num_bits,
        symmetric=symmetric,
        group_dim=group_dim,
        group_size=group_size,
    )
    return linear(x, weight, b)
