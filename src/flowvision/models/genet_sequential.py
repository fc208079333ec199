"""Blocks for GENet that consist of others: one after the other, added up, beside a shortcut."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, Self

import oneflow as flow
from flowvision.layers.blocks import ConvBn
from flowvision.models.genet_blocks import PlainNetBasicBlockClass, parse_blocks
from oneflow import Tensor, nn


class Sequential(PlainNetBasicBlockClass):
    """Blocks one after the other.

    Args:
        inner_block_list: the blocks, at least one.
        no_create: see `PlainNetBasicBlockClass`.
        block_name: see `PlainNetBasicBlockClass`.

    Example:
        >>> from flowvision.models.genet_sequential import Sequential
        >>> block, _ = Sequential.create_from_str("Sequential(ConvKX(3,8,3,2)BN(8)RELU(8))")
        >>> block.in_channels, block.out_channels, block.stride
        (3, 8, 2)
    """

    separator = ""

    def __init__(
        self,
        inner_block_list: Iterable[PlainNetBasicBlockClass],
        no_create: bool = False,
        block_name: str | None = None,
    ) -> None:
        blocks = list(inner_block_list)
        channels = blocks[0].in_channels, blocks[-1].out_channels
        stride = math.prod(block.stride for block in blocks)
        super().__init__(*channels, stride, no_create, block_name)
        self.inner_block_list = nn.ModuleList(blocks)

    @classmethod
    def from_sizes(cls, text: str, **options: Any) -> Self:
        return cls(parse_blocks(text, cls.separator, options.get("no_create", False)), **options)

    def sizes(self) -> str:
        return self.separator.join(map(str, self.inner_block_list))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.inner_block_list:
            x = block(x)
        return x


class MultiSumBlock(Sequential):
    """The sum of the results of several blocks for the same input; ``;`` stands between them.

    Args:
        inner_block_list: the blocks, at least one.
        no_create: see `PlainNetBasicBlockClass`.
        block_name: see `PlainNetBasicBlockClass`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.genet_sequential import MultiSumBlock
        >>> block, _ = MultiSumBlock.create_from_str("MultiSumBlock(RELU(1);RELU(1))")
        >>> block(flow.tensor([-1.0, 2.0])).tolist()
        [0.0, 4.0]
    """

    separator = ";"

    def __init__(
        self,
        inner_block_list: Iterable[PlainNetBasicBlockClass],
        no_create: bool = False,
        block_name: str | None = None,
    ) -> None:
        blocks = list(inner_block_list)
        super().__init__(blocks, no_create, block_name)
        self.stride = blocks[0].stride

    def forward(self, x: Tensor) -> Tensor:
        return flow.stack([block(x) for block in self.inner_block_list]).sum(0)


class ResBlock(Sequential):
    """Blocks one after the other, beside a shortcut.

    The shortcut is a 1 x 1 convolution with normalization if the shape changes.

    Args:
        inner_block_list: the blocks, at least one.
        in_channels: the number of channels of the input; by default those of the first block.
        stride: the stride of the shortcut; by default that of all blocks together.
        no_create: see `PlainNetBasicBlockClass`.
        block_name: see `PlainNetBasicBlockClass`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.genet_sequential import ResBlock
        >>> block, _ = ResBlock.create_from_str("ResBlock(1,1,RELU(1))")
        >>> block(flow.tensor([-1.0, 2.0])).tolist()
        [-1.0, 4.0]
    """

    def __init__(
        self,
        inner_block_list: Iterable[PlainNetBasicBlockClass],
        in_channels: int | None = None,
        stride: int | None = None,
        no_create: bool = False,
        block_name: str | None = None,
    ) -> None:
        super().__init__(inner_block_list, no_create, block_name)
        self.in_channels = in_channels or self.in_channels
        self.stride = stride or self.stride
        self.proj: nn.Module = nn.Identity()
        if not no_create:
            self.proj = shortcut(self.in_channels, self.out_channels, self.stride)

    @classmethod
    def from_sizes(cls, text: str, **options: Any) -> Self:
        channels, stride, inner = text.split(",", 2)
        blocks = parse_blocks(inner, cls.separator, options.get("no_create", False))
        return cls(blocks, json.loads(channels), json.loads(stride), **options)

    def sizes(self) -> str:
        return f"{self.in_channels},{self.stride},{super().sizes()}"

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + self.proj(x)


def shortcut(in_channels: int, out_channels: int, stride: int) -> nn.Sequential:
    """Return a 1 x 1 convolution with normalization, or nothing where the shape stays the same."""
    if stride == 1 and in_channels == out_channels:
        return nn.Sequential()
    return nn.Sequential(*ConvBn(in_channels, out_channels, 1, stride))
