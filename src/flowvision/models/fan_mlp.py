"""Perceptrons of FAN: the hidden layer sees neighbours, channels are weighed."""

from __future__ import annotations

import oneflow as flow
from flowvision.layers.attention.se import SqueezeExcite
from flowvision.layers.blocks.mlp import MakeModule, Mlp
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
        hidden_features: the number of features of a token in between; default `in_features`.
        out_features: the number of features of an output token; default `in_features`.
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


class SEMlp(LocalMlp):
    """A `LocalMlp` whose output channels are weighed by their averages.

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
        >>> sum(parameter.numel() for parameter in MlpOri(4, 2, bias=False).parameters())
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
