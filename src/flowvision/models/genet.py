"""GENet: plain, then bottleneck, then inverted bottleneck blocks, for speed on GPUs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import oneflow as flow
from flowvision.layers.blocks import ConvBn
from flowvision.layers.weight_init import init_conv_
from flowvision.models.genet_blocks import (
    BN as BN,
    RELU as RELU,
    AdaptiveAvgPool as AdaptiveAvgPool,
    ConvDW as ConvDW,
    ConvKX as ConvKX,
    Flatten as Flatten,
    Linear as Linear,
    MaxPool as MaxPool,
    PlainNetBasicBlockClass as PlainNetBasicBlockClass,
    parse_blocks,
)
from flowvision.models.genet_sequential import (
    MultiSumBlock as MultiSumBlock,
    ResBlock as ResBlock,
    Sequential as Sequential,
    shortcut,
)
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn
from oneflow.nn.utils import fuse_conv_bn_eval


class SuperBlock(PlainNetBasicBlockClass):
    """Layers of the same kind, each a branch and a shortcut with a rectifier after their sum.

    Input (N, in_channels, H, W), output (N, out_channels, H / stride, W / stride).

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        kernel_size: the kernel size of the convolutions that are larger than 1 x 1, an odd number.
        stride: the stride of the first layer.
        expansion: the channels inside a branch, as a multiple of `out_channels`.
        sublayers: the number of layers.
        no_create: see `PlainNetBasicBlockClass`.
        block_name: see `PlainNetBasicBlockClass`.
    """

    fields = ("in_channels", "out_channels", "kernel_size", "stride", "expansion", "sublayers")

    def __init__(
        self,
        in_channels: int = 0,
        out_channels: int = 0,
        kernel_size: int = 3,
        stride: int = 1,
        expansion: float = 1.0,
        sublayers: int = 1,
        no_create: bool = False,
        block_name: str | None = None,
    ) -> None:
        super().__init__(in_channels, out_channels, stride, no_create, block_name)
        self.kernel_size = kernel_size
        self.expansion = expansion
        self.sublayers = sublayers
        self.width = round(out_channels * expansion)
        self.shortcut_list, self.conv_list = nn.ModuleList(), nn.ModuleList()
        steps = [(in_channels, stride), *[(out_channels, 1)] * (sublayers - 1)]
        for channels, step in [] if no_create else steps:
            self.shortcut_list.append(shortcut(channels, out_channels, step))
            first, *others = self.make_convs(channels, step)
            layers = [*first]
            for layers_of_block in others:
                layers += [nn.ReLU(inplace=True), *layers_of_block]
            self.conv_list.append(nn.Sequential(*layers))

    def make_convs(self, in_channels: int, stride: int) -> list[nn.Sequential]:
        """Return the convolutions of a branch with their normalizations."""
        raise NotImplementedError(f"{type(self).__name__} must define `make_convs`")

    def forward(self, x: Tensor) -> Tensor:
        if self.no_create:
            raise RuntimeError(f"{self} has been built with `no_create`, without parameters")
        for projection, branch in zip(self.shortcut_list, self.conv_list, strict=True):
            x = nn.functional.relu(branch(x) + projection(x))
        return x


class SuperResKXKX(SuperBlock):
    """A `SuperBlock` of pairs of convolutions ("XX" in the paper).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.genet import SuperResKXKX
        >>> SuperResKXKX(3, 8, stride=2, sublayers=2)(flow.rand(1, 3, 6, 6)).shape
        oneflow.Size([1, 8, 3, 3])
    """

    def make_convs(self, in_channels: int, stride: int) -> list[nn.Sequential]:
        return [
            ConvBn(in_channels, self.width, self.kernel_size, stride),
            ConvBn(self.width, self.out_channels, self.kernel_size),
        ]


class SuperResK1KX(SuperBlock):
    """A `SuperBlock` of pairs of a 1 x 1 convolution and a larger one.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.genet import SuperResK1KX
        >>> SuperResK1KX(3, 8, stride=2, expansion=0.5)(flow.rand(1, 3, 6, 6)).shape
        oneflow.Size([1, 8, 3, 3])
    """

    def make_convs(self, in_channels: int, stride: int) -> list[nn.Sequential]:
        return [
            ConvBn(in_channels, self.width, 1),
            ConvBn(self.width, self.out_channels, self.kernel_size, stride),
        ]


class SuperResK1KXK1(SuperBlock):
    """A `SuperBlock` of bottlenecks ("BL" in the paper).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.genet import SuperResK1KXK1
        >>> SuperResK1KXK1(3, 8, stride=2, expansion=0.25)(flow.rand(1, 3, 6, 6)).shape
        oneflow.Size([1, 8, 3, 3])
    """

    def make_convs(self, in_channels: int, stride: int) -> list[nn.Sequential]:
        return [
            ConvBn(in_channels, self.width, 1),
            ConvBn(self.width, self.width, self.kernel_size, stride),
            ConvBn(self.width, self.out_channels, 1),
        ]


class SuperResK1DW(SuperBlock):
    """A `SuperBlock` of pairs of a 1 x 1 convolution and a depthwise one.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.genet import SuperResK1DW
        >>> SuperResK1DW(3, 8, stride=2)(flow.rand(1, 3, 6, 6)).shape
        oneflow.Size([1, 8, 3, 3])
    """

    def make_convs(self, in_channels: int, stride: int) -> list[nn.Sequential]:
        channels = self.out_channels
        return [
            ConvBn(in_channels, channels, 1),
            ConvBn(channels, channels, self.kernel_size, stride, groups=channels),
        ]


class SuperResK1DWK1(SuperBlock):
    """A `SuperBlock` of inverted bottlenecks with a depthwise convolution ("DW" in the paper).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.genet import SuperResK1DWK1
        >>> SuperResK1DWK1(3, 8, stride=2, expansion=3.0)(flow.rand(1, 3, 6, 6)).shape
        oneflow.Size([1, 8, 3, 3])
    """

    def make_convs(self, in_channels: int, stride: int) -> list[nn.Sequential]:
        return [
            ConvBn(in_channels, self.width, 1),
            ConvBn(self.width, self.width, self.kernel_size, stride, groups=self.width),
            ConvBn(self.width, self.out_channels, 1),
        ]


class PlainNet(nn.Module):
    """GENet (https://arxiv.org/abs/2006.14090).

    Input (N, C, H, W), C as the first block takes it; output (N, num_classes).

    Args:
        num_classes: the number of classes.
        plainnet_struct: the blocks before the classifier as a text; see `PlainNetBasicBlockClass`.
        no_create: whether blocks and classifier only have sizes, without parameters.

    Raises:
        ValueError: if the text is not one of blocks, or a block has other channels than the one
            before.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.genet import PlainNet
        >>> struct = "ConvKX(3,8,3,2)BN(8)RELU(8)SuperResK1DWK1(8,12,3,2,3.0,2)"
        >>> PlainNet(5, struct)(flow.rand(2, 3, 32, 32)).shape
        oneflow.Size([2, 5])
    """

    def __init__(
        self, num_classes: int = 1000, plainnet_struct: str = "", no_create: bool = False
    ) -> None:
        super().__init__()
        blocks = parse_blocks(plainnet_struct, no_create=no_create)
        if not blocks:
            raise ValueError("`plainnet_struct` must be the text of at least one block")
        for before, block in itertools.pairwise(blocks):
            if before.out_channels != block.in_channels:
                raise ValueError(
                    f"{block} takes {block.in_channels} channels, but {before} before it gives "
                    f"{before.out_channels}"
                )
        self.module_list = nn.ModuleList(blocks)
        self.global_pool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc_linear = None if no_create else nn.Linear(blocks[-1].out_channels, num_classes)
        init_conv_(self, linear_std=0.01)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.module_list:
            x = block(x)
        assert self.fc_linear is not None  # with sizes alone the first block raises
        return self.fc_linear(flow.flatten(self.global_pool(x), 1))


def fuse_bn(model: nn.Module) -> nn.Module:
    """Fold all normalizations into the convolutions before them, for inference.

    Args:
        model: a `PlainNet` or block in evaluation mode; it is changed.

    Raises:
        AssertionError: if it is in training mode.

    Example:
        >>> from flowvision.models.genet import PlainNet, fuse_bn
        >>> model = PlainNet(5, "ConvKX(3,8,3,2)BN(8)RELU(8)").eval()
        >>> len(model.module_list), len(fuse_bn(model).module_list)
        (3, 2)
    """
    for module in reversed(list(model.modules())):  # what is inside comes before what it is in
        for name, layers in list(module.named_children()):
            if isinstance(layers, nn.Sequential):
                module.add_module(name, nn.Sequential(*_fused(layers)))
            elif isinstance(layers, nn.ModuleList) and not isinstance(module, MultiSumBlock):
                module.add_module(name, nn.ModuleList(_fused(layers)))
    return model


def _fused(layers: Iterable[nn.Module]) -> list[nn.Module]:
    """Return layers without the normalizations that follow convolutions."""
    fused: list[nn.Module] = []
    for layer in layers:
        before = fused[-1] if fused else None
        norm = layer.netblock if isinstance(layer, BN) else layer
        convolution = before.netblock if isinstance(before, ConvKX) else before
        if not isinstance(norm, nn.BatchNorm2d) or not isinstance(convolution, nn.Conv2d):
            fused.append(layer)
        elif isinstance(before, ConvKX):
            before.netblock = fuse_conv_bn_eval(convolution, norm)
        else:
            fused[-1] = fuse_conv_bn_eval(convolution, norm)
    return fused


def remove_bn_in_superblock(super_block: SuperBlock) -> None:
    """Fold the normalizations of a block into the convolutions before them; see `fuse_bn`.

    Example:
        >>> from flowvision.models.genet import SuperResKXKX, remove_bn_in_superblock
        >>> block = SuperResKXKX(3, 8).eval()
        >>> remove_bn_in_superblock(block)
        >>> len(block.conv_list[0]), len(block.shortcut_list[0])
        (3, 1)
    """
    fuse_bn(super_block)


# The rows of the paper's table 2: channels, kernel, stride, expansion and layers.
_SMALL = (
    "ConvKX(3,13,3,2)BN(13)RELU(13)SuperResKXKX(13,48,3,2,1.0,1)SuperResKXKX(48,48,3,2,1.0,3)"
    "SuperResK1KXK1(48,384,3,2,0.25,7)SuperResK1DWK1(384,560,3,2,3.0,2)"
    "SuperResK1DWK1(560,256,3,1,3.0,1)ConvKX(256,1920,1,1)BN(1920)RELU(1920)"
)
_NORMAL = (
    "ConvKX(3,32,3,2)BN(32)RELU(32)SuperResKXKX(32,128,3,2,1.0,1)SuperResKXKX(128,192,3,2,1.0,2)"
    "SuperResK1KXK1(192,640,3,2,0.25,6)SuperResK1DWK1(640,640,3,2,3.0,4)"
    "SuperResK1DWK1(640,640,3,1,3.0,1)ConvKX(640,2560,1,1)BN(2560)RELU(2560)"
)
_LARGE = (
    "ConvKX(3,32,3,2)BN(32)RELU(32)SuperResKXKX(32,128,3,2,1.0,1)SuperResKXKX(128,192,3,2,1.0,2)"
    "SuperResK1KXK1(192,640,3,2,0.25,6)SuperResK1DWK1(640,640,3,2,3.0,5)"
    "SuperResK1DWK1(640,640,3,1,3.0,4)ConvKX(640,2560,1,1)BN(2560)RELU(2560)"
)

_genet = ModelFamily(__name__, PlainNet, paper="2006.14090")

# fmt: off
genet_small = _genet("genet_small", "GENet-small: 8.2 million parameters.",
    plainnet_struct=_SMALL, image_size=256)
genet_normal = _genet("genet_normal", "GENet-normal: 21 million parameters.",
    plainnet_struct=_NORMAL, image_size=256)
genet_large = _genet("genet_large", "GENet-large: 31 million parameters.",
    plainnet_struct=_LARGE, image_size=256)
