"""GoogLeNet: inception modules, with batch normalization."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import oneflow as flow
from flowvision.models.registry import register_model
from oneflow import Tensor, nn

# The normalization of images in torchvision's training; TensorFlow's was (x - 0.5) / 0.5.
_MEAN = (0.485, 0.456, 0.406)
_DEVIATION = (0.229, 0.224, 0.225)


class GoogLeNetOutputs(NamedTuple):
    """The results of GoogLeNet: logits, and in training the logits of two auxiliary classifiers.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import GoogLeNetOutputs
        >>> outputs = GoogLeNetOutputs(flow.ones(1, 10), None, None)
        >>> outputs.logits.shape
        oneflow.Size([1, 10])
    """

    logits: Tensor
    aux_logits2: Tensor | None
    aux_logits1: Tensor | None


_GoogLeNetOutputs = GoogLeNetOutputs  # torchvision's older name


class BasicConv2d(nn.Module):
    """A convolution without bias, batch normalization and a rectifier.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        **kwargs: further arguments of the convolution, such as `kernel_size`.
    """

    def __init__(self, in_channels: int, out_channels: int, **kwargs: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.relu(self.bn(self.conv(x)))


class InceptionInputTransform(nn.Module):
    """Images normalized as in torchvision's training, normalized as in TensorFlow's instead.

    Input and output (N, 3, H, W).
    """

    def __init__(self) -> None:
        super().__init__()
        scale = flow.tensor(_DEVIATION).reshape(1, 3, 1, 1) / 0.5
        shift = (flow.tensor(_MEAN).reshape(1, 3, 1, 1) - 0.5) / 0.5
        self.register_buffer("scale", scale, persistent=False)
        self.register_buffer("shift", shift, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale + self.shift


class Inception(nn.Module):
    """The paper's figure 2 (b): four branches, concatenated.

    Input (N, in_channels, H, W); output (N, ch1x1 + ch3x3 + ch5x5 + pool_proj, H, W). The branch
    that is 5 x 5 in the paper is 3 x 3, as in all published weights.

    Args:
        in_channels: the number of channels of the input.
        ch1x1: channels of the first branch.
        ch3x3red: channels before the 3 x 3 convolution of the second branch.
        ch3x3: channels of the second branch.
        ch5x5red: channels before the last convolution of the third branch.
        ch5x5: channels of the third branch.
        pool_proj: channels of the fourth branch.
        conv_block: makes a convolution, see `BasicConv2d`.
    """

    def __init__(
        self,
        in_channels: int,
        ch1x1: int,
        ch3x3red: int,
        ch3x3: int,
        ch5x5red: int,
        ch5x5: int,
        pool_proj: int,
        conv_block: Callable[..., nn.Module] = BasicConv2d,
    ) -> None:
        super().__init__()
        self.branch1 = conv_block(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(
            conv_block(in_channels, ch3x3red, kernel_size=1),
            conv_block(ch3x3red, ch3x3, kernel_size=3, padding=1),
        )
        self.branch3 = nn.Sequential(
            conv_block(in_channels, ch5x5red, kernel_size=1),
            conv_block(ch5x5red, ch5x5, kernel_size=3, padding=1),
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(3, stride=1, padding=1, ceil_mode=True),
            conv_block(in_channels, pool_proj, kernel_size=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        branches = (self.branch1, self.branch2, self.branch3, self.branch4)
        return flow.cat([branch(x) for branch in branches], dim=1)


class InceptionAux(nn.Module):
    """A classifier in the middle of the network, whose loss helps to train the layers before it.

    Input (N, in_channels, H, W); output (N, num_classes).

    Args:
        in_channels: the number of channels of the input.
        num_classes: the number of classes.
        conv_block: makes a convolution, see `BasicConv2d`.
        dropout: the probability with which a feature is dropped before the last layer.
    """

    def __init__(
        self,
        in_channels: int,
        num_classes: int,
        conv_block: Callable[..., nn.Module] = BasicConv2d,
        dropout: float = 0.7,
    ) -> None:
        super().__init__()
        self.conv = conv_block(in_channels, 128, kernel_size=1)
        self.fc1 = nn.Linear(128 * 4 * 4, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(nn.functional.adaptive_avg_pool2d(x, (4, 4)))
        x = nn.functional.relu(self.fc1(flow.flatten(x, 1)))
        return self.fc2(self.dropout(x))


class GoogLeNet(nn.Module):
    """GoogLeNet (https://arxiv.org/abs/1409.4842).

    Input (N, 3, H, W), at least 15 pixels high and wide; output `GoogLeNetOutputs`, each part of
    shape (N, num_classes).

    Args:
        num_classes: the number of classes.
        aux_logits: whether there are auxiliary classifiers.
        transform_input: whether images come normalized as for torchvision's other models, and are
            brought to the normalization that the published weights were trained with.
        init_weights: whether to draw the weights from a truncated normal distribution; True if
            not given.
        blocks: make a convolution, an inception module and an auxiliary classifier.
    """

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        init_weights: bool | None = None,
        blocks: Sequence[Callable[..., nn.Module]] = (BasicConv2d, Inception, InceptionAux),
    ) -> None:
        super().__init__()
        conv_block, inception, aux_block = blocks
        self.transform = InceptionInputTransform() if transform_input else nn.Identity()
        self.conv1 = conv_block(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = conv_block(64, 64, kernel_size=1)
        self.conv3 = conv_block(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.inception3a = inception(192, 64, 96, 128, 16, 32, 32)
        self.inception3b = inception(256, 128, 128, 192, 32, 96, 64)
        self.maxpool3 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.inception4a = inception(480, 192, 96, 208, 16, 48, 64)
        self.inception4b = inception(512, 160, 112, 224, 24, 64, 64)
        self.inception4c = inception(512, 128, 128, 256, 24, 64, 64)
        self.inception4d = inception(512, 112, 144, 288, 32, 64, 64)
        self.inception4e = inception(528, 256, 160, 320, 32, 128, 128)
        self.maxpool4 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self.inception5a = inception(832, 256, 160, 320, 32, 128, 128)
        self.inception5b = inception(832, 384, 192, 384, 48, 128, 128)
        self.aux1 = aux_block(512, num_classes) if aux_logits else None
        self.aux2 = aux_block(528, num_classes) if aux_logits else None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(1024, num_classes)
        if init_weights is not False:
            for module in self.modules():
                if isinstance(module, nn.Conv2d | nn.Linear):
                    nn.init.trunc_normal_(module.weight, std=0.01)

    def forward(self, x: Tensor) -> GoogLeNetOutputs:
        x = self.maxpool1(self.conv1(self.transform(x)))
        x = self.maxpool2(self.conv3(self.conv2(x)))
        x = self.maxpool3(self.inception3b(self.inception3a(x)))
        x = self.inception4a(x)
        aux1 = self.aux1(x) if self.aux1 is not None and self.training else None
        x = self.inception4d(self.inception4c(self.inception4b(x)))
        aux2 = self.aux2(x) if self.aux2 is not None and self.training else None
        x = self.maxpool4(self.inception4e(x))
        x = self.avgpool(self.inception5b(self.inception5a(x)))
        logits = self.fc(self.dropout(flow.flatten(x, 1)))
        return GoogLeNetOutputs(logits, aux2, aux1)


@register_model(
    paper="1409.4842",
    url="https://download.pytorch.org/models/googlenet-1378be20.pth",
    pretrained_options={"transform_input": True},
)
def googlenet(**kwargs: Any) -> GoogLeNet:
    """GoogLeNet: 6.6 million parameters, and 6.4 million of the auxiliary classifiers."""
    return GoogLeNet(**kwargs)
