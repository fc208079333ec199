"""Steps of optimizers, of the domain ai.onnx.preview.training."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import oneflow as flow
from oneflow import Tensor
from oneflow_onnx.x2oneflow.registry import operator
from oneflow_onnx.x2oneflow.values import integer, number

_DOMAIN = "ai.onnx.preview.training"

Step = Callable[..., tuple[Tensor, ...]]


def _for_each(operands: tuple[Tensor, ...], groups: int, step: Step) -> tuple[Tensor, ...]:
    """Apply a step to every parameter.

    The operands are all parameters, then all gradients, then all states of one kind after the
    other; the results all parameters, then all states of one kind after the other.
    """
    count = len(operands) // groups
    columns = [operands[index::count] for index in range(count)]
    results = [step(*column) for column in columns]
    return tuple(value for kind in zip(*results, strict=True) for value in kind)


@operator("Adagrad", domain=_DOMAIN, host=(0, 1))
def adagrad(
    rate: np.ndarray,
    count: np.ndarray,
    *operands: Tensor,
    decay_factor: float = 0.0,
    epsilon: float = 0.0,
    norm_coefficient: float = 0.0,
) -> tuple[Tensor, ...]:
    """Scale steps by the root of the sum of squared gradients."""
    step_size = number(rate) / (1 + integer(count) * decay_factor)

    def step(x: Tensor, gradient: Tensor, total: Tensor) -> tuple[Tensor, Tensor]:
        gradient = gradient + x * norm_coefficient
        total = total + flow.square(gradient)
        return x - step_size * gradient / (flow.sqrt(total) + epsilon), total

    return _for_each(operands, 3, step)


@operator("Adam", domain=_DOMAIN, host=(0, 1))
def adam(
    rate: np.ndarray,
    count: np.ndarray,
    *operands: Tensor,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 0.0,
    norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> tuple[Tensor, ...]:
    """Scale steps by averages of gradients and of their squares."""
    done = integer(count)
    step_size = number(rate)
    if done > 0:
        step_size *= float(np.sqrt(1 - beta**done)) / (1 - alpha**done)

    def step(x: Tensor, gradient: Tensor, v: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        gradient = gradient + x * norm_coefficient
        v = v * alpha + gradient * (1 - alpha)
        h = h * beta + flow.square(gradient) * (1 - beta)
        moved = x - step_size * v / (flow.sqrt(h) + epsilon)
        return moved * (1 - norm_coefficient_post), v, h

    return _for_each(operands, 4, step)


@operator("Momentum", domain=_DOMAIN, host=(0, 1))
def momentum(
    rate: np.ndarray,
    count: np.ndarray,
    *operands: Tensor,
    alpha: float,
    beta: float,
    mode: str,
    norm_coefficient: float,
) -> tuple[Tensor, ...]:
    """Follow a running sum of the gradients."""
    share = beta if integer(count) > 0 else 1.0

    def step(x: Tensor, gradient: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        gradient = gradient + x * norm_coefficient
        v = v * alpha + gradient * share
        direction = gradient + v * alpha if mode == "nesterov" else v
        return x - number(rate) * direction, v

    return _for_each(operands, 3, step)
