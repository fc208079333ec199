"""Convolution layers for quantization-aware training.

Input and weight are rounded to what quantized numbers stand for; gradients pass as if they were not
(Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
Inference", 2018).
"""

from __future__ import annotations

from oneflow.base.dtype import int64
from oneflow.base.sizes import IntOrInts
from oneflow.functional.creation.factory_functions import zeros
from oneflow.nn.modules.conv import Conv1d, Conv2d, Conv3d, _Conv
from oneflow.nn.modules.image_layout import accept_channels_last
from oneflow.nn.modules.quantization import (
    FakeQuantization,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
)
from oneflow.tensor.tensor import Tensor


class _QuantizationAwareConv(_Conv):
    """Base of convolution layers with observers of input and weight."""

    current_train_step: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: IntOrInts,
        stride: IntOrInts = 1,
        padding: str | IntOrInts = 0,
        dilation: IntOrInts = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        quantization_formula: str = "google",
        quantization_bit: int = 8,
        quantization_scheme: str = "symmetric",
        weight_quant_per_layer: bool = True,
        input_quant_momentum: float = 0.95,
    ) -> None:
        sizes = (kernel_size, stride, padding, dilation, groups, bias, padding_mode)
        super().__init__(in_channels, out_channels, *sizes)
        options = (quantization_formula, quantization_bit, quantization_scheme)
        self.input_min_max_observer = MovingAverageMinMaxObserver(1, *options, input_quant_momentum)
        self.register_buffer("current_train_step", zeros(1, dtype=int64))
        self.weight_min_max_observer = MinMaxObserver(*options, weight_quant_per_layer)
        self.fake_quantizer = FakeQuantization(*options)

    def forward(self, input: Tensor) -> Tensor:
        input_range = self.input_min_max_observer(input, self.current_train_step)
        weight_range = self.weight_min_max_observer(self.weight)
        return self._conv_forward(
            self.fake_quantizer(input, *input_range),
            self.fake_quantizer(self.weight, *weight_range),
            self.bias,
        )


class QatConv1d(_QuantizationAwareConv, Conv1d):
    """Quantization-aware convolution over one spatial dimension; arguments as for `QatConv2d`.

    Attributes:
        weight, bias: as of `Conv1d`.
        input_min_max_observer, weight_min_max_observer, fake_quantizer: as of `QatConv2d`.
        current_train_step: ``(1)``, at first 0.

    Shape:
        input: ``(N, in_channels, L)`` or ``(in_channels, L)``.
        output: the same as for `Conv1d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.QatConv1d(16, 33, 3, stride=2)(flow.ones(2, 16, 50)).shape
        oneflow.Size([2, 33, 24])
    """


@accept_channels_last
class QatConv2d(_QuantizationAwareConv, Conv2d):
    """Quantization-aware convolution over two spatial dimensions.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: the same as for `Conv2d`, like all arguments up to `padding_mode`.
        stride: step of the kernel.
        padding: elements added on both sides.
        dilation: distance between the elements of the kernel.
        groups: number of groups of channels.
        bias: add a learnable bias.
        padding_mode: what is added.
        quantization_formula: ``"google"`` or ``"cambricon"``, see `MinMaxObserver`.
        quantization_bit: bits of a quantized number, 2 to 32.
        quantization_scheme: ``"symmetric"`` (signed) or ``"affine"`` (unsigned).
        weight_quant_per_layer: one scale for the weight; False: one for each output channel.
        input_quant_momentum: part of the old average of the input's range that is kept.

    Attributes:
        weight, bias: as of `Conv2d`.
        input_min_max_observer: a `MovingAverageMinMaxObserver` of the inputs' range.
        weight_min_max_observer: a `MinMaxObserver` of the weight's range.
        fake_quantizer: a `FakeQuantization` of both.
        current_train_step: ``(1)``, at first 0.

    Shape:
        input: ``(N, in_channels, H, W)`` or ``(in_channels, H, W)``.
        output: the same as for `Conv2d`.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.QatConv2d(1, 1, 1, bias=False, quantization_bit=4)
        >>> _ = layer.weight.data.fill_(1.0)
        >>> layer(flow.tensor([[[[7.0, 0.6, -2.4]]]])).tolist()
        [[[[7.0, 1.0, -2.0]]]]
    """


class QatConv3d(_QuantizationAwareConv, Conv3d):
    """Quantization-aware convolution over three spatial dimensions; arguments as for `QatConv2d`.

    Attributes:
        weight, bias: as of `Conv3d`.
        input_min_max_observer, weight_min_max_observer, fake_quantizer: as of `QatConv2d`.
        current_train_step: ``(1)``, at first 0.

    Shape:
        input: ``(N, in_channels, D, H, W)`` or ``(in_channels, D, H, W)``.
        output: the same as for `Conv3d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.QatConv3d(3, 4, 2)(flow.ones(1, 3, 5, 6, 7)).shape
        oneflow.Size([1, 4, 4, 5, 6])
    """
