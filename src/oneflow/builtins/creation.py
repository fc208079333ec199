"""Constant tensors and whole-tensor writes as upstream's builtins take their arguments."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.creation.factory_functions import eye, full
from oneflow.functional.nn.embedding import limit_rows_of
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor


@function(method=False, namespace="_C", also=("_C.tensor_constant",))
def constant(
    shape: Sequence[int],
    value: float | Tensor,
    *,
    dtype: DType,
    device: Device | str | None = None,
) -> Tensor:
    """`oneflow.full`; as `tensor_constant` of a 0-dim tensor.

    Example:
        >>> import oneflow as flow
        >>> flow._C.tensor_constant([2], flow.tensor(3.0), dtype=flow.int32)
        tensor([3, 3], dtype=oneflow.int32)
    """
    if isinstance(value, Tensor):
        return value.to(device, dtype).expand(tuple(shape)).clone()
    return full(shape, value, dtype=dtype, device=device)


@function(method=False, namespace=None, also=("_C.eye_",))
def eye_(x: Tensor) -> Tensor:
    """Write ones to the diagonal of a matrix and zeros beside it.

    Example:
        >>> import oneflow as flow
        >>> flow._C.eye_(flow.zeros(2, 3)).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    with no_grad():
        return x.copy_(eye(*x.shape, dtype=x.dtype))


@function(method=False, namespace=None, also=("_C.embedding_renorm_",))
def embedding_renorm_(in_: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale rows of a table down to a norm, in place.

    Example:
        >>> import oneflow as flow
        >>> flow._C.embedding_renorm_(flow.tensor([[3.0], [4.0]]), flow.tensor([1]), 2.0, 2.0)
        tensor([[3.],
                [2.]], dtype=oneflow.float32)
    """
    limit_rows_of(in_, indices, max_norm, norm_type)
    return in_
