"""Quantized numbers in jobs, `oneflow.quantization`: layers of `oneflow.nn` as functions."""

from __future__ import annotations

from oneflow.nn.modules.quantization import FakeQuantization, MinMaxObserver
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
    observer = MinMaxObserver(
        quantization_formula, quantization_bit, quantization_scheme, per_layer_quantization
    )
    return observer(input)


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
    layer = FakeQuantization(quantization_formula, quantization_bit, quantization_scheme)
    return layer(input, scale, zero_point)
