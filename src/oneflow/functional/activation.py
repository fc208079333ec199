"""Activation functions."""

from __future__ import annotations

from oneflow.base.dtype import DType
from oneflow.base.shape import wrap_dim
from oneflow.functional.registry import function
from oneflow.primitives import elementwise as p, softmax as s
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call
from oneflow.tensor.promotion import cast_to
from oneflow.tensor.tensor import Tensor


def finish(input: Tensor, result: Tensor, inplace: bool) -> Tensor:
    """`result`, or `input` with `result` written into it."""
    return input.assign(result.value) if inplace else result


@function(inplace=True)
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``.

    Args:
        input: any shape.
        inplace: write the result into `input`.

    Example:
        >>> import oneflow as flow
        >>> flow.relu(flow.tensor([-1.0, 2.0]))
        tensor([0., 2.], dtype=oneflow.float32)
    """
    return finish(input, call(p.relu, input), inplace)


def _along(primitive: Primitive, input: Tensor, dim: int | None, dtype: DType | None) -> Tensor:
    """Apply softmax or log-softmax. Without `dim`: 1, or 0 for 0, 1 and 3 dimensions."""
    spec = input._value.spec
    dim = int(spec.ndim not in (0, 1, 3)) if dim is None else wrap_dim(dim, spec.ndim)
    x = input if dtype is None else cast_to(input, dtype)
    if not spec.ndim:
        return call(primitive, x.reshape((1,)), dim=0).reshape(())
    return call(primitive, x, dim=dim)


@function()
def softmax(input: Tensor, dim: int | None = None, dtype: DType | None = None) -> Tensor:
    """``exp(input) / sum(exp(input))`` along a dimension.

    Args:
        input: floating point tensor.
        dim: the dimension; default: 1, or 0 for a tensor of 0, 1 or 3 dimensions.
        dtype: convert to it first.

    Example:
        >>> import oneflow as flow
        >>> flow.softmax(flow.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000], dtype=oneflow.float32)
    """
    return _along(s.softmax, input, dim, dtype)


@function()
def log_softmax(input: Tensor, dim: int | None = None, dtype: DType | None = None) -> Tensor:
    """The logarithm of softmax, computed without overflow.

    Args:
        input: floating point tensor.
        dim: the dimension; default: 1, or 0 for a tensor of 0, 1 or 3 dimensions.
        dtype: convert to it first.

    Example:
        >>> import oneflow as flow
        >>> flow.log_softmax(flow.tensor([0.0, 0.0]), dim=0)
        tensor([-0.6931, -0.6931], dtype=oneflow.float32)
    """
    return _along(s.log_softmax, input, dim, dtype)
