"""LeViT: a transformer for fast inference, with convolutions first and shrinking attention."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import oneflow as flow
from flowvision.layers.attention.self_attention import merge_heads
from flowvision.layers.blocks.patch_embed import check_image_size
from flowvision.layers.regularization.droppath import DropPath
from flowvision.layers.weight_init import init_transformer_
from flowvision.models.registry import ModelFamily, find_model
from oneflow import Tensor, nn

MakeActivation = Callable[[], nn.Module]


class Conv2d_BN(nn.Sequential):
    """A 3 x 3 convolution that halves the grid, and batch normalisation.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Conv2d_BN
        >>> Conv2d_BN(3, 8)(flow.rand(1, 3, 6, 6)).shape
        oneflow.Size([1, 8, 3, 3])
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        convolution = nn.Conv2d(in_channels, out_channels, 3, stride=2, padding=1, bias=False)
        super().__init__(OrderedDict(c=convolution, bn=nn.BatchNorm2d(out_channels)))


class Linear_BN(nn.Sequential):
    """A linear map of tokens, and batch normalisation of their features.

    Input (N, tokens, in_features), output (N, tokens, out_features).

    Args:
        in_features: the length of an input token.
        out_features: the length of an output token.
        bn_weight_init: what the factors of the normalisation begin with.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Linear_BN
        >>> Linear_BN(8, 16)(flow.rand(2, 5, 8)).shape
        oneflow.Size([2, 5, 16])
    """

    def __init__(self, in_features: int, out_features: int, bn_weight_init: float = 1.0) -> None:
        norm = nn.BatchNorm1d(out_features)
        nn.init.constant_(norm.weight, bn_weight_init)
        super().__init__(OrderedDict(c=nn.Linear(in_features, out_features, bias=False), bn=norm))

    def forward(self, input: Tensor) -> Tensor:
        x = self.c(input)
        return self.bn(x.flatten(0, 1)).reshape(x.shape)


class BN_Linear(nn.Sequential):
    """Batch normalisation and a linear map with truncated normal weights of deviation 0.02.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import BN_Linear
        >>> BN_Linear(8, 3)(flow.rand(4, 8)).shape
        oneflow.Size([4, 3])
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        linear = nn.Linear(in_features, out_features)
        super().__init__(OrderedDict(bn=nn.BatchNorm1d(in_features), l=linear))
        init_transformer_(self)


class Residual(nn.Module):
    """The sum of the input and `m` of it, which may be left out in training.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Residual
        >>> from oneflow import nn
        >>> Residual(nn.Identity(), drop=0.0)(flow.ones(2)).tolist()
        [2.0, 2.0]
    """

    def __init__(self, m: nn.Module, drop: float) -> None:
        super().__init__()
        self.m = m
        self.drop_path = DropPath(drop)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.drop_path(self.m(x))


class Subsample(nn.Module):
    """Every `stride`-th token of every `stride`-th row of a square grid.

    Input (N, resolution * resolution, C).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Subsample
        >>> Subsample(2, resolution=4)(flow.rand(1, 16, 8)).shape
        oneflow.Size([1, 4, 8])
    """

    def __init__(self, stride: int, resolution: int) -> None:
        super().__init__()
        self.stride = stride
        self.resolution = resolution

    def forward(self, x: Tensor) -> Tensor:
        grid = x.unflatten(1, (self.resolution, self.resolution))
        return grid[:, :: self.stride, :: self.stride].flatten(1, 2)


class _BiasedAttention(nn.Module):
    """The part that both attentions share: scores get a learned addend for each distance.

    Args:
        resolution: height and width of the grid of keys.
        stride: how far apart queries are, in keys.
        num_heads: the number of heads.
    """

    attention_bias_idxs: Tensor

    def __init__(self, resolution: int, stride: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        keys = np.indices((resolution, resolution)).reshape(2, 1, -1)
        positions = stride * np.indices((-(-resolution // stride),) * 2).reshape(2, -1, 1)
        rows, columns = np.abs(positions - keys)
        self.attention_biases = nn.Parameter(flow.zeros(num_heads, resolution**2))
        self.register_buffer("attention_bias_idxs", flow.tensor(rows * resolution + columns))

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Return (N, queries, heads * C) from tensors of shape (N, tokens, heads, C)."""
        bias = self.attention_biases[:, self.attention_bias_idxs]
        query, key, value = (tokens.transpose(1, 2) for tokens in (query, key, value))
        heads = nn.functional.scaled_dot_product_attention(query, key, value, bias)
        return merge_heads(heads)

    def heads(self, x: Tensor, sizes: Sequence[int]) -> tuple[Tensor, ...]:
        """Return the parts of each head, each of shape (N, tokens, heads, size)."""
        return x.unflatten(-1, (self.num_heads, -1)).split(list(sizes), dim=-1)


class LevitAttention(_BiasedAttention):
    """Attention with narrow keys, wide values, and an addend for each distance.

    Input and output (N, resolution * resolution, dim).

    Args:
        dim: the length of a token.
        key_dim: the length of a key, of each head.
        num_heads: the number of heads.
        attn_ratio: the length of a value, as a multiple of `key_dim`.
        activation: makes what is applied before the last linear map.
        resolution: height and width of the grid.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import LevitAttention
        >>> from oneflow import nn
        >>> attention = LevitAttention(8, 4, 2, 2, nn.Hardswish, resolution=3)
        >>> attention(flow.rand(1, 9, 8)).shape
        oneflow.Size([1, 9, 8])
    """

    def __init__(
        self,
        dim: int,
        key_dim: int,
        num_heads: int,
        attn_ratio: int,
        activation: MakeActivation,
        resolution: int,
    ) -> None:
        super().__init__(resolution, 1, num_heads)
        self.sizes = (key_dim, key_dim, attn_ratio * key_dim)
        self.qkv = Linear_BN(dim, num_heads * sum(self.sizes))
        self.proj = nn.Sequential(
            activation(), Linear_BN(num_heads * attn_ratio * key_dim, dim, bn_weight_init=0)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(self.attend(*self.heads(self.qkv(x), self.sizes)))


class AttentionSubsample(_BiasedAttention):
    """Attention of every other token of every other row to all: the way to a smaller grid.

    Input (N, resolution * resolution, in_dim); output (N, tokens, out_dim).

    Args:
        in_dim: the length of an input token.
        out_dim: the length of an output token.
        key_dim: the length of a key, of each head.
        num_heads: the number of heads.
        attn_ratio: the length of a value, as a multiple of `key_dim`.
        activation: makes what is applied before the last linear map.
        stride: how far apart the queries are.
        resolution: height and width of the grid of the input.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import AttentionSubsample
        >>> from oneflow import nn
        >>> smaller = AttentionSubsample(8, 16, 4, 2, 2, nn.Hardswish, stride=2, resolution=4)
        >>> smaller(flow.rand(1, 16, 8)).shape
        oneflow.Size([1, 4, 16])
    """

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        key_dim: int,
        num_heads: int,
        attn_ratio: int,
        activation: MakeActivation,
        stride: int,
        resolution: int,
    ) -> None:
        super().__init__(resolution, stride, num_heads)
        self.sizes = (key_dim, attn_ratio * key_dim)
        self.kv = Linear_BN(in_dim, num_heads * sum(self.sizes))
        self.q = nn.Sequential(
            Subsample(stride, resolution), Linear_BN(in_dim, num_heads * key_dim)
        )
        self.proj = nn.Sequential(
            activation(), Linear_BN(num_heads * attn_ratio * key_dim, out_dim)
        )

    def forward(self, x: Tensor) -> Tensor:
        (query,) = self.heads(self.q(x), self.sizes[:1])
        return self.proj(self.attend(query, *self.heads(self.kv(x), self.sizes)))


class LeViT(nn.Module):
    """LeViT (https://arxiv.org/abs/2104.01136).

    Input (N, in_chans, img_size, img_size); output (N, num_classes). With distillation it gives the
    scores of both heads while it is trained, and their mean otherwise.

    Args:
        img_size: height and width of the images, a multiple of 16.
        in_chans: the number of channels of the images.
        num_classes: the number of classes.
        embed_dim: the length of a token in each stage.
        key_dim: the length of a key, of each head.
        depth: the number of pairs of attention and perceptron in each stage.
        num_heads: the number of heads of each stage.
        attn_ratio: the length of a value, as a multiple of that of a key.
        mlp_ratio: the hidden features of a perceptron, as a multiple of the length of a token.
        attention_activation: makes the activation in attention.
        mlp_activation: makes the activation of a perceptron.
        distillation: whether there is a second head that learns from a teacher.
        drop_path: the probability with which a branch is left out.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.levit import LeViT
        >>> model = LeViT(64, embed_dim=(16, 24), key_dim=4, depth=(1, 1), num_heads=(2, 3)).eval()
        >>> model(flow.randn(2, 3, 64, 64)).shape
        oneflow.Size([2, 1000])
    """

    def __init__(
        self,
        img_size: int = 224,
        in_chans: int = 3,
        num_classes: int = 1000,
        embed_dim: Sequence[int] = (192, 288, 384),
        key_dim: int = 32,
        depth: Sequence[int] = (4, 4, 4),
        num_heads: Sequence[int] = (3, 5, 6),
        attn_ratio: int = 2,
        mlp_ratio: int = 2,
        attention_activation: MakeActivation = nn.Hardswish,
        mlp_activation: MakeActivation = nn.Hardswish,
        distillation: bool = True,
        drop_path: float = 0.0,
    ) -> None:
        super().__init__()
        self.img_size = img_size
        self.patch_embed = b16(embed_dim[0], attention_activation, in_chans)

        def mlp(dim: int) -> nn.Module:
            hidden = mlp_ratio * dim
            return nn.Sequential(
                Linear_BN(dim, hidden), mlp_activation(), Linear_BN(hidden, dim, bn_weight_init=0)
            )

        blocks: list[nn.Module] = []
        side = img_size // 16
        for stage, (dim, heads) in enumerate(zip(embed_dim, num_heads, strict=True)):
            if stage:
                before, values = embed_dim[stage - 1], 4
                rest = (before // key_dim, values, attention_activation, 2, side)
                blocks.append(AttentionSubsample(before, dim, key_dim, *rest))
                blocks.append(Residual(mlp(dim), drop_path))
                side = -(-side // 2)
            for _ in range(depth[stage]):
                attention = LevitAttention(
                    dim, key_dim, heads, attn_ratio, attention_activation, side
                )
                blocks += [Residual(branch, drop_path) for branch in (attention, mlp(dim))]
        self.blocks = nn.Sequential(*blocks)
        self.head = BN_Linear(embed_dim[-1], num_classes)
        self.head_dist = BN_Linear(embed_dim[-1], num_classes) if distillation else None

    def forward(self, x: Tensor) -> Any:
        check_image_size(x, (self.img_size, self.img_size))
        x = self.blocks(self.patch_embed(x).flatten(2).transpose(1, 2)).mean(1)
        if self.head_dist is None:
            return self.head(x)
        scores, distilled = self.head(x), self.head_dist(x)
        return (scores, distilled) if self.training else (scores + distilled) / 2


def b16(n: int, activation: MakeActivation, in_chans: int = 3) -> nn.Sequential:
    """Return the convolutions before the transformer, which make a token of 16 x 16 pixels.

    Args:
        n: the length of a token.
        activation: makes what is applied between the convolutions.
        in_chans: the number of channels of the images.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import b16
        >>> from oneflow import nn
        >>> b16(16, nn.Hardswish)(flow.rand(1, 3, 32, 32)).shape
        oneflow.Size([1, 16, 2, 2])
    """
    channels = (in_chans, n // 8, n // 4, n // 2, n)
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(channels):
        layers += [Conv2d_BN(before, after), activation()]
    return nn.Sequential(*layers[:-1])


def model_factory(
    C: str,
    D: int,
    X: str,
    N: str,
    drop_path: float,
    num_classes: int,
    distillation: bool,
    pretrained: bool | str,
    name: str,
    progress: bool = True,
) -> LeViT:
    """Return a LeViT whose stages are written as texts, such as "128_256_384".

    Args:
        C: the length of a token in each stage.
        D: the length of a key, of each head.
        X: the depth of each stage.
        N: the number of heads of each stage.
        drop_path: see `LeViT`.
        num_classes: see `LeViT`.
        distillation: see `LeViT`.
        pretrained: whether to load the weights of the model `name`, or the path of a file.
        name: a registered model.
        progress: whether to draw a progress bar while downloading.

    Raises:
        ValueError: if there is no model `name`, or a text does not consist of numbers.

    Example:
        >>> from flowvision.models import model_factory
        >>> sizes = {"C": "16_24", "D": 4, "X": "1_1", "N": "2_3"}
        >>> rest = {"drop_path": 0.0, "distillation": False, "pretrained": False}
        >>> model = model_factory(**sizes, **rest, num_classes=5, name="levit_128s")
        >>> model.head.l.out_features
        5
    """
    embed_dim, depth, num_heads = (tuple(map(int, numbers.split("_"))) for numbers in (C, X, N))
    model = find_model(name).factory(
        pretrained,
        progress,
        embed_dim=embed_dim,
        key_dim=D,
        depth=depth,
        num_heads=num_heads,
        drop_path=drop_path,
        num_classes=num_classes,
        distillation=distillation,
    )
    assert isinstance(model, LeViT)
    return model


_levit = ModelFamily(__name__, LeViT, paper="2104.01136")

# fmt: off
levit_128s = _levit("levit_128s", "LeViT-128S.",
    embed_dim=(128, 256, 384), key_dim=16, depth=(2, 3, 4), num_heads=(4, 6, 8))
levit_128 = _levit("levit_128", "LeViT-128.",
    embed_dim=(128, 256, 384), key_dim=16, num_heads=(4, 8, 12))
levit_192 = _levit("levit_192", "LeViT-192.", embed_dim=(192, 288, 384), num_heads=(3, 5, 6))
levit_256 = _levit("levit_256", "LeViT-256.", embed_dim=(256, 384, 512), num_heads=(4, 6, 8))
levit_384 = _levit("levit_384", "LeViT-384.",
    embed_dim=(384, 512, 768), num_heads=(6, 9, 12), drop_path=0.1)
