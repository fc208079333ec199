"""Random counts: Poisson and binomial numbers."""

from __future__ import annotations

from typing import Any

from oneflow.functional.derivatives import raise_without_derivative
from oneflow.functional.registry import function
from oneflow.functional.shape.stack import broadcast_tensors
from oneflow.primitives.operators import sampling
from oneflow.random.generator import Generator, draw
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor


@function(method=False)
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson random numbers, each with the rate at its index in `input`.

    Args:
        input: rates, not negative, floating point. They get zero gradients.
        generator: where the numbers come from, default the default generator.

    Returns:
        Integers in the shape and dtype of `input`.

    Raises:
        NotImplementedError: `input` is not floating point.
        RuntimeError: (at the next read of a value) a rate is negative or NaN.

    Example:
        >>> import oneflow as flow
        >>> flow.poisson(flow.zeros(3))
        tensor([0., 0., 0.], dtype=oneflow.float32)
    """
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"`poisson` needs floating point rates, got {input.dtype!r}")
    return call(sampling.random_poisson, input, *draw(generator))


@function(method=False)
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Binomial random numbers: how many of `count` trials succeed, each with probability `prob`.

    Args:
        count: numbers of trials, floating point.
        prob: probabilities of the same dtype; the shapes broadcast.
        generator: where the numbers come from, default the default generator.

    Raises:
        TypeError: an argument is no tensor.
        ValueError: `count` or `prob` is not floating point.
        RuntimeError: their dtypes differ.

    Example:
        >>> import oneflow as flow
        >>> flow.binomial(flow.tensor([4.0, 7.0]), flow.tensor([0.0, 1.0]))
        tensor([0., 7.], dtype=oneflow.float32)
    """
    for name, argument in (("count", count), ("prob", prob)):
        _check_floating(argument, name)
    if count.dtype is not prob.dtype:
        raise RuntimeError(
            "binomial(): `count` and `prob` must have one dtype, got "
            f"{count.dtype!r} and {prob.dtype!r}"
        )
    counts, probs = broadcast_tensors(count.detach(), prob.detach())
    result = call(sampling.random_binomial, counts, probs, *draw(generator))
    return raise_without_derivative("binomial", result, count, prob)


def _check_floating(argument: Any, name: str) -> None:
    if not isinstance(argument, Tensor):
        raise TypeError(
            f"binomial(): argument `{name}` must be Tensor, not {type(argument).__name__}"
        )
    if not argument.dtype.is_floating_point:
        raise ValueError(
            f"binomial only supports floating-point dtypes for {name}, got: {argument.dtype!r}"
        )
