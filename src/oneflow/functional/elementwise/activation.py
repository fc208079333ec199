"""Activation functions of one number: smooth ones and rectifiers."""

from __future__ import annotations

import math

from oneflow.base.dtype import Category
from oneflow.functional.elementwise.unary import floating
from oneflow.functional.registry import function, inplace_form
from oneflow.primitives.operators import activation as a, elementwise as p
from oneflow.primitives.operators.random import random_uniform
from oneflow.primitives.operators.shape import reshape
from oneflow.primitives.registry import Primitive
from oneflow.random.generator import Generator, draw
from oneflow.tensor.call import call, wrap
from oneflow.tensor.methods import before_write, write_result
from oneflow.tensor.operands import as_float, as_scalar_of, require_tensor
from oneflow.tensor.tensor import Tensor

_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


def require_floating(input: Tensor, name: str) -> None:
    """Raise unless the argument is a floating-point tensor.

    Raises:
        TypeError: it is no tensor.
        NotImplementedError: its dtype is not a floating point one.
    """
    require_tensor(input, name)
    if input._value.spec.dtype.category is not Category.FLOAT:
        raise NotImplementedError(
            f'"{name}" not implemented for {input.dtype}: convert the input with `.float()` first'
        )


def apply_activation(
    primitive: Primitive, input: Tensor, *numbers: float, name: str = "", inplace: bool = False
) -> Tensor:
    """Apply an activation to a floating point tensor, in place or not."""
    if not isinstance(input, Tensor) or input._value.spec.dtype.category is not Category.FLOAT:
        require_floating(input, name or primitive.name)
    numbers = tuple(as_scalar_of(input, number) for number in numbers)
    result = call(primitive, before_write(input) if inplace else input, *numbers)
    return write_result(input, result, f"{name or primitive.name}_") if inplace else result


@function(inplace=True, also=("nn.functional.relu", "relu_", "nn.functional.relu_"))
def relu(x: Tensor, inplace: bool = False) -> Tensor:
    """``max(x, 0)``.

    Args:
        x: any shape.
        inplace: write the result into `x`.

    Example:
        >>> import oneflow as flow
        >>> flow.relu(flow.tensor([-1.0, 2.0]))
        tensor([0., 2.], dtype=oneflow.float32)
    """
    require_tensor(x, "relu")
    result = call(p.relu, x)
    return write_result(x, result, "relu_") if inplace else result


@function(inplace=True, also=("nn.functional.sigmoid", "special.expit", "sigmoid_"))
def sigmoid(x: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``.

    Example:
        >>> import oneflow as flow
        >>> flow.sigmoid(flow.tensor([0.0]))
        tensor([0.5000], dtype=oneflow.float32)
    """
    return floating(p.sigmoid, x)


@function(inplace=True, also=("nn.functional.tanh", "tanh_"))
def tanh(x: Tensor) -> Tensor:
    """Hyperbolic tangent.

    Example:
        >>> import oneflow as flow
        >>> flow.tanh(flow.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616], dtype=oneflow.float32)
    """
    return floating(p.tanh, x)


@function(also=("nn.functional.gelu", "_C.gelu"))
def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """``x`` times the probability that a standard normal number is below it.

    Args:
        x: floating point tensor.
        approximate: ``"none"``, or ``"tanh"`` for the approximation with the hyperbolic tangent.

    Raises:
        RuntimeError: `approximate` is something else.

    Example:
        >>> import oneflow as flow
        >>> flow.gelu(flow.tensor([-1.0, 2.0]))
        tensor([-0.1587,  1.9545], dtype=oneflow.float32)
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate}")
    return apply_activation(a.gelu if approximate == "none" else a.gelu_tanh, x, name="gelu")


@function(method=False, also=("nn.functional.quick_gelu",))
def quick_gelu(x: Tensor) -> Tensor:
    """``x * sigmoid(1.702 * x)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.quick_gelu(flow.tensor([1.0]))
        tensor([0.8458], dtype=oneflow.float32)
    """
    return apply_activation(a.quick_gelu, x)


@function(also=("nn.functional.silu",))
def silu(x: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``.

    Args:
        x: floating point or complex tensor.
        inplace: write the result into `x`.

    Example:
        >>> import oneflow as flow
        >>> flow.silu(flow.tensor([1.0]))
        tensor([0.7311], dtype=oneflow.float32)
    """
    if isinstance(x, Tensor) and x._value.spec.dtype.is_complex:
        result = call(a.silu, before_write(x) if inplace else x)
        return write_result(x, result, "silu_") if inplace else result
    return apply_activation(a.silu, x, inplace=inplace)


@function(also=("nn.functional.mish",))
def mish(x: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``.

    Args:
        x: floating point tensor.
        inplace: write the result into `x`.

    Example:
        >>> import oneflow as flow
        >>> flow.mish(flow.tensor([1.0]))
        tensor([0.8651], dtype=oneflow.float32)
    """
    return apply_activation(a.mish, x, inplace=inplace)


@function(also=("nn.functional.softplus",))
def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``; `x` itself where ``beta * x > threshold``.

    Example:
        >>> import oneflow as flow
        >>> flow.softplus(flow.tensor([0.0]))
        tensor([0.6931], dtype=oneflow.float32)
    """
    return apply_activation(a.softplus, x, beta, threshold)


@function(also=("nn.functional.softsign",))
def softsign(x: Tensor) -> Tensor:
    """``x / (1 + |x|)``.

    Example:
        >>> import oneflow as flow
        >>> flow.softsign(flow.tensor([1.0]))
        tensor([0.5000], dtype=oneflow.float32)
    """
    require_tensor(x, "softsign")
    return floating(a.softsign, x)


@function(method=False, namespace="nn.functional")
def tanhshrink(x: Tensor) -> Tensor:
    """``x - tanh(x)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.tanhshrink(flow.tensor([1.0]))
        tensor([0.2384], dtype=oneflow.float32)
    """
    return floating(a.tanhshrink, x)


@function(method=False, namespace="nn.functional", also=("nn.functional.log_sigmoid",))
def logsigmoid(x: Tensor) -> Tensor:
    """The logarithm of the sigmoid, computed without overflow.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.logsigmoid(flow.tensor([0.0]))
        tensor([-0.6931], dtype=oneflow.float32)
    """
    return apply_activation(a.log_sigmoid, x)


@function(method=False, namespace="nn.functional")
def elu(x: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where positive, else ``alpha * (exp(x) - 1)``.

    Args:
        x: floating point tensor.
        alpha: the limit for very negative inputs, negated.
        inplace: write the result into `x`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.elu(flow.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000], dtype=oneflow.float32)
    """
    return apply_activation(a.elu, x, alpha, 1.0, 1.0, inplace=inplace)


@function(method=False, namespace="nn.functional", also=("celu",))
def celu(x: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where positive, else ``alpha * (exp(x / alpha) - 1)``.

    Args:
        x: floating point tensor.
        alpha: the limit for very negative inputs, negated; not 0.
        inplace: write the result into `x`.

    Raises:
        RuntimeError: `alpha` is 0.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.celu(flow.tensor([-1.0, 2.0]), alpha=0.5)
        tensor([-0.4323,  2.0000], dtype=oneflow.float32)
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return apply_activation(a.elu, x, alpha, 1.0, 1.0 / alpha, name="celu", inplace=inplace)


@function(also=("nn.functional.selu",))
def selu(x: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the two constants that keep mean and variance through many layers.

    Args:
        x: floating point tensor.
        inplace: write the result into `x`.

    Example:
        >>> import oneflow as flow
        >>> flow.selu(flow.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014], dtype=oneflow.float32)
    """
    return apply_activation(a.elu, x, _SELU_ALPHA, _SELU_SCALE, 1.0, name="selu", inplace=inplace)


@function(method=False, namespace="nn.functional", keyword_aliases={"negative_slope": "alpha"})
def leaky_relu(x: Tensor, alpha: float = 0.01, inplace: bool = False) -> Tensor:
    """``x`` where positive, else ``alpha * x``.

    Args:
        x: floating point tensor.
        alpha: factor of negative inputs.
        inplace: write the result into `x`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.leaky_relu(flow.tensor([-1.0, 2.0]), 0.1)
        tensor([-0.1000,  2.0000], dtype=oneflow.float32)
    """
    return apply_activation(a.leaky_relu, x, alpha, inplace=inplace)


@function(namespace="nn.functional", keyword_aliases={"weight": "alpha"}, also=("prelu",))
def prelu(x: Tensor, alpha: Tensor) -> Tensor:
    """`leaky_relu` with a learnable slope: one for all, or one per channel (dimension 1).

    Args:
        x: floating point tensor.
        alpha: the slopes, 1 or as many as channels.

    Raises:
        RuntimeError: the number of slopes fits neither.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.prelu(flow.tensor([-1.0, 2.0]), flow.tensor([0.25]))
        tensor([-0.2500,  2.0000], dtype=oneflow.float32)
    """
    require_floating(x, "prelu")
    spec, slopes = x._value.spec, alpha._value.spec
    channels = spec.shape[1] if spec.ndim > 1 else 1
    if slopes.numel not in (1, channels) or slopes.ndim > 1:
        raise RuntimeError(
            f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
            f"{slopes.numel} and channel size = {channels}."
        )
    shape = (slopes.numel, *(1,) * (spec.ndim - 2)) if slopes.numel > 1 else (1,) * spec.ndim
    return call(a.prelu, x, call(reshape, alpha, shape=shape))


@function(method=False, namespace="nn.functional", also=("rrelu",))
def rrelu(
    x: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """`leaky_relu` with a slope drawn per element from ``[lower, upper)``.

    Their mean in evaluation.

    Args:
        x: floating point tensor.
        lower: smallest slope.
        upper: largest slope.
        training: draw; else use the mean.
        inplace: write the result into `x`.
        generator: source of random numbers.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.rrelu(flow.tensor([-1.0, 2.0]), 0.25, 0.25)
        tensor([-0.2500,  2.0000], dtype=oneflow.float32)
    """
    require_floating(x, "rrelu")
    lower, upper = as_float(lower, "lower"), as_float(upper, "upper")
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError(
            f"Lower bound should be less than or equal to the upper bound, got {lower} and {upper}"
        )
    if not training:
        return apply_activation(a.leaky_relu, x, (lower + upper) / 2, name="rrelu", inplace=inplace)
    spec = x._value.spec
    attributes = {"shape": spec.shape, "dtype": spec.dtype, "device": spec.device}
    slopes = wrap(random_uniform(*draw(generator), lower, upper, **attributes))
    result = call(a.prelu, before_write(x) if inplace else x, slopes)
    return write_result(x, result, "rrelu_") if inplace else result


@function(method=False, also=("nn.functional.square_relu",))
def square_relu(x: Tensor) -> Tensor:
    """``max(x, 0) ** 2``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.square_relu(flow.tensor([-1.0, 2.0]))
        tensor([0., 4.], dtype=oneflow.float32)
    """
    return apply_activation(a.square_relu, x)


celu_ = inplace_form(celu, "celu_", "nn.functional.celu_")
elu_ = inplace_form(elu, "nn.functional.elu_")
leaky_relu_ = inplace_form(leaky_relu, "nn.functional.leaky_relu_")
rrelu_ = inplace_form(rrelu, "rrelu_", "nn.functional.rrelu_")
selu_ = inplace_form(selu, "selu_", "nn.functional.selu_")
