"""MobileViT: inverted residuals, and transformers over the pixels of patches."""

from __future__ import annotations

from dataclasses import dataclass

import oneflow as flow
from flowvision.layers.helpers import make_divisible
from flowvision.layers.weight_init import init_transformer_
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn

Conv2d = nn.Conv2d  # upstream exports it


class ConvLayer(nn.Module):
    """A convolution that keeps the size at a stride of 1, with normalization and swish.

    Input (N, in_channels, H, W), output (N, out_channels, H / stride, W / stride).

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        kernel_size: an odd number.
        stride: the stride of the convolution.
        dilation: the dilation of the convolution.
        groups: the number of groups of the convolution.
        bias: whether the convolution has a bias.
        padding_mode: see `oneflow.nn.Conv2d`.
        use_norm: whether there is batch normalization.
        use_act: whether there is an activation.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import ConvLayer
        >>> ConvLayer(3, 8, kernel_size=3, stride=2)(flow.rand(1, 3, 6, 6)).shape
        oneflow.Size([1, 8, 3, 3])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = False,
        padding_mode: str = "zeros",
        use_norm: bool = True,
        use_act: bool = True,
    ) -> None:
        super().__init__()
        self.block = nn.Sequential()
        convolution = Conv2d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=kernel_size // 2 * dilation,
            dilation=dilation,
            groups=groups,
            bias=bias,
            padding_mode=padding_mode,
        )
        self.block.add_module("conv", convolution)
        if use_norm:
            self.block.add_module("norm", nn.BatchNorm2d(out_channels))
        if use_act:
            self.block.add_module("act", nn.SiLU())

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x)


class MobileViTInvertedResidual(nn.Module):
    """An inverted residual of MobileNetV2, with swish.

    Input (N, in_channels, H, W), output (N, out_channels, H / stride, W / stride); with equal
    shapes the input is added to the output.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        stride: the stride of the depthwise convolution.
        expand_ratio: the factor by which it has more channels than the input.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import InvertedResidual
        >>> InvertedResidual(8, 12, stride=2, expand_ratio=4)(flow.rand(1, 8, 6, 6)).shape
        oneflow.Size([1, 12, 3, 3])
    """

    def __init__(
        self, in_channels: int, out_channels: int, stride: int, expand_ratio: float
    ) -> None:
        super().__init__()
        width = make_divisible(round(in_channels * expand_ratio))
        self.use_res_connect = stride == 1 and in_channels == out_channels
        self.block = nn.Sequential()
        self.block.add_module("exp_1x1", ConvLayer(in_channels, width, 1))
        self.block.add_module("conv_3x3", ConvLayer(width, width, 3, stride, groups=width))
        self.block.add_module("red_1x1", ConvLayer(width, out_channels, 1, use_act=False))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.block(x) if self.use_res_connect else self.block(x)


InvertedResidual = MobileViTInvertedResidual  # upstream's name


class MultiHeadAttention(nn.Module):
    """Self-attention; input and output (N, tokens, embed_dim).

    Args:
        embed_dim: features of a token.
        num_heads: the number of heads, which divides `embed_dim`.
        attn_dropout: the probability with which an attention weight is dropped.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import MultiHeadAttention
        >>> MultiHeadAttention(8, num_heads=2)(flow.rand(1, 6, 8)).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(self, embed_dim: int, num_heads: int, attn_dropout: float = 0.0) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.attn_dropout = attn_dropout
        self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, features = x.shape
        qkv = self.qkv_proj(x).reshape(batch, tokens, 3, self.num_heads, -1)
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        out = nn.functional.scaled_dot_product_attention(
            query, key, value, dropout_p=self.attn_dropout if self.training else 0.0
        )
        return self.out_proj(out.transpose(1, 2).reshape(batch, tokens, features))


class TransformerEncoder(nn.Module):
    """Attention and a perceptron, each after a normalization and beside a shortcut.

    Input and output (N, tokens, embed_dim).

    Args:
        embed_dim: features of a token.
        ffn_latent_dim: hidden features of the perceptron.
        num_heads: the number of heads.
        attn_dropout: the probability with which an attention weight is dropped.
        dropout: the probability with which an element of a branch's output is dropped.
        ffn_dropout: the probability with which a hidden element is dropped.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import TransformerEncoder
        >>> TransformerEncoder(8, 16, num_heads=2)(flow.rand(1, 6, 8)).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(
        self,
        embed_dim: int,
        ffn_latent_dim: int,
        num_heads: int = 8,
        attn_dropout: float = 0.0,
        dropout: float = 0.1,
        ffn_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.pre_norm_mha = nn.Sequential(
            nn.LayerNorm(embed_dim),
            MultiHeadAttention(embed_dim, num_heads, attn_dropout),
            nn.Dropout(dropout),
        )
        self.pre_norm_ffn = nn.Sequential(
            nn.LayerNorm(embed_dim),
            nn.Linear(embed_dim, ffn_latent_dim),
            nn.SiLU(),
            nn.Dropout(ffn_dropout),
            nn.Linear(ffn_latent_dim, embed_dim),
            nn.Dropout(dropout),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.pre_norm_mha(x)
        return x + self.pre_norm_ffn(x)


class MobileViTBlock(nn.Module):
    """The paper's figure 1 (b): a transformer over pixels at the same place of all patches.

    Input and output (N, in_channels, H, W); sizes that patches do not divide are interpolated.

    Args:
        in_channels: the number of channels of the input.
        transformer_dim: features of the transformer.
        ffn_dim: hidden features of the transformer's perceptrons.
        n_transformer_blocks: the depth of the transformer.
        num_heads: the number of heads.
        dropout: see `TransformerEncoder`.
        patch_h: the height of patches.
        patch_w: the width of patches.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import MobileViTBlock
        >>> MobileViTBlock(8, 16, 32)(flow.rand(1, 8, 4, 4)).shape
        oneflow.Size([1, 8, 4, 4])
    """

    def __init__(
        self,
        in_channels: int,
        transformer_dim: int,
        ffn_dim: int,
        n_transformer_blocks: int = 2,
        num_heads: int = 4,
        dropout: float = 0.1,
        patch_h: int = 2,
        patch_w: int = 2,
    ) -> None:
        super().__init__()
        self.patch_h, self.patch_w = patch_h, patch_w
        self.local_rep = nn.Sequential()
        self.local_rep.add_module("conv_3x3", ConvLayer(in_channels, in_channels, 3))
        plain = ConvLayer(in_channels, transformer_dim, 1, use_norm=False, use_act=False)
        self.local_rep.add_module("conv_1x1", plain)
        self.global_rep = nn.Sequential(
            *(
                TransformerEncoder(transformer_dim, ffn_dim, num_heads, dropout=dropout)
                for _ in range(n_transformer_blocks)
            ),
            nn.LayerNorm(transformer_dim),
        )
        self.conv_proj = ConvLayer(transformer_dim, in_channels, 1)
        self.fusion = ConvLayer(2 * in_channels, in_channels, 3)

    def _transform(self, x: Tensor) -> Tensor:
        """Return the transformer's output for all pixels of (N, C, H, W), patches dividing it."""
        batch, channels, height, width = x.shape
        rows, columns = height // self.patch_h, width // self.patch_w
        x = x.reshape(batch, channels, rows, self.patch_h, columns, self.patch_w)
        # Tokens are patches; the places within a patch are samples.
        x = x.permute(0, 3, 5, 2, 4, 1).reshape(-1, rows * columns, channels)
        x = self.global_rep(x)
        x = x.reshape(batch, self.patch_h, self.patch_w, rows, columns, channels)
        return x.permute(0, 5, 3, 1, 4, 2).reshape(batch, channels, height, width)

    def forward(self, x: Tensor) -> Tensor:
        features = self.local_rep(x)
        height, width = features.shape[2:]
        fitting = (
            -(-height // self.patch_h) * self.patch_h,
            -(-width // self.patch_w) * self.patch_w,
        )
        if fitting != (height, width):
            features = nn.functional.interpolate(features, fitting, mode="bilinear")
        features = self._transform(features)
        if fitting != (height, width):
            features = nn.functional.interpolate(features, (height, width), mode="bilinear")
        return self.fusion(flow.cat([x, self.conv_proj(features)], dim=1))


class LinearLayer(nn.Linear):
    """A linear map with truncated normal weights of deviation 0.02 and biases of zero.

    Args:
        in_features: the length of an input vector.
        out_features: the length of an output vector.
        bias: whether there is a bias.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import LinearLayer
        >>> LinearLayer(8, 3)(flow.rand(2, 8)).shape
        oneflow.Size([2, 3])
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias=bias)
        self.reset_params()

    def reset_params(self) -> None:
        """Draw the parameters anew."""
        init_transformer_(self)


class GlobalPool(nn.Module):
    """The mean over height and width; input (N, C, H, W), output (N, C).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import GlobalPool
        >>> GlobalPool()(flow.rand(2, 8, 6, 6)).shape
        oneflow.Size([2, 8])
    """

    def forward(self, x: Tensor) -> Tensor:
        return x.mean((2, 3))


@dataclass(frozen=True)
class MobileViTConfig:
    """The sizes of a MobileViT: a column of the paper's table 4.

    Attributes:
        widths: channels of the five stages.
        dims: features of the transformers of the last three stages.
        expand_ratio: the expansion of the inverted residuals.
    """

    widths: tuple[int, int, int, int, int]
    dims: tuple[int, int, int]
    expand_ratio: int


class MobileViT(nn.Module):
    """MobileViT (https://arxiv.org/abs/2110.02178).

    Input (N, 3, H, W), made for 256 x 256; output (N, num_classes).

    Args:
        arch: the sizes.
        num_classes: the number of classes.
        classifier_dropout: the probability with which a feature is dropped before the classifier.
        dropout: see `TransformerEncoder`.
    """

    def __init__(
        self,
        arch: MobileViTConfig,
        num_classes: int = 1000,
        classifier_dropout: float = 0.1,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()

        def residual(before: int, after: int, stride: int = 1) -> MobileViTInvertedResidual:
            return MobileViTInvertedResidual(before, after, stride, arch.expand_ratio)

        first, second, *rest = arch.widths
        self.conv_1 = ConvLayer(3, 16, 3, 2)
        self.layer_1 = nn.Sequential(residual(16, first))
        self.layer_2 = nn.Sequential(
            residual(first, second, 2), residual(second, second), residual(second, second)
        )
        stages = []
        channels = second
        for width, dim, depth in zip(rest, arch.dims, (2, 4, 3), strict=True):
            block = MobileViTBlock(width, dim, 2 * dim, depth, dropout=dropout)
            stages.append(nn.Sequential(residual(channels, width, 2), block))
            channels = width
        self.layer_3, self.layer_4, self.layer_5 = stages
        last = min(4 * channels, 960)
        self.conv_1x1_exp = ConvLayer(channels, last, 1)
        self.classifier = nn.Sequential()
        self.classifier.add_module("global_pool", GlobalPool())
        self.classifier.add_module("dropout", nn.Dropout(classifier_dropout))
        self.classifier.add_module("fc", LinearLayer(last, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
        init_transformer_(self)

    def extract_features(self, x: Tensor) -> Tensor:
        """Return the features of images, (N, channels, H / 32, W / 32)."""
        x = self.layer_2(self.layer_1(self.conv_1(x)))
        x = self.layer_5(self.layer_4(self.layer_3(x)))
        return self.conv_1x1_exp(x)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.extract_features(x))


_mobilevit = ModelFamily(__name__, MobileViT, paper="2110.02178")

# fmt: off
mobilevit_xx_small = _mobilevit("mobilevit_xx_small", "MobileViT-XXS: 1.3 million parameters.",
    MobileViTConfig((16, 24, 48, 64, 80), (64, 80, 96), 2), image_size=256)
mobilevit_x_small = _mobilevit("mobilevit_x_small", "MobileViT-XS: 2.3 million parameters.",
    MobileViTConfig((32, 48, 64, 80, 96), (96, 120, 144), 4), image_size=256)
mobilevit_small = _mobilevit("mobilevit_small", "MobileViT-S: 5.6 million parameters.",
    MobileViTConfig((32, 64, 96, 128, 160), (144, 192, 240), 4), image_size=256)
