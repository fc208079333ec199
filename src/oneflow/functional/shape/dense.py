"""Several tensors as one vector, as buckets of gradients are sent."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.functional.shape.concat import cat, split
from oneflow.tensor.tensor import Tensor


def flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of all tensors, which have one dtype, in one dimension.

    Example:
        >>> import oneflow as flow
        >>> from oneflow._utils import _flatten_dense_tensors
        >>> _flatten_dense_tensors([flow.ones(1, 2), flow.zeros(1)])
        tensor([1., 1., 0.], dtype=oneflow.float32)
    """
    return cat([tensor.reshape(-1) for tensor in tensors])


def unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The parts of `flat` in the shapes of `tensors`; the inverse of `flatten_dense_tensors`.

    Raises:
        RuntimeError: the number of elements is another one.

    Example:
        >>> import oneflow as flow
        >>> from oneflow._utils import _unflatten_dense_tensors
        >>> parts = _unflatten_dense_tensors(flow.arange(3), [flow.ones(1, 2), flow.zeros(1)])
        >>> [part.tolist() for part in parts]
        [[[0, 1]], [2]]
    """
    parts = split(flat, [tensor.numel() for tensor in tensors])
    return tuple([part.reshape(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)])
