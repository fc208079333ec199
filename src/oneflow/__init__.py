"""OneFlow on XLA: PyTorch-style tensors, autograd and modules, compiled by XLA.

Public names are re-exported from the rooms below; see `docs/architecture.md` for the map.
"""

from oneflow.compiler import (
    jax_compat as _jax_compat,
)  # first: JAX must be configured before anything makes an array

# isort: split
from oneflow.differentiation.anomaly import is_anomaly_enabled as is_anomaly_enabled
from oneflow.differentiation.grad_mode import enable_grad as enable_grad
from oneflow.differentiation.grad_mode import inference_mode as inference_mode
from oneflow.differentiation.grad_mode import is_grad_enabled as is_grad_enabled
from oneflow.differentiation.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from oneflow.differentiation.grad_mode import no_grad as no_grad
from oneflow.differentiation.grad_mode import set_grad_enabled as set_grad_enabled
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
from oneflow.functional import indexing as _indexing
from oneflow.functional import operators as _operators  # gives Tensor its operators
from oneflow.functional.activation import gelu as gelu
from oneflow.functional.activation import mish as mish
from oneflow.functional.activation import quick_gelu as quick_gelu
from oneflow.functional.activation import relu as relu
from oneflow.functional.activation import selu as selu
from oneflow.functional.activation import sigmoid as sigmoid
from oneflow.functional.activation import silu as silu
from oneflow.functional.activation import softplus as softplus
from oneflow.functional.activation import softsign as softsign
from oneflow.functional.activation import square_relu as square_relu
from oneflow.functional.activation import tanh as tanh
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
from oneflow.functional.conversion import cast as cast
from oneflow.functional.conversion import clone as clone
from oneflow.functional.conversion import contiguous as contiguous
from oneflow.functional.conversion import to as to
from oneflow.functional.creation import arange as arange
from oneflow.functional.creation import empty as empty
from oneflow.functional.creation import empty_like as empty_like
from oneflow.functional.creation import eye as eye
from oneflow.functional.creation import full as full
from oneflow.functional.creation import full_like as full_like
from oneflow.functional.creation import linspace as linspace
from oneflow.functional.creation import logspace as logspace
from oneflow.functional.creation import ones as ones
from oneflow.functional.creation import ones_like as ones_like
from oneflow.functional.creation import zeros as zeros
from oneflow.functional.creation import zeros_like as zeros_like
from oneflow.functional.interchange import as_tensor as as_tensor
from oneflow.functional.interchange import as_tensor as asarray
from oneflow.functional.interchange import from_numpy as from_numpy
from oneflow.functional.interchange import tensor as tensor
from oneflow.functional.joining import cat as cat
from oneflow.functional.joining import cat as concat
from oneflow.functional.joining import cat as concatenate
from oneflow.functional.joining import chunk as chunk
from oneflow.functional.joining import dsplit as dsplit
from oneflow.functional.joining import hsplit as hsplit
from oneflow.functional.joining import split as split
from oneflow.functional.joining import stack as stack
from oneflow.functional.joining import tensor_split as tensor_split
from oneflow.functional.joining import unbind as unbind
from oneflow.functional.joining import vsplit as vsplit
from oneflow.functional.linear_algebra import matmul as matmul
from oneflow.functional.logic import bitwise_not as bitwise_not
from oneflow.functional.properties import is_complex as is_complex
from oneflow.functional.properties import is_floating_point as is_floating_point
from oneflow.functional.properties import is_nonzero as is_nonzero
from oneflow.functional.properties import is_signed as is_signed
from oneflow.functional.properties import is_tensor as is_tensor
from oneflow.functional.properties import numel as numel
from oneflow.functional.piecewise import softshrink as softshrink
from oneflow.functional.piecewise import threshold as threshold
from oneflow.functional.reduction import max_ as max
from oneflow.functional.reduction import mean as mean
from oneflow.functional.reduction import min_ as min
from oneflow.functional.reduction import sum_ as sum
from oneflow.functional.shaping import broadcast_to as broadcast_to
from oneflow.functional.shaping import expand as expand
from oneflow.functional.shaping import flatten as flatten
from oneflow.functional.shaping import movedim as moveaxis
from oneflow.functional.shaping import movedim as movedim
from oneflow.functional.shaping import permute as permute
from oneflow.functional.shaping import ravel as ravel
from oneflow.functional.shaping import reshape as reshape
from oneflow.functional.shaping import squeeze as squeeze
from oneflow.functional.shaping import t as t
from oneflow.functional.shaping import transpose as swapaxes
from oneflow.functional.shaping import transpose as swapdims
from oneflow.functional.shaping import transpose as transpose
from oneflow.functional.shaping import unflatten as unflatten
from oneflow.functional.shaping import unsqueeze as unsqueeze
from oneflow.functional.shaping import view as view
from oneflow.functional.softmax import log_softmax as log_softmax
from oneflow.functional.softmax import softmax as softmax
from oneflow.functional.unary import abs_ as abs
from oneflow.functional.unary import abs_ as absolute
from oneflow.functional.unary import exp as exp
from oneflow.functional.unary import log as log
from oneflow.functional.unary import neg as neg
from oneflow.functional.unary import neg as negative
from oneflow.functional.unary import sqrt as sqrt
from oneflow import nn as nn
from oneflow.functional import autograd as _autograd  # gives Tensor `backward`
from oneflow.functional import random_inplace as _random_inplace  # gives Tensor its methods
from oneflow.functional.generator import Generator as Generator
from oneflow.functional.generator import default_generator as default_generator
from oneflow.functional.generator import get_rng_state as get_rng_state
from oneflow.functional.generator import initial_seed as initial_seed
from oneflow.functional.generator import manual_seed as manual_seed
from oneflow.functional.generator import seed as seed
from oneflow.functional.generator import set_rng_state as set_rng_state
from oneflow.functional.random import bernoulli as bernoulli
from oneflow.functional.random import multinomial as multinomial
from oneflow.functional.random import normal as normal
from oneflow.functional.random import rand as rand
from oneflow.functional.random import rand_like as rand_like
from oneflow.functional.random import randint as randint
from oneflow.functional.random import randint_like as randint_like
from oneflow.functional.random import randn as randn
from oneflow.functional.random import randn_like as randn_like
from oneflow.functional.random import randperm as randperm
from oneflow.tensor.printing import get_printoptions as get_printoptions
from oneflow.tensor.printing import set_printoptions as set_printoptions
from oneflow.tensor.promotion import can_cast as can_cast
from oneflow.tensor.promotion import promote_types as promote_types
from oneflow.tensor.promotion import result_type as result_type
from oneflow.tensor.tensor import Tensor as Tensor
from oneflow.tensor.transfer import (
    import_array as _import_array,
)  # gives Tensor its way in for data
from oneflow.version import __version__ as __version__
from oneflow import random as random

# isort: split
from oneflow import eager as eager
from oneflow import autograd as autograd
from oneflow import utils as utils
