"""Activation functions of one number: smooth ones and rectifiers."""

from __future__ import annotations

from oneflow.base.dtype import Category
from oneflow.functional.generator import Generator, draw
from oneflow.functional.registry import function
from oneflow.functional.unary import floating, require_tensor
from oneflow.primitives import activation as a, elementwise as p
from oneflow.primitives.random import random_uniform
from oneflow.primitives.registry import Primitive
from oneflow.primitives.shape import reshape
from oneflow.tensor.call import call, wrap
from oneflow.tensor.methods import before_write, write_result
from oneflow.tensor.tensor import Tensor

_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


def require_floating(input: Tensor, name: str) -> None:
    """Refuse what is not a floating point tensor.

    Raises:
        TypeError: it is no tensor.
        NotImplementedError: its dtype is not a floating point one.
    """
    require_tensor(input, name)
    if input._value.spec.dtype.category is not Category.FLOAT:
        raise NotImplementedError(
            f'"{name}" not implemented for {input.dtype}: convert the input with `.float()` first'
        )


def activate(
    primitive: Primitive, input: Tensor, *numbers: float, name: str = "", inplace: bool = False
) -> Tensor:
    """Apply an activation to a floating point tensor, in place or not."""
    if not isinstance(input, Tensor) or input._value.spec.dtype.category is not Category.FLOAT:
        require_floating(input, name or primitive.name)
    result = call(primitive, before_write(input) if inplace else input, *numbers)
    return write_result(input, result, f"{name or primitive.name}_") if inplace else result


@function(inplace=True)
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``.

    Args:
        input: any shape.
        inplace: write the result into `input`.

    Example:
        >>> import oneflow as flow
        >>> flow.relu(flow.tensor([-1.0, 2.0]))
        tensor([0., 2.], dtype=oneflow.float32)
    """
    require_tensor(input, "relu")
    result = call(p.relu, input)
    return write_result(input, result, "relu_") if inplace else result


@function(inplace=True)
def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-input))``.

    Example:
        >>> import oneflow as flow
        >>> flow.sigmoid(flow.tensor([0.0]))
        tensor([0.5000], dtype=oneflow.float32)
    """
    return floating(p.sigmoid, input)


@function(inplace=True)
def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent.

    Example:
        >>> import oneflow as flow
        >>> flow.tanh(flow.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616], dtype=oneflow.float32)
    """
    return floating(p.tanh, input)


@function()
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """``input`` times the probability that a standard normal number is below it.

    Args:
        input: floating point tensor.
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
    return activate(a.gelu if approximate == "none" else a.gelu_tanh, input, name="gelu")


@function(method=False)
def quick_gelu(input: Tensor) -> Tensor:
    """``input * sigmoid(1.702 * input)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.quick_gelu(flow.tensor([1.0]))
        tensor([0.8458], dtype=oneflow.float32)
    """
    return activate(a.quick_gelu, input)


@function()
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``.

    Args:
        input: floating point tensor.
        inplace: write the result into `input`.

    Example:
        >>> import oneflow as flow
        >>> flow.silu(flow.tensor([1.0]))
        tensor([0.7311], dtype=oneflow.float32)
    """
    return activate(a.silu, input, inplace=inplace)


@function()
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``.

    Args:
        input: floating point tensor.
        inplace: write the result into `input`.

    Example:
        >>> import oneflow as flow
        >>> flow.mish(flow.tensor([1.0]))
        tensor([0.8651], dtype=oneflow.float32)
    """
    return activate(a.mish, input, inplace=inplace)


@function()
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``; `input` itself where ``beta * input > threshold``.

    Example:
        >>> import oneflow as flow
        >>> flow.softplus(flow.tensor([0.0]))
        tensor([0.6931], dtype=oneflow.float32)
    """
    return activate(a.softplus, input, beta, threshold)


@function()
def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``.

    Example:
        >>> import oneflow as flow
        >>> flow.softsign(flow.tensor([1.0]))
        tensor([0.5000], dtype=oneflow.float32)
    """
    require_tensor(input, "softsign")
    return floating(a.softsign, input)


@function(method=False, namespace="nn.functional")
def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.tanhshrink(flow.tensor([1.0]))
        tensor([0.2384], dtype=oneflow.float32)
    """
    return floating(a.tanhshrink, input)


@function(method=False, namespace="nn.functional")
def logsigmoid(input: Tensor) -> Tensor:
    """The logarithm of the sigmoid, computed without overflow.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.logsigmoid(flow.tensor([0.0]))
        tensor([-0.6931], dtype=oneflow.float32)
    """
    return activate(a.log_sigmoid, input)


@function(method=False, namespace="nn.functional")
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, else ``alpha * (exp(input) - 1)``.

    Args:
        input: floating point tensor.
        alpha: the limit for very negative inputs, negated.
        inplace: write the result into `input`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.elu(flow.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000], dtype=oneflow.float32)
    """
    return activate(a.elu, input, alpha, 1.0, 1.0, inplace=inplace)


@function(method=False, namespace="nn.functional")
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, else ``alpha * (exp(input / alpha) - 1)``.

    Args:
        input: floating point tensor.
        alpha: the limit for very negative inputs, negated; not 0.
        inplace: write the result into `input`.

    Raises:
        RuntimeError: `alpha` is 0.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.celu(flow.tensor([-1.0, 2.0]), alpha=0.5)
        tensor([-0.4323,  2.0000], dtype=oneflow.float32)
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return activate(a.elu, input, alpha, 1.0, 1.0 / alpha, name="celu", inplace=inplace)


@function()
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the two constants that keep mean and variance through many layers.

    Args:
        input: floating point tensor.
        inplace: write the result into `input`.

    Example:
        >>> import oneflow as flow
        >>> flow.selu(flow.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014], dtype=oneflow.float32)
    """
    return activate(a.elu, input, _SELU_ALPHA, _SELU_SCALE, 1.0, name="selu", inplace=inplace)


@function(method=False, namespace="nn.functional", spellings={"alpha": "negative_slope"})
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where positive, else ``negative_slope * input``.

    Args:
        input: floating point tensor.
        negative_slope: factor of negative inputs.
        inplace: write the result into `input`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.leaky_relu(flow.tensor([-1.0, 2.0]), 0.1)
        tensor([-0.1000,  2.0000], dtype=oneflow.float32)
    """
    return activate(a.leaky_relu, input, negative_slope, inplace=inplace)


@function(namespace="nn.functional", spellings={"alpha": "weight"})
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`leaky_relu` with a learnable slope: one for all, or one per channel (dimension 1).

    Args:
        input: floating point tensor.
        weight: the slopes, 1 or as many as channels.

    Raises:
        RuntimeError: the number of slopes fits neither.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.prelu(flow.tensor([-1.0, 2.0]), flow.tensor([0.25]))
        tensor([-0.2500,  2.0000], dtype=oneflow.float32)
    """
    require_floating(input, "prelu")
    spec, slopes = input._value.spec, weight._value.spec
    channels = spec.shape[1] if spec.ndim > 1 else 1
    if slopes.numel not in (1, channels) or slopes.ndim > 1:
        raise RuntimeError(
            f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
            f"{slopes.numel} and channel size = {channels}."
        )
    shape = (slopes.numel, *(1,) * (spec.ndim - 2)) if slopes.numel > 1 else (1,) * spec.ndim
    return call(a.prelu, input, call(reshape, weight, shape=shape))


@function(method=False, namespace="nn.functional")
def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """`leaky_relu` with a slope drawn per element from ``[lower, upper)``.

    Their mean in evaluation.

    Args:
        input: floating point tensor.
        lower: smallest slope.
        upper: largest slope.
        training: draw; else use the mean.
        inplace: write the result into `input`.
        generator: source of random numbers.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.rrelu(flow.tensor([-1.0, 2.0]), 0.25, 0.25)
        tensor([-0.2500,  2.0000], dtype=oneflow.float32)
    """
    require_floating(input, "rrelu")
    if lower > upper:
        raise RuntimeError(
            f"Lower bound should be less than or equal to the upper bound, got {lower} and {upper}"
        )
    if not training:
        return activate(a.leaky_relu, input, (lower + upper) / 2, name="rrelu", inplace=inplace)
    spec = input._value.spec
    facts = {"shape": spec.shape, "dtype": spec.dtype, "device": spec.device}
    slopes = wrap(random_uniform(*draw(generator), float(lower), float(upper), **facts))
    result = call(a.prelu, before_write(input) if inplace else input, slopes)
    return write_result(input, result, "rrelu_") if inplace else result


@function(method=False)
def square_relu(input: Tensor) -> Tensor:
    """``max(input, 0) ** 2``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.square_relu(flow.tensor([-1.0, 2.0]))
        tensor([0., 4.], dtype=oneflow.float32)
    """
    return activate(a.square_relu, input)


def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """In-place version of `rrelu`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.rrelu_(flow.tensor([-1.0, 2.0]), 0.25, 0.25)
        tensor([-0.2500,  2.0000], dtype=oneflow.float32)
    """
    return rrelu(input, lower, upper, training, inplace=True)
