"""The tensor, under the path that upstream's users import it from."""

from oneflow.tensor.tensor import Tensor as Tensor

__all__ = ["Tensor"]
