"""Operators that ONNX Runtime adds, in the domain ``com.microsoft``."""

from __future__ import annotations

from collections.abc import Sequence

import oneflow as flow
from oneflow import Tensor
from oneflow_onnx.x2oneflow.operators.quantization import dynamic_quantize
from oneflow_onnx.x2oneflow.operators.recurrent import (
    LSTM_FUNCTIONS,
    Function,
    LstmOperands,
    run_lstm,
    settings_of,
)
from oneflow_onnx.x2oneflow.registry import operator


def _quantized_product(matrix: Tensor, scale: Tensor, zero_point: Tensor) -> Function:
    """Return the product with a quantised matrix; it quantises the other operand when it runs."""
    shifted = matrix.to(flow.float64) - zero_point.to(flow.float64)

    def product(x: Tensor) -> Tensor:
        values, x_scale, x_zero_point = dynamic_quantize(x)
        # Sums of products of bytes are exact in double precision.
        sums = flow.matmul(values.to(flow.float64) - x_zero_point.to(flow.float64), shifted)
        return sums.to(flow.float32) * (x_scale * scale)

    return product


@operator("DynamicQuantizeLSTM", domain="com.microsoft", constant=(4, 5, 6))
def dynamic_quantize_lstm(
    x: Tensor,
    weight: Tensor,
    recurrence: Tensor,
    bias: Tensor | None = None,
    lengths: Tensor | None = None,
    initial_h: Tensor | None = None,
    initial_c: Tensor | None = None,
    peepholes: Tensor | None = None,
    *quantization: Tensor,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float = 0.0,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
) -> tuple[Tensor, ...]:
    """LSTM whose matrices are bytes; scale and zero point of either come last, per direction.

    The matrices have a row per input, unlike those of LSTM.
    """
    settings = settings_of(
        LSTM_FUNCTIONS, activations, activation_alpha, activation_beta, clip, direction, 0
    )
    weight_scale, weight_zero, state_scale, state_zero = quantization

    def products(index: int) -> tuple[Function, Function]:
        return (
            _quantized_product(weight[index], weight_scale[index], weight_zero[index]),
            _quantized_product(recurrence[index], state_scale[index], state_zero[index]),
        )

    operands = LstmOperands(x, products, recurrence.shape[1], bias, peepholes)
    return run_lstm(operands, settings, [initial_h, initial_c], lengths, bool(input_forget))
