"""From tensors to tensor buffers and back."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType
from oneflow.base.keyword_aliases import keyword_aliases
from oneflow.data.readers.tensor_buffer import TensorBuffer, dense
from oneflow.tensor.batch_sharding import BatchSharding
from oneflow.tensor.tensor import Tensor


@keyword_aliases(input="x")
def tensor_to_tensor_buffer(x: Tensor, instance_dims: int, name: str | None = None) -> TensorBuffer:
    """Return each sample of a tensor as a value on the host.

    Args:
        x: a local tensor, whose last `instance_dims` dimensions are those of a sample.
        instance_dims: number of dimensions of a sample.
        name: accepted.

    Raises:
        ValueError: `x` has no dimensions of a batch, or is global.
        RuntimeError: called while a graph is recorded.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor_to_tensor_buffer(flow.ones(2, 3), instance_dims=1)
        TensorBuffer(2 values)
    """
    if x.is_global or not 0 <= instance_dims < x.ndim:
        raise ValueError(
            f"`x` must be a local tensor of a batch and {instance_dims} dimensions more, got "
            f"{'a global' if x.is_global else 'a local'} one of shape {tuple(x.shape)}"
        )
    batch = tuple(x.shape[: x.ndim - instance_dims])
    arrays = list(x.numpy().reshape(math.prod(batch), *x.shape[len(batch) :]))
    return TensorBuffer(lambda: arrays, shape=batch, sharding=BatchSharding(x.device))


def tensor_buffer_to_tensor(
    x: TensorBuffer, dtype: DType, instance_shape: Sequence[int], name: str | None = None
) -> Tensor:
    """Return values of one shape as a tensor.

    Args:
        x: values.
        dtype: the dtype of the tensor.
        instance_shape: the shape of each value.
        name: accepted.

    Raises:
        ValueError: a value has another shape.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor_to_tensor_buffer(flow.ones(2, 3), instance_dims=1)
        >>> flow.tensor_buffer_to_tensor(x, flow.float32, instance_shape=(3,)).shape
        oneflow.Size([2, 3])
    """
    return dense(x, instance_shape, dtype)


def buffer_to_tensor(input: TensorBuffer, instance_shape: Sequence[int], dtype: DType) -> Tensor:
    """`tensor_buffer_to_tensor` with the arguments in the order of upstream's builtin.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor_to_tensor_buffer(flow.ones(2, 3), instance_dims=1)
        >>> flow._C.tensor_buffer_to_tensor(x, (3,), flow.float32).shape
        oneflow.Size([2, 3])
    """
    return dense(input, instance_shape, dtype)


def tensor_buffer_to_list_of_tensors(
    tensor: TensorBuffer,
    out_shapes: Sequence[Sequence[int]],
    out_dtypes: Sequence[DType],
    name: str | None = None,
) -> list[Tensor]:
    """Return each value as a tensor of its own.

    Args:
        tensor: values.
        out_shapes: the shape of each.
        out_dtypes: the dtype of each.
        name: accepted.

    Raises:
        ValueError: a value has another shape, or there are more or fewer shapes than values.

    Example:
        >>> import oneflow as flow
        >>> x = flow.gen_tensor_buffer((2,), [(1,), (2, 2)], [0.0, 1.0])
        >>> tensors = flow.tensor_buffer_to_list_of_tensors(x, [(1,), (2, 2)], [flow.float32] * 2)
        >>> [tensor.shape for tensor in tensors]
        [oneflow.Size([1]), oneflow.Size([2, 2])]
    """
    if not len(tensor) == len(out_shapes) == len(out_dtypes):
        raise ValueError(
            f"there are {len(tensor)} values, {len(out_shapes)} shapes and {len(out_dtypes)} dtypes"
        )

    def value(index: int, shape: Sequence[int], dtype: DType) -> Tensor:
        one = TensorBuffer(lambda values: [values[index]], tensor, shape=(1,))
        return dense(one, shape, dtype)[0]

    shapes = zip(out_shapes, out_dtypes, strict=True)
    return [value(index, shape, dtype) for index, (shape, dtype) in enumerate(shapes)]


def gen_tensor_buffer(
    shape: Sequence[int],
    shape_list: Sequence[Sequence[int]],
    value_list: Sequence[float],
    data_type: DType = dt.float32,
    dynamic_out: bool = False,
    name: str | None = None,
) -> TensorBuffer:
    """Return values, each filled with a number.

    Args:
        shape: the number of values, as a shape of one dimension.
        shape_list: the shape of each; fewer are repeated.
        value_list: the number of each; fewer are repeated.
        data_type: the dtype of the values.
        dynamic_out: accepted.
        name: accepted.

    Raises:
        ValueError: `shape` has other than one dimension, or there are no shapes or numbers.
    """
    if len(shape) != 1 or not shape_list or not value_list:
        raise ValueError(
            "a tensor buffer has one dimension, and values need shapes and numbers, got "
            f"{tuple(shape)}, {shape_list} and {value_list}"
        )
    values = [
        np.full(
            tuple(shape_list[index % len(shape_list)]),
            value_list[index % len(value_list)],
            data_type.numpy,
        )
        for index in range(shape[0])
    ]
    return TensorBuffer(lambda: values, shape=tuple(shape), sharding=BatchSharding())
