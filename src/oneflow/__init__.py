"""OneFlow on XLA: PyTorch-style tensors, autograd and modules, compiled by XLA.

Public names are re-exported from the rooms below; see `docs/architecture.md` for the map.
"""

from oneflow.compiler import (
    jax_compat as _jax_compat,
)  # first: JAX must be configured before anything makes an array

# isort: split
from oneflow.autograd.grad_mode import enable_grad as enable_grad
from oneflow.autograd.grad_mode import inference_mode as inference_mode
from oneflow.autograd.grad_mode import is_grad_enabled as is_grad_enabled
from oneflow.autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from oneflow.autograd.grad_mode import no_grad as no_grad
from oneflow.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from oneflow.base.device import Device as device
from oneflow.base.dtype import DType as dtype
from oneflow.base.dtype import bfloat16 as bfloat16
from oneflow.base.dtype import bool_ as bool
from oneflow.base.dtype import complex64 as complex64
from oneflow.base.dtype import complex128 as complex128
from oneflow.base.dtype import float16 as float16
from oneflow.base.dtype import float32 as float32
from oneflow.base.dtype import float64 as float64
from oneflow.base.dtype import get_default_dtype as get_default_dtype
from oneflow.base.dtype import int8 as int8
from oneflow.base.dtype import int16 as int16
from oneflow.base.dtype import int32 as int32
from oneflow.base.dtype import int64 as int64
from oneflow.base.dtype import set_default_dtype as set_default_dtype
from oneflow.base.dtype import uint8 as uint8
from oneflow.base.dtype import uint16 as uint16
from oneflow.base.dtype import uint32 as uint32
from oneflow.base.dtype import uint64 as uint64
from oneflow.base.shape import Size as Size
from oneflow.dispatch import call as _call  # installs the meaning of calling a primitive
from oneflow.functional import operators as _operators  # gives Tensor its operators
from oneflow.functional.arithmetic import add as add
from oneflow.functional.arithmetic import div as div
from oneflow.functional.arithmetic import div as divide
from oneflow.functional.arithmetic import div as true_divide
from oneflow.functional.arithmetic import mul as mul
from oneflow.functional.arithmetic import mul as multiply
from oneflow.functional.arithmetic import pow_ as pow
from oneflow.functional.arithmetic import sub as sub
from oneflow.functional.arithmetic import sub as subtract
from oneflow.functional.comparison import clamp as clamp
from oneflow.functional.comparison import clamp as clip
from oneflow.functional.comparison import eq as eq
from oneflow.functional.comparison import ge as ge
from oneflow.functional.comparison import ge as greater_equal
from oneflow.functional.comparison import gt as greater
from oneflow.functional.comparison import gt as gt
from oneflow.functional.comparison import le as le
from oneflow.functional.comparison import le as less_equal
from oneflow.functional.comparison import lt as less
from oneflow.functional.comparison import lt as lt
from oneflow.functional.comparison import ne as ne
from oneflow.functional.comparison import ne as not_equal
from oneflow.functional.comparison import where as where
from oneflow.functional.linear_algebra import matmul as matmul
from oneflow.functional.logic import bitwise_not as bitwise_not
from oneflow.functional.reduction import max_ as max
from oneflow.functional.reduction import mean as mean
from oneflow.functional.reduction import min_ as min
from oneflow.functional.reduction import sum_ as sum
from oneflow.functional.unary import abs_ as abs
from oneflow.functional.unary import abs_ as absolute
from oneflow.functional.unary import exp as exp
from oneflow.functional.unary import log as log
from oneflow.functional.unary import neg as neg
from oneflow.functional.unary import neg as negative
from oneflow.functional.unary import sqrt as sqrt
from oneflow.tensor.promotion import can_cast as can_cast
from oneflow.tensor.promotion import promote_types as promote_types
from oneflow.tensor.promotion import result_type as result_type
from oneflow.tensor.tensor import Tensor as Tensor
from oneflow.tensor.transfer import (
    import_array as _import_array,
)  # gives Tensor its way in for data
from oneflow.version import __version__ as __version__
