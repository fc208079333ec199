"""``torch._higher_order_ops.out_dtype``."""

from __future__ import annotations

from typing import Any, NoReturn

from oneflow import Tensor, ones
from oneflow.autograd import Function
from oneflow.base.dtype import DType
from oneflow.mock_torch.pytorch._prims_common import (
    ELEMENTWISE_TYPE_PROMOTION_KIND,
    elementwise_dtypes,
)
from oneflow.mock_torch.pytorch.aten import OpOverload
from oneflow.mock_torch.pytorch.utils._pytree import tree_leaves, tree_map_only

_OPERATORS = (
    *("linear.default", "mm.default", "conv2d.default", "convolution.default"),
    *("mul.Tensor", "mul.Scalar", "div.Tensor", "div.Scalar"),
)


def out_dtype(op: OpOverload, output_dtype: DType, *args: Any) -> Tensor:
    """Call an operator whose result has a dtype of its own, such as products of int8 in int32.

    Args:
        op: one of the products and quotients of ``torch.ops.aten``.
        output_dtype: the dtype; it computes in what this and the arguments promote to.
        args: its arguments; the result has no gradient, and a backward pass raises a RuntimeError.

    Raises:
        ValueError: it is another operator.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch._higher_order_ops.out_dtype import out_dtype
        ...     x = torch.full((1, 2), 100, dtype=torch.int8)
        ...     out_dtype(torch.ops.aten.mm.default, torch.int32, x, x.T).item()
        20000
    """
    if not isinstance(op, OpOverload):
        raise ValueError(f"out_dtype's first argument must be an OpOverload, got {op!r}")
    if op.__name__ not in _OPERATORS:
        raise ValueError(
            f"out_dtype only allows the following operators: {', '.join(_OPERATORS)}; got {op}"
        )
    return _WithoutGradient.apply(op, output_dtype, *args)


class _WithoutGradient(Function):
    """The call, whose backward pass is refused."""

    @staticmethod
    def forward(ctx: Any, op: OpOverload, dtype: DType, *args: Any) -> Tensor:
        computed, _ = elementwise_dtypes(
            *tree_leaves(args),
            ones(1, dtype=dtype),
            type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT,
        )
        return op(*tree_map_only(Tensor, lambda x: x.to(computed), args)).to(dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> NoReturn:
        raise RuntimeError("Autograd not implemented for out_dtype")


__all__ = ["out_dtype"]
