"""Layers for training with quantization in mind: scales from what tensors hold, and rounding.

Two formulas. Google's: ``symmetric`` rounds multiples of a scale to signed numbers, ``affine`` to
unsigned ones around a zero point. Cambricon's: signed numbers, the scale a power of two, given by
its exponent.
"""

from __future__ import annotations

from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.creation.factory_functions import zeros
from oneflow.functional.elementwise.clamp import where
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


class _QuantizationBase(Module):
    """Base of quantizers: their options."""

    def __init__(self, formula: str, bit: int, scheme: str) -> None:
        super().__init__()
        if formula not in ("google", "cambricon"):
            raise ValueError(
                f"`quantization_formula` must be 'google' or 'cambricon', got {formula!r}"
            )
        if scheme not in ("symmetric", "affine"):
            raise ValueError(
                f"`quantization_scheme` must be 'symmetric' or 'affine', got {scheme!r}"
            )
        # Weights and activations have 8 bits at most; programs round biases to 32.
        if not 2 <= bit <= 32:
            raise ValueError(f"`quantization_bit` must be from 2 to 32, got {bit}")
        self.quantization_formula = formula
        self.quantization_bit = bit
        self.quantization_scheme = scheme

    @property
    def _affine(self) -> bool:
        return self.quantization_formula == "google" and self.quantization_scheme == "affine"

    def _parameters_of(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        """Scale and zero point for numbers from `low` to `high`."""
        if self._affine:
            scale = (high - low) / (2.0**self.quantization_bit - 1)
            return scale, -low / scale
        if self.quantization_formula == "cambricon":
            return high.log2().floor() - (self.quantization_bit - 2), high * 0
        return high / (2.0 ** (self.quantization_bit - 1) - 1), high * 0

    def _factor(self, input: Tensor, scale: Tensor, zero_point: Tensor) -> tuple[Tensor, Tensor]:
        """Scale and zero point to broadcast with `input`: of all, or one for each ``input[i]``."""
        if self.quantization_formula == "cambricon":
            scale = 2.0**scale
        if scale.numel() > 1:
            shape = (-1, *[1] * (input.ndim - 1))
            return scale.reshape(shape), zero_point.reshape(shape)
        return scale.reshape(()), zero_point.reshape(())

    def _quantized(self, input: Tensor, scale: Tensor, zero_point: Tensor) -> Tensor:
        """The integer for each element."""
        if self._affine:
            return (input / scale + zero_point).round().clamp(0, 2**self.quantization_bit - 1)
        largest = 2 ** (self.quantization_bit - 1) - 1
        return (input / scale).round().clamp(-largest, largest)


class MinMaxObserver(_QuantizationBase):
    """Scale and zero point from the smallest and the largest element.

    Args:
        quantization_formula: ``"google"`` or ``"cambricon"``.
        quantization_bit: bits of a quantized number, 2 to 32.
        quantization_scheme: ``"symmetric"`` (signed) or ``"affine"`` (unsigned).
        per_layer_quantization: one scale for all; False: one for each ``input[i]``.

    Shape:
        input: ``(*)``, any shape.
        scale: ``(1)``, or ``(M)`` with the input's first size ``M``, one for each ``input[i]``.
        zero_point: the shape of the scale.

    Returns:
        Scale and zero point, each of shape ``[1]`` or ``[input.shape[0]]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.MinMaxObserver()(flow.tensor([-1.0, 2.54]))[0]
        tensor([0.0200], dtype=oneflow.float32)
    """

    def __init__(
        self,
        quantization_formula: str = "google",
        quantization_bit: int = 8,
        quantization_scheme: str = "symmetric",
        per_layer_quantization: bool = True,
    ) -> None:
        super().__init__(quantization_formula, quantization_bit, quantization_scheme)
        self.per_layer_quantization = per_layer_quantization

    def forward(self, input: Tensor) -> tuple[Tensor, Tensor]:
        per_layer = self.per_layer_quantization or self.quantization_formula == "cambricon"
        rows = input.detach().reshape(1 if per_layer else input.shape[0], -1)
        if not self._affine:
            rows = rows.abs()
        return self._parameters_of(rows.amin(1), rows.amax(1))


class MovingAverageMinMaxObserver(_QuantizationBase):
    """Scale and zero point from moving averages of the smallest and largest element.

    Args:
        stop_update_after_iters: last step in which the averages change.
        quantization_formula: ``"google"`` or ``"cambricon"``.
        quantization_bit: bits of a quantized number, 2 to 32.
        quantization_scheme: ``"symmetric"`` (signed) or ``"affine"`` (unsigned).
        momentum: part of the old average that is kept.

    Attributes:
        moving_max: ``(1,)``, at first 0, which stands for nothing seen yet.
        moving_min: likewise.

    Shape:
        input: ``(*)``, any shape.
        current_train_step: ``(1)``.
        scale: ``(1)``.
        zero_point: ``(1)``.

    Returns:
        Scale and zero point of shape ``[1]``.

    Example:
        >>> import oneflow as flow
        >>> observer = flow.nn.MovingAverageMinMaxObserver(stop_update_after_iters=3)
        >>> observer(flow.tensor([-1.0, 2.54]), flow.tensor([0]))[0]
        tensor([0.0200], dtype=oneflow.float32)
    """

    moving_max: Tensor
    moving_min: Tensor

    def __init__(
        self,
        stop_update_after_iters: int = 1,
        quantization_formula: str = "google",
        quantization_bit: int = 8,
        quantization_scheme: str = "symmetric",
        momentum: float = 0.95,
    ) -> None:
        super().__init__(quantization_formula, quantization_bit, quantization_scheme)
        self.stop_update_after_iters, self.momentum = stop_update_after_iters, momentum
        self.register_buffer("moving_max", zeros(1))
        self.register_buffer("moving_min", zeros(1))

    def reset_running_stats(self) -> None:
        """Forget the averages."""
        self.moving_max.fill_(0)
        self.moving_min.fill_(0)

    def forward(self, input: Tensor, current_train_step: Tensor) -> tuple[Tensor, Tensor]:
        if self.training:
            with no_grad():
                self._update_range(
                    input.detach(), current_train_step <= self.stop_update_after_iters
                )
        return self._parameters_of(self.moving_min.clone(), self.moving_max.clone())

    def _update_range(self, input: Tensor, condition: Tensor) -> None:
        """Move the averages where `condition`; an average of 0 has not seen anything yet."""
        high = input.max() if self._affine else input.abs().max()
        low = input.min() if self._affine else high
        for average, seen in ((self.moving_max, high), (self.moving_min, low)):
            moved = average * self.momentum + seen * (1 - self.momentum)
            average.copy_(where(condition, where(average == 0, seen, moved), average))


class FakeQuantization(_QuantizationBase):
    """Rounds to what quantized numbers stand for; gradients pass unchanged.

    Args:
        quantization_formula: ``"google"`` or ``"cambricon"``.
        quantization_bit: bits of a quantized number, 2 to 32.
        quantization_scheme: ``"symmetric"`` (signed) or ``"affine"`` (unsigned).

    Shape:
        input: ``(*)``, any shape.
        scale: ``(1)``, or ``(M)`` with the input's first size ``M``.
        zero_point: the shape of the scale.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([-1.0, 0.26, 9.0])
        >>> flow.nn.FakeQuantization(quantization_bit=4)(x, flow.tensor([0.5]), flow.tensor([0.0]))
        tensor([-1.0000,  0.5000,  3.5000], dtype=oneflow.float32)
    """

    def __init__(
        self,
        quantization_formula: str = "google",
        quantization_bit: int = 8,
        quantization_scheme: str = "symmetric",
    ) -> None:
        super().__init__(quantization_formula, quantization_bit, quantization_scheme)

    def forward(self, input: Tensor, scale: Tensor, zero_point: Tensor) -> Tensor:
        plain = input.detach()
        scale, zero_point = self._factor(plain, scale.detach(), zero_point.detach())
        number = self._quantized(plain, scale, zero_point)
        dequantized = (number - zero_point if self._affine else number) * scale
        # The value of `dequantized` with the gradient of `input`.
        return dequantized + (input - plain) if input.requires_grad else dequantized


class Quantization(FakeQuantization):
    """The quantized numbers themselves, as floating point; they have no gradient.

    Arguments as for `FakeQuantization`.

    Shape:
        input: ``(*)``, any shape.
        scale: ``(1)``, or ``(M)`` with the input's first size ``M``.
        zero_point: the shape of the scale.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([-1.0, 0.26, 9.0])
        >>> flow.nn.Quantization(quantization_bit=4)(x, flow.tensor([0.5]), flow.tensor([0.0]))
        tensor([-2.,  1.,  7.], dtype=oneflow.float32)
    """

    def forward(self, input: Tensor, scale: Tensor, zero_point: Tensor) -> Tensor:
        plain = input.detach()
        return self._quantized(plain, *self._factor(plain, scale.detach(), zero_point.detach()))
