"""The tensor, under the path that upstream's users import it from."""

from oneflow.tensor.tensor import Tensor as Tensor
from oneflow.tensor.tensor_tuple import TensorTuple as TensorTuple

__all__ = ["Tensor", "TensorTuple"]
