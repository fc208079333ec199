"""The tensor users hold: views, in-place writes and promotion over immutable values."""

from oneflow.tensor.call import call as call, call_view as call_view, wrap as wrap
from oneflow.tensor.tensor import Tensor as Tensor
