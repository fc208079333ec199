"""A network that paints a photo in the style it was trained for."""

from __future__ import annotations

from flowvision.models.registry import register_model
from oneflow import Tensor, nn
from oneflow.nn import functional as F

STYLE_NAMES = ("sketch", "candy", "mosaic", "rain_princess", "udnie")
# A spelling that programs for upstream use.
_ALIASES = {"undie": "udnie"}


class ConvLayer(nn.Module):
    """A convolution whose input is reflected at the border; keeps the size at a stride of 1.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        kernel_size: an odd number.
        stride: the stride of the convolution.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int) -> None:
        super().__init__()
        self.reflection_pad = nn.ReflectionPad2d(kernel_size // 2)
        self.conv2d = nn.Conv2d(in_channels, out_channels, kernel_size, stride)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv2d(self.reflection_pad(x))


class UpsampleConvLayer(ConvLayer):
    """The same after enlarging the input, which leaves no checkerboard as a transposed one would.

    https://distill.pub/2016/deconv-checkerboard.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        kernel_size: an odd number.
        stride: the stride of the convolution.
        upsample: the factor by which height and width are multiplied before; None: not.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int,
        upsample: int | None = None,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride)
        self.upsample = upsample

    def forward(self, x: Tensor) -> Tensor:
        if self.upsample is not None:
            x = F.interpolate(x, scale_factor=self.upsample, mode="nearest")
        return super().forward(x)


class ResidualBlock(nn.Module):
    """Two convolutions with instance normalization beside a shortcut; keeps the shape.

    Args:
        channels: the number of channels of input and output.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = ConvLayer(channels, channels, 3, 1)
        self.in1 = nn.InstanceNorm2d(channels, affine=True)
        self.conv2 = ConvLayer(channels, channels, 3, 1)
        self.in2 = nn.InstanceNorm2d(channels, affine=True)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return x + self.in2(self.conv2(self.relu(self.in1(self.conv1(x)))))


class FastNeuralStyle(nn.Module):
    """Fast neural style (https://arxiv.org/abs/1603.08155) with instance normalization.

    Input (N, 3, H, W) with values in [0, 255], at least 17 pixels high and wide; output of the same
    shape, if height and width are multiples of 4 (otherwise rounded up), in [0, 255].
    """

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = ConvLayer(3, 32, 9, 1)
        self.in1 = nn.InstanceNorm2d(32, affine=True)
        self.conv2 = ConvLayer(32, 64, 3, 2)
        self.in2 = nn.InstanceNorm2d(64, affine=True)
        self.conv3 = ConvLayer(64, 128, 3, 2)
        self.in3 = nn.InstanceNorm2d(128, affine=True)
        self.res1 = ResidualBlock(128)
        self.res2 = ResidualBlock(128)
        self.res3 = ResidualBlock(128)
        self.res4 = ResidualBlock(128)
        self.res5 = ResidualBlock(128)
        self.deconv1 = UpsampleConvLayer(128, 64, 3, 1, upsample=2)
        self.in4 = nn.InstanceNorm2d(64, affine=True)
        self.deconv2 = UpsampleConvLayer(64, 32, 3, 1, upsample=2)
        self.in5 = nn.InstanceNorm2d(32, affine=True)
        self.deconv3 = ConvLayer(32, 3, 9, 1)
        self.relu = nn.ReLU()

    def forward(self, X: Tensor) -> Tensor:
        return self.generate(X).clamp(0, 255)

    def generate(self, X: Tensor) -> Tensor:
        """Return the picture before values are cut to [0, 255]; training needs its gradients."""
        x = self.relu(self.in1(self.conv1(X)))
        x = self.relu(self.in2(self.conv2(x)))
        x = self.relu(self.in3(self.conv3(x)))
        for block in (self.res1, self.res2, self.res3, self.res4, self.res5):
            x = block(x)
        x = self.relu(self.in4(self.deconv1(x)))
        x = self.relu(self.in5(self.deconv2(x)))
        return self.deconv3(x)


@register_model(paper="1603.08155", task="style transfer", aliases=("neural_style_transfer",))
def fast_neural_style(style_model: str = "sketch") -> FastNeuralStyle:
    """Fast neural style: 1.7 million parameters.

    Args:
        style_model: the name of the style: "sketch", "candy", "mosaic", "rain_princess" or "udnie".
            All have the same network; `pretrained` takes the path of the weights of a style, such
            as `examples/vision/style.py` trains.

    Raises:
        ValueError: if there is no such style.
    """
    style = _ALIASES.get(style_model, style_model)
    if style not in STYLE_NAMES:
        raise ValueError(
            f"`style_model` must be one of {', '.join(STYLE_NAMES)}, got {style_model!r}"
        )
    return FastNeuralStyle()


neural_style_transfer = fast_neural_style
