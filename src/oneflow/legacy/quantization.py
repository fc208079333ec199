"""Quantized numbers in jobs, `oneflow.quantization`: layers of `oneflow.nn` as functions."""

from __future__ import annotations

from oneflow.functional.creation import factory_functions
from oneflow.legacy.context import current_run
from oneflow.legacy.variables import get_variable
from oneflow.nn.modules import quantization_functions
from oneflow.tensor.tensor import Tensor


def min_max_observer(
    input: Tensor,
    quantization_bit: int = 8,
    quantization_scheme: str = "symmetric",
    quantization_formula: str = "google",
    per_layer_quantization: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Return scale and zero point from the smallest and the largest element.

    The arguments are those of `oneflow.nn.MinMaxObserver`; `name` is accepted.

    Example:
        >>> import oneflow as flow
        >>> flow.quantization.min_max_observer(flow.tensor([-1.0, 2.54]))[0]
        tensor([0.0200], dtype=oneflow.float32)
    """
    options = quantization_formula, quantization_bit, quantization_scheme
    return quantization_functions.min_max_observer(input, *options, per_layer_quantization)


def moving_average_min_max_observer(
    input: Tensor,
    quantization_bit: int = 8,
    quantization_scheme: str = "symmetric",
    quantization_formula: str = "google",
    momentum: float = 0.95,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Return scale and zero point from moving averages of the smallest and largest element.

    The averages are the variables ``name-moving_max`` and ``name-moving_min``, which training jobs
    move. The other arguments are those of `oneflow.nn.MovingAverageMinMaxObserver`.

    Raises:
        RuntimeError: called outside the body of a job.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def scale(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        ...     return flow.quantization.moving_average_min_max_observer(x)[0]
        >>> scale(np.float32([-1, 1])).shape
        (1,)
        >>> flow.clear_default_session()
    """
    run = current_run("flow.quantization.moving_average_min_max_observer()")
    name = name or run.unique_name("MinMaxObserver_")
    moving_max = get_variable(f"{name}-moving_max", (1,), trainable=False)
    moving_min = get_variable(f"{name}-moving_min", (1,), trainable=False)
    # The step 0 is never later than the last step that moves the averages.
    step = factory_functions.zeros(1, device=input.device)
    options = quantization_formula, quantization_bit, quantization_scheme
    return quantization_functions.moving_average_min_max_observer(
        input, step, moving_max, moving_min, run.is_training, 1, *options, momentum
    )


def fake_quantization(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quantization_bit: int = 8,
    quantization_scheme: str = "symmetric",
    quantization_formula: str = "google",
    name: str | None = None,
) -> Tensor:
    """Return `input` rounded to what quantized numbers stand for; gradients pass unchanged.

    The arguments are those of `oneflow.nn.FakeQuantization`; `name` is accepted.

    Example:
        >>> import oneflow as flow
        >>> x, scale, zero = flow.tensor([-1.0, 0.26, 9.0]), flow.tensor([0.5]), flow.zeros(1)
        >>> flow.quantization.fake_quantization(x, scale, zero, quantization_bit=4)
        tensor([-1.0000,  0.5000,  3.5000], dtype=oneflow.float32)
    """
    options = quantization_formula, quantization_bit, quantization_scheme
    return quantization_functions.fake_quantization(input, scale, zero_point, *options)
