"""Functions that layers call beneath the public ones, by which modes and classes see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.functional.nn import adaptive_pooling, conv, pooling
from oneflow.nn import functional
from oneflow.nn.modules.linear import Linear
from oneflow.tensor.tensor import Tensor


def _linear(self: Linear, input: Tensor) -> Tensor:
    return functional.linear(input, self.weight, self.bias)


#: Methods of layers that compute by themselves.
METHODS: dict[Any, Callable[..., Any]] = {Linear.forward: _linear}


def _convolution(*args: Any) -> Tensor:
    *arguments, _, count = args
    return getattr(functional, f"conv{count}d")(*arguments)


def _transposed_convolution(*args: Any) -> Tensor:
    *arguments, _, count = args
    return getattr(functional, f"conv_transpose{count}d")(*arguments)


def _max_pool(
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    return_indices: bool,
    ceil_mode: bool,
    data_format: str,
    count: int,
) -> Any:
    function = getattr(functional, f"max_pool{count}d")
    return function(
        input,
        kernel_size,
        stride,
        padding,
        dilation=dilation,
        ceil_mode=ceil_mode,
        return_indices=return_indices,
    )


def _average_pool(*args: Any) -> Tensor:
    input, kernel_size, stride, padding, ceil_mode, includes_padding, divisor, _, count = args
    options = {} if count == 1 else {"divisor_override": divisor}
    function = getattr(functional, f"avg_pool{count}d")
    return function(input, kernel_size, stride, padding, ceil_mode, includes_padding, **options)


def _adaptive_average(input: Tensor, output_size: Any, data_format: str, count: int) -> Tensor:
    return getattr(functional, f"adaptive_avg_pool{count}d")(input, output_size)


#: Functions beneath public ones, with the public one called in place of each.
INNER_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    conv.convolution: _convolution,
    conv.transposed_convolution: _transposed_convolution,
    pooling.max_pool: _max_pool,
    pooling.average_pool: _average_pool,
    adaptive_pooling.adaptive_average: _adaptive_average,
}
