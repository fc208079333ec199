"""Lists of tensors, under the path of upstream."""

from oneflow.tensor.tensor_tuple import (
    TensorTuple as TensorTuple,
    convert_to_tensor_tuple as convert_to_tensor_tuple,
)

__all__ = ["TensorTuple", "convert_to_tensor_tuple"]
