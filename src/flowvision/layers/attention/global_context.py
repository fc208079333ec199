"""Global context (https://arxiv.org/abs/1904.11492)."""

from __future__ import annotations

from collections.abc import Callable

from flowvision.layers.blocks.mlp import ConvMlp
from flowvision.layers.helpers import make_divisible
from flowvision.layers.regularization.norm import LayerNorm2d
from oneflow import Tensor, nn


class GlobalContext(nn.Module):
    """One attended vector for the whole image, which weighs channels or is added to them.

    Input and output (N, channels, H, W).

    Args:
        channels: the number of channels of the input.
        use_attn: whether the vector is attended; otherwise it is the mean.
        fuse_add: whether a perceptron's output for the vector is added.
        fuse_scale: whether a perceptron's output for the vector weighs channels.
        init_last_zero: whether the perceptrons' last layers begin with zero.
        rd_ratio: hidden channels of the perceptrons, as a share of `channels`.
        rd_channels: hidden channels of the perceptrons, instead of `rd_ratio`.
        rd_divisor: a divisor of the number of these channels.
        act_layer: makes an activation.
        gate_layer: makes the function from a perceptron's output to weights.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import GlobalContext
        >>> GlobalContext(32)(flow.rand(2, 32, 8, 8)).shape
        oneflow.Size([2, 32, 8, 8])
    """

    def __init__(
        self,
        channels: int,
        use_attn: bool = True,
        fuse_add: bool = False,
        fuse_scale: bool = True,
        init_last_zero: bool = False,
        rd_ratio: float = 1 / 8,
        rd_channels: int | None = None,
        rd_divisor: int = 1,
        act_layer: Callable[[], nn.Module] = nn.ReLU,
        gate_layer: Callable[[], nn.Module] = nn.Sigmoid,
    ) -> None:
        super().__init__()
        hidden = rd_channels or make_divisible(channels * rd_ratio, rd_divisor, round_limit=0)
        self.conv_attn = nn.Conv2d(channels, 1, 1) if use_attn else None
        branches = [
            ConvMlp(channels, hidden, act_layer=act_layer, norm_layer=LayerNorm2d) if used else None
            for used in (fuse_add, fuse_scale)
        ]
        self.mlp_add, self.mlp_scale = branches
        self.gate = gate_layer()
        for mlp in branches:
            if mlp is not None and init_last_zero:
                nn.init.zeros_(mlp.fc2.weight)
                nn.init.zeros_(mlp.fc2.bias)

    def forward(self, x: Tensor) -> Tensor:
        if self.conv_attn is None:
            context = x.mean((2, 3), keepdim=True)
        else:
            weights = self.conv_attn(x).flatten(2).softmax(-1)
            context = (x.flatten(2) @ weights.transpose(1, 2))[..., None]
        if self.mlp_scale is not None:
            x = x * self.gate(self.mlp_scale(context))
        return x if self.mlp_add is None else x + self.mlp_add(context)
