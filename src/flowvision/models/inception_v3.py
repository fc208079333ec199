"""Inception v3: inception modules of factorized convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import oneflow as flow
from flowvision.models.googlenet import BasicConv2d, InceptionInputTransform
from flowvision.models.registry import register_model
from oneflow import Tensor, nn


class InceptionOutputs(NamedTuple):
    """The results of Inception v3: logits, and in training the logits of its auxiliary classifier.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import InceptionOutputs
        >>> outputs = InceptionOutputs(flow.ones(1, 10), None)
        >>> outputs.logits.shape
        oneflow.Size([1, 10])
    """

    logits: Tensor
    aux_logits: Tensor | None


_InceptionOutputs = InceptionOutputs  # torchvision's older name


def _square(in_channels: int, out_channels: int, size: int, **kwargs: Any) -> BasicConv2d:
    """Return a convolution of `size` x `size` that keeps the size of its input."""
    return BasicConv2d(in_channels, out_channels, kernel_size=size, padding=size // 2, **kwargs)


def _row(in_channels: int, out_channels: int, size: int) -> BasicConv2d:
    """Return a convolution of 1 x `size` that keeps the size of its input."""
    return BasicConv2d(in_channels, out_channels, kernel_size=(1, size), padding=(0, size // 2))


def _column(in_channels: int, out_channels: int, size: int) -> BasicConv2d:
    """Return a convolution of `size` x 1 that keeps the size of its input."""
    return BasicConv2d(in_channels, out_channels, kernel_size=(size, 1), padding=(size // 2, 0))


def _pooled(x: Tensor) -> Tensor:
    return nn.functional.avg_pool2d(x, 3, stride=1, padding=1)


class InceptionA(nn.Module):
    """The paper's figure 5, at 35 x 35: a 5 x 5 convolution is two of 3 x 3.

    Input (N, in_channels, H, W), output (N, 224 + pool_features, H, W).
    """

    def __init__(self, in_channels: int, pool_features: int) -> None:
        super().__init__()
        self.branch1x1 = _square(in_channels, 64, 1)
        self.branch5x5_1 = _square(in_channels, 48, 1)
        self.branch5x5_2 = _square(48, 64, 5)
        self.branch3x3dbl_1 = _square(in_channels, 64, 1)
        self.branch3x3dbl_2 = _square(64, 96, 3)
        self.branch3x3dbl_3 = _square(96, 96, 3)
        self.branch_pool = _square(in_channels, pool_features, 1)

    def forward(self, x: Tensor) -> Tensor:
        branches = [
            self.branch1x1(x),
            self.branch5x5_2(self.branch5x5_1(x)),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            self.branch_pool(_pooled(x)),
        ]
        return flow.cat(branches, dim=1)


class InceptionB(nn.Module):
    """From 35 x 35 to 17 x 17, as in the paper's figure 10.

    Input (N, in_channels, H, W), output (N, in_channels + 480, (H - 1) / 2, (W - 1) / 2).
    """

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.branch3x3 = BasicConv2d(in_channels, 384, kernel_size=3, stride=2)
        self.branch3x3dbl_1 = _square(in_channels, 64, 1)
        self.branch3x3dbl_2 = _square(64, 96, 3)
        self.branch3x3dbl_3 = BasicConv2d(96, 96, kernel_size=3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        branches = [
            self.branch3x3(x),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            nn.functional.max_pool2d(x, 3, stride=2),
        ]
        return flow.cat(branches, dim=1)


class InceptionC(nn.Module):
    """The paper's figure 6, at 17 x 17: a 7 x 7 convolution is one of 1 x 7 and one of 7 x 1.

    Input (N, in_channels, H, W), output (N, 768, H, W); `channels_7x7` are inside.
    """

    def __init__(self, in_channels: int, channels_7x7: int) -> None:
        super().__init__()
        width = channels_7x7
        self.branch1x1 = _square(in_channels, 192, 1)
        self.branch7x7_1 = _square(in_channels, width, 1)
        self.branch7x7_2 = _row(width, width, 7)
        self.branch7x7_3 = _column(width, 192, 7)
        self.branch7x7dbl_1 = _square(in_channels, width, 1)
        self.branch7x7dbl_2 = _column(width, width, 7)
        self.branch7x7dbl_3 = _row(width, width, 7)
        self.branch7x7dbl_4 = _column(width, width, 7)
        self.branch7x7dbl_5 = _row(width, 192, 7)
        self.branch_pool = _square(in_channels, 192, 1)

    def forward(self, x: Tensor) -> Tensor:
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        branches = [
            self.branch1x1(x),
            self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x))),
            self.branch7x7dbl_5(self.branch7x7dbl_4(double)),
            self.branch_pool(_pooled(x)),
        ]
        return flow.cat(branches, dim=1)


class InceptionD(nn.Module):
    """From 17 x 17 to 8 x 8.

    Input (N, in_channels, H, W), output (N, in_channels + 512, (H - 1) / 2, (W - 1) / 2).
    """

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.branch3x3_1 = _square(in_channels, 192, 1)
        self.branch3x3_2 = BasicConv2d(192, 320, kernel_size=3, stride=2)
        self.branch7x7x3_1 = _square(in_channels, 192, 1)
        self.branch7x7x3_2 = _row(192, 192, 7)
        self.branch7x7x3_3 = _column(192, 192, 7)
        self.branch7x7x3_4 = BasicConv2d(192, 192, kernel_size=3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        wide = self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))
        branches = [
            self.branch3x3_2(self.branch3x3_1(x)),
            self.branch7x7x3_4(wide),
            nn.functional.max_pool2d(x, 3, stride=2),
        ]
        return flow.cat(branches, dim=1)


class InceptionE(nn.Module):
    """The paper's figure 7, at 8 x 8: 1 x 3 and 3 x 1 convolutions side by side.

    Input (N, in_channels, H, W), output (N, 2048, H, W).
    """

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.branch1x1 = _square(in_channels, 320, 1)
        self.branch3x3_1 = _square(in_channels, 384, 1)
        self.branch3x3_2a = _row(384, 384, 3)
        self.branch3x3_2b = _column(384, 384, 3)
        self.branch3x3dbl_1 = _square(in_channels, 448, 1)
        self.branch3x3dbl_2 = _square(448, 384, 3)
        self.branch3x3dbl_3a = _row(384, 384, 3)
        self.branch3x3dbl_3b = _column(384, 384, 3)
        self.branch_pool = _square(in_channels, 192, 1)

    def forward(self, x: Tensor) -> Tensor:
        single = self.branch3x3_1(x)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        branches = [
            self.branch1x1(x),
            self.branch3x3_2a(single),
            self.branch3x3_2b(single),
            self.branch3x3dbl_3a(double),
            self.branch3x3dbl_3b(double),
            self.branch_pool(_pooled(x)),
        ]
        return flow.cat(branches, dim=1)


class Inception3Aux(nn.Module):
    """A classifier in the middle of the network; input (N, in_channels, 17, 17) or larger."""

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.conv0 = _square(in_channels, 128, 1)
        self.conv1 = BasicConv2d(128, 768, kernel_size=5)
        self.fc = nn.Linear(768, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.avg_pool2d(x, 5, stride=3)
        x = nn.functional.adaptive_avg_pool2d(self.conv1(self.conv0(x)), (1, 1))
        return self.fc(flow.flatten(x, 1))


_BLOCKS = (
    BasicConv2d,
    InceptionA,
    InceptionB,
    InceptionC,
    InceptionD,
    InceptionE,
    Inception3Aux,
)


class Inception3(nn.Module):
    """Inception v3 (https://arxiv.org/abs/1512.00567).

    Input (N, 3, H, W), made for 299 x 299, at least 75 pixels high and wide (219 in training with
    the auxiliary classifier); output `InceptionOutputs`, each part of shape (N, num_classes).

    Args:
        num_classes: the number of classes.
        aux_logits: whether there is an auxiliary classifier.
        transform_input: whether images come normalized as for torchvision's other models, and are
            brought to the normalization that the published weights were trained with.
        inception_blocks: what makes a convolution, each of the five kinds of blocks and the
            auxiliary classifier; by default `BasicConv2d`, `InceptionA` to `InceptionE` and
            `Inception3Aux`.
        init_weights: whether to draw the weights from truncated normal distributions; True if not
            given.
        dropout: the probability with which a feature is dropped before the classifier.
    """

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        inception_blocks: Sequence[Callable[..., nn.Module]] | None = None,
        init_weights: bool | None = None,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        conv, block_a, block_b, block_c, block_d, block_e, aux = inception_blocks or _BLOCKS
        self.transform = InceptionInputTransform() if transform_input else nn.Identity()
        self.Conv2d_1a_3x3 = conv(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(3, stride=2)
        self.Conv2d_3b_1x1 = conv(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(3, stride=2)
        self.Mixed_5b = block_a(192, 32)
        self.Mixed_5c = block_a(256, 64)
        self.Mixed_5d = block_a(288, 64)
        self.Mixed_6a = block_b(288)
        self.Mixed_6b = block_c(768, 128)
        self.Mixed_6c = block_c(768, 160)
        self.Mixed_6d = block_c(768, 160)
        self.Mixed_6e = block_c(768, 192)
        self.AuxLogits = aux(768, num_classes) if aux_logits else None
        self.Mixed_7a = block_d(768)
        self.Mixed_7b = block_e(1280)
        self.Mixed_7c = block_e(2048)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights is not False:
            self._initialize()

    def _initialize(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.1)
        if self.AuxLogits is not None:
            nn.init.trunc_normal_(self.AuxLogits.conv1.conv.weight, std=0.01)
            nn.init.trunc_normal_(self.AuxLogits.fc.weight, std=0.001)

    def forward(self, x: Tensor) -> InceptionOutputs:
        x = self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(self.transform(x)))
        x = self.maxpool1(self.Conv2d_2b_3x3(x))
        x = self.maxpool2(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x)))
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(x)))
        x = self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))
        x = self.Mixed_6e(self.Mixed_6d(x))
        aux = self.AuxLogits(x) if self.AuxLogits is not None and self.training else None
        x = self.avgpool(self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x))))
        return InceptionOutputs(self.fc(self.dropout(flow.flatten(x, 1))), aux)


@register_model(
    paper="1512.00567",
    image_size=299,
    url="https://download.pytorch.org/models/inception_v3_google-0cc3c7bd.pth",
    pretrained_options={"transform_input": True},
)
def inception_v3(**kwargs: Any) -> Inception3:
    """Inception v3: 24 million parameters, and 3.3 million of the auxiliary classifier."""
    return Inception3(**kwargs)
