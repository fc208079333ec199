"""The tensor users hold: PyTorch's semantics (views, in-place writes, promotion) over immutable values."""

from oneflow.tensor.call import call as call
from oneflow.tensor.call import call_view as call_view
from oneflow.tensor.call import wrap as wrap
from oneflow.tensor.tensor import Tensor as Tensor
