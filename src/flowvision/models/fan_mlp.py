"""Perceptrons of FAN: the hidden layer sees neighbours, channels are weighed."""

from __future__ import annotations

from collections.abc import Callable

import oneflow as flow
from flowvision.layers.blocks.mlp import MakeModule, Mlp
from flowvision.layers.helpers import make_divisible
from oneflow import Tensor, nn


class DWConv(nn.Module):
    """Two depthwise 3 x 3 convolutions of a grid of tokens.

    Input and output (N, H * W, features).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import DWConv
        >>> DWConv(8)(flow.rand(1, 6, 8), H=2, W=3).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(self, features: int, act_layer: MakeModule = nn.GELU) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(features, features, 3, padding=1, groups=features)
        self.act = act_layer()
        self.bn = nn.BatchNorm2d(features)
        self.conv2 = nn.Conv2d(features, features, 3, padding=1, groups=features)

    def forward(self, x: Tensor, H: int, W: int) -> Tensor:
        grid = x.transpose(1, 2).unflatten(2, (H, W))
        grid = self.conv2(self.bn(self.act(self.conv1(grid))))
        return grid.flatten(2).transpose(1, 2)


class LocalMlp(nn.Module):
    """A perceptron whose hidden layer also sees the neighbours of a token.

    Input (N, H * W, in_features), output (N, H * W, out_features).

    Args:
        in_features: the length of an input token.
        hidden_features: of a token in between; default `in_features`.
        out_features: of an output token; default `in_features`.
        act_layer: makes the activation between the convolutions of the neighbours.
        drop: the probability with which a feature is dropped.
        linear: whether a rectifier follows the first linear map.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import LocalMlp
        >>> LocalMlp(8, 16)(flow.rand(1, 6, 8), H=2, W=3).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int | None = None,
        out_features: int | None = None,
        act_layer: MakeModule = nn.GELU,
        drop: float = 0.0,
        linear: bool = False,
    ) -> None:
        super().__init__()
        hidden_features = hidden_features or in_features
        self.fc1 = nn.Linear(in_features, hidden_features)
        self.relu = nn.ReLU() if linear else nn.Identity()
        self.dwconv = DWConv(hidden_features, act_layer)
        self.gamma = nn.Parameter(flow.ones(hidden_features))
        self.fc2 = nn.Linear(hidden_features, out_features or in_features)
        self.drop = nn.Dropout(drop)

    def forward(self, x: Tensor, H: int, W: int) -> Tensor:
        x = self.relu(self.fc1(x))
        x = x + self.drop(self.gamma * self.dwconv(x, H, W))
        return self.drop(self.fc2(x))


def sigmoid(x: Tensor, inplace: bool = False) -> Tensor:
    """Return the logistic function of `x`, written to it if `inplace`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import sigmoid
        >>> sigmoid(flow.tensor([0.0])).item()
        0.5
    """
    return x.sigmoid_() if inplace else x.sigmoid()


class SqueezeExcite(nn.Module):
    """Channels weighed by what all of them are on average (https://arxiv.org/abs/1709.01507).

    Input and output (N, in_chs, H, W).

    Args:
        in_chs: the number of channels.
        se_ratio: the channels of the layer between, as a multiple of `reduced_base_chs`.
        reduced_base_chs: default `in_chs`.
        act_layer: makes the activation between the two layers.
        gate_fn: from the second layer's output to weights.
        divisor: the channels of the layer between are a multiple of it.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import SqueezeExcite
        >>> SqueezeExcite(8)(flow.rand(1, 8, 6, 6)).shape
        oneflow.Size([1, 8, 6, 6])
    """

    def __init__(
        self,
        in_chs: int,
        se_ratio: float = 0.25,
        reduced_base_chs: int | None = None,
        act_layer: MakeModule = nn.ReLU,
        gate_fn: Callable[[Tensor], Tensor] = sigmoid,
        divisor: int = 1,
    ) -> None:
        super().__init__()
        reduced = make_divisible((reduced_base_chs or in_chs) * se_ratio, divisor)
        self.conv_reduce = nn.Conv2d(in_chs, reduced, 1)
        self.act1 = act_layer()
        self.conv_expand = nn.Conv2d(reduced, in_chs, 1)
        self.gate_fn = gate_fn

    def forward(self, x: Tensor) -> Tensor:
        squeezed = self.conv_reduce(x.mean((2, 3), keepdim=True))
        return x * self.gate_fn(self.conv_expand(self.act1(squeezed)))


class SEMlp(LocalMlp):
    """A `LocalMlp` whose output channels are weighed by what they are on average.

    Input (N, H * W, in_features), output (N, H * W, out_features).

    Args:
        in_features: see `LocalMlp`.
        hidden_features: see `LocalMlp`.
        out_features: see `LocalMlp`.
        act_layer: see `LocalMlp`.
        drop: see `LocalMlp`.
        linear: see `LocalMlp`.
        use_se: whether channels are weighed.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import SEMlp
        >>> SEMlp(8, 16)(flow.rand(1, 6, 8), H=2, W=3).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int | None = None,
        out_features: int | None = None,
        act_layer: MakeModule = nn.GELU,
        drop: float = 0.0,
        linear: bool = False,
        use_se: bool = True,
    ) -> None:
        super().__init__(in_features, hidden_features, out_features, act_layer, drop, linear)
        self.se = SqueezeExcite(out_features or in_features) if use_se else nn.Identity()

    def forward(self, x: Tensor, H: int, W: int) -> Tensor:
        grid = super().forward(x, H, W).transpose(1, 2).unflatten(2, (H, W))
        return self.se(grid).flatten(2).transpose(1, 2)


class MlpOri(Mlp):
    """A perceptron that may lack biases; see `flowvision.layers.Mlp`.

    Example:
        >>> from flowvision.models import MlpOri
        >>> sum(each.numel() for each in MlpOri(4, 2, bias=False).parameters())
        16
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int | None = None,
        out_features: int | None = None,
        act_layer: MakeModule = nn.GELU,
        bias: bool = True,
        drop: float = 0.0,
    ) -> None:
        super().__init__(in_features, hidden_features, out_features, act_layer, drop)
        if not bias:
            self.fc1.register_parameter("bias", None)
            self.fc2.register_parameter("bias", None)
