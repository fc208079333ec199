"""The layers of quantization as functions, as upstream's builtins take their arguments."""

from __future__ import annotations

from oneflow.nn.modules.quantization import (
    FakeQuantization,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    Quantization,
)
from oneflow.tensor.tensor import Tensor


def fake_quantization(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quantization_formula: str,
    quantization_bit: int,
    quantization_scheme: str,
) -> Tensor:
    """Round to what quantized numbers stand for, as `oneflow.nn.FakeQuantization` does.

    Example:
        >>> import oneflow as flow
        >>> x, scale, zero = flow.tensor([-1.0, 0.26, 9.0]), flow.tensor([0.5]), flow.zeros(1)
        >>> flow._C.fake_quantization(x, scale, zero, "google", 4, "symmetric")
        tensor([-1.0000,  0.5000,  3.5000], dtype=oneflow.float32)
    """
    layer = FakeQuantization(quantization_formula, quantization_bit, quantization_scheme)
    return layer(input, scale, zero_point)


def quantization(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quantization_formula: str,
    quantization_bit: int,
    quantization_scheme: str,
) -> Tensor:
    """Return the quantized numbers, as `oneflow.nn.Quantization` does.

    Example:
        >>> import oneflow as flow
        >>> x, scale, zero = flow.tensor([-1.0, 0.26, 9.0]), flow.tensor([0.5]), flow.zeros(1)
        >>> flow._C.quantization(x, scale, zero, "google", 4, "symmetric")
        tensor([-2.,  1.,  7.], dtype=oneflow.float32)
    """
    layer = Quantization(quantization_formula, quantization_bit, quantization_scheme)
    return layer(input, scale, zero_point)


def min_max_observer(
    input: Tensor,
    quantization_formula: str,
    quantization_bit: int,
    quantization_scheme: str,
    per_layer_quantization: bool,
) -> tuple[Tensor, Tensor]:
    """Return scale and zero point of a tensor, as `oneflow.nn.MinMaxObserver` does.

    Example:
        >>> import oneflow as flow
        >>> flow._C.min_max_observer(flow.tensor([-1.0, 2.54]), "google", 8, "symmetric", True)[0]
        tensor([0.0200], dtype=oneflow.float32)
    """
    layer = MinMaxObserver(
        quantization_formula, quantization_bit, quantization_scheme, per_layer_quantization
    )
    return layer(input)


def moving_average_min_max_observer(
    input: Tensor,
    current_train_step: Tensor,
    moving_max: Tensor,
    moving_min: Tensor,
    training: bool,
    stop_update_after_iters: int,
    quantization_formula: str,
    quantization_bit: int,
    quantization_scheme: str,
    momentum: float,
) -> tuple[Tensor, Tensor]:
    """Return scale and zero point from averages, as `oneflow.nn.MovingAverageMinMaxObserver` does.

    Args:
        input: a tensor.
        current_train_step: a tensor of shape (1,); the averages move until
            `stop_update_after_iters`.
        moving_max: the average of largest elements, of shape (1,), which moves in training.
        moving_min: the running smallest element.
        training: whether the averages move.
        stop_update_after_iters: the last step in which they do.
        quantization_formula: ``"google"`` or ``"cambricon"``.
        quantization_bit: bits of a quantized number, 2 to 32.
        quantization_scheme: ``"symmetric"`` or ``"affine"``.
        momentum: the share of the earlier average.

    Example:
        >>> import oneflow as flow
        >>> high, low, x = flow.zeros(1), flow.zeros(1), flow.tensor([-1.0, 2.54])
        >>> numbers = flow._C.moving_average_min_max_observer(
        ...     x, flow.zeros(1), high, low, True, 1, "google", 8, "symmetric", 0.9
        ... )
        >>> numbers[0], high
        (tensor([0.0200], dtype=oneflow.float32), tensor([2.5400], dtype=oneflow.float32))
    """
    layer = MovingAverageMinMaxObserver(
        stop_update_after_iters,
        quantization_formula,
        quantization_bit,
        quantization_scheme,
        momentum,
    ).train(training)
    layer.moving_max, layer.moving_min = moving_max, moving_min
    return layer(input, current_train_step)
