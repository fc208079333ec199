"""IResNet: the residual networks of face recognition, which embed a face as a vector."""

from __future__ import annotations

from collections.abc import Sequence

import oneflow as flow
from flowvision.models.registry import ModelFamily
from flowvision.models.resnet import conv1x1 as conv1x1, conv3x3 as conv3x3
from oneflow import Tensor, nn

_TASK = "face recognition (embedding)"
_EPS = 1e-5


class IBasicBlock(nn.Module):
    """Two 3 x 3 convolutions with a normalization before, between and after.

    Input (N, inplanes, H, W), output (N, planes, H / stride, W / stride).

    Args:
        inplanes: channels of the input.
        planes: channels of the output.
        stride: the stride of the second convolution.
        downsample: brings the shortcut to the shape of the output; none if it has it.
    """

    def __init__(
        self, inplanes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inplanes, eps=_EPS)
        self.conv1 = conv3x3(inplanes, planes)
        self.bn2 = nn.BatchNorm2d(planes, eps=_EPS)
        self.prelu = nn.ReLU(inplace=True)  # without slopes, as in the weights of 0.0.54
        self.conv2 = conv3x3(planes, planes, stride)
        self.bn3 = nn.BatchNorm2d(planes, eps=_EPS)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.prelu(self.bn2(self.conv1(self.bn1(x))))
        return self.bn3(self.conv2(x)) + shortcut


class IResNet(nn.Module):
    """IResNet, of ArcFace (https://arxiv.org/abs/1801.07698).

    Input (N, 3, 112, 112), aligned faces; output (N, num_features), embeddings.

    Args:
        block: makes a block, see `IBasicBlock`.
        layers: the number of blocks of each of the four stages.
        dropout: the probability with which a feature is dropped before the linear layer.
        num_features: the length of embeddings.
        zero_init_residual: whether the last normalization of each block begins with weights of
            zero, so that the block begins as its shortcut.
    """

    def __init__(
        self,
        block: type[IBasicBlock],
        layers: Sequence[int],
        dropout: float = 0.0,
        num_features: int = 512,
        zero_init_residual: bool = False,
    ) -> None:
        super().__init__()
        self.conv1 = conv3x3(3, 64)
        self.bn1 = nn.BatchNorm2d(64, eps=_EPS)
        self.prelu = nn.ReLU(inplace=True)
        channels = 64
        stages = []
        for index, depth in enumerate(layers):
            planes = 64 * 2**index
            downsample = nn.Sequential(
                conv1x1(channels, planes, 2), nn.BatchNorm2d(planes, eps=_EPS)
            )
            blocks = [block(channels, planes, 2, downsample)]
            blocks += [block(planes, planes) for _ in range(1, depth)]
            stages.append(nn.Sequential(*blocks))
            channels = planes
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.bn2 = nn.BatchNorm2d(channels, eps=_EPS)
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(channels * 7 * 7, num_features)
        self.features = nn.BatchNorm1d(num_features, eps=_EPS)
        self.features.weight.requires_grad = False  # embeddings are normalized, not scaled
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.normal_(module.weight, std=0.1)
            elif isinstance(module, IBasicBlock) and zero_init_residual:
                nn.init.zeros_(module.bn3.weight)

    def forward(self, x: Tensor) -> Tensor:
        x = self.prelu(self.bn1(self.conv1(x)))
        x = self.bn2(self.layer4(self.layer3(self.layer2(self.layer1(x)))))
        return self.features(self.fc(flow.flatten(self.dropout(x), 1)))


_iresnet = ModelFamily(__name__, IResNet, paper="1801.07698", task=_TASK)

# fmt: off
iresnet50 = _iresnet("iresnet50", "IResNet with 50 layers: 44 million parameters.",
    IBasicBlock, (3, 4, 14, 3), image_size=112)
iresnet101 = _iresnet("iresnet101", "IResNet with 101 layers: 65 million parameters.",
    IBasicBlock, (3, 13, 30, 3), image_size=112)
