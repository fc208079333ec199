"""Blocks of one layer for GENet, and the text in which its structures are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar, Self

from oneflow import Tensor, nn


class PlainNetBasicBlockClass(nn.Module):
    """A block that can be written as text: its class, and its sizes in parentheses.

    ``BN(8)`` is a normalization of 8 channels, and ``ConvKX(3,8,3,2)BN(8)`` a convolution before
    it. A name may stand in front of the sizes: ``BN(first|8)``. A subclass has the text of its own
    class name as soon as it is defined.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        stride: the factor by which the output is smaller, vertically and horizontally.
        no_create: whether the block only has sizes, without parameters.
        block_name: a name.

    Attributes:
        fields: the names of the sizes, in the order of the text.

    Raises:
        TypeError: if a second subclass has the same name.

    Example:
        >>> from flowvision.models.genet_blocks import PlainNetBasicBlockClass
        >>> block, rest = PlainNetBasicBlockClass.create_from_str("BN(8)RELU(8)")
        >>> type(block).__name__, rest
        ('BN', 'RELU(8)')
    """

    fields: ClassVar[tuple[str, ...]] = ("in_channels", "out_channels", "stride")
    classes: ClassVar[dict[str, type[PlainNetBasicBlockClass]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__name__ in cls.classes:
            raise TypeError(f"there is a block named {cls.__name__} already")
        cls.classes[cls.__name__] = cls

    def __init__(
        self,
        in_channels: int = 0,
        out_channels: int = 0,
        stride: int = 1,
        no_create: bool = False,
        block_name: str | None = None,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.stride = stride
        self.no_create = no_create
        self.block_name = block_name

    @classmethod
    def is_instance_from_str(cls, s: str) -> bool:
        """Return whether `s` is the text of one block of this class."""
        return s.startswith(f"{cls.__name__}(") and _end(s) == len(s)

    @classmethod
    def create_from_str(cls, s: str, no_create: bool = False) -> tuple[Self, str]:
        """Return the block that a text begins with, and the rest of the text.

        Args:
            s: the text.
            no_create: whether the block only has sizes, without parameters.

        Raises:
            ValueError: if the text does not begin with a block of this class, or has other sizes.
        """
        kind = cls.classes.get(s.partition("(")[0])
        end = _end(s)
        if kind is None or end is None or not issubclass(kind, cls):
            raise ValueError(f"{s!r} does not begin with a block of the class {cls.__name__}")
        body = s[s.index("(") + 1 : end - 1]
        name = None
        if "|" in body.partition("(")[0]:
            name, _, body = body.partition("|")
        return kind.from_sizes(body, no_create=no_create, block_name=name), s[end:]

    @classmethod
    def from_sizes(cls, text: str, **options: Any) -> Self:
        """Return the block with the sizes in a text, such as "3,8,3,2"."""
        try:
            sizes = [json.loads(size) for size in text.split(",")]
            return cls(**dict(zip(cls.fields, sizes, strict=True)), **options)
        except ValueError as error:
            raise ValueError(
                f"{cls.__name__} needs the numbers {', '.join(cls.fields)}, got {text!r}"
            ) from error

    def sizes(self) -> str:
        """Return the sizes as a text."""
        return ",".join(json.dumps(getattr(self, name)) for name in self.fields)

    def __str__(self) -> str:
        name = f"{self.block_name}|" if self.block_name else ""
        return f"{type(self).__name__}({name}{self.sizes()})"


def _end(s: str) -> int | None:
    """Return the position behind the parenthesis that closes the first one; None without any."""
    depth = 0
    for position, character in enumerate(s):
        depth += (character == "(") - (character == ")")
        if character == ")" and depth == 0:
            return position + 1
    return None


def parse_blocks(s: str, separator: str = "", no_create: bool = False) -> list[Any]:
    """Return the blocks that a text consists of.

    Args:
        s: the text.
        separator: what stands between two blocks.
        no_create: whether the blocks only have sizes, without parameters.

    Raises:
        ValueError: if there is anything else in the text.

    Example:
        >>> from flowvision.models.genet_blocks import parse_blocks
        >>> [block.out_channels for block in parse_blocks("ConvKX(3,8,3,2)BN(8)RELU(8)")]
        [8, 8, 8]
    """
    blocks = []
    while s:
        block, s = PlainNetBasicBlockClass.create_from_str(s, no_create)
        blocks.append(block)
        s = s.removeprefix(separator)
    return blocks


class _Layer(PlainNetBasicBlockClass):
    """A block of one layer, `netblock`."""

    def set_layer(self, make_layer: Callable[[], nn.Module]) -> None:
        """Make the layer, unless there are only sizes."""
        self.netblock = None if self.no_create else make_layer()

    def forward(self, x: Tensor) -> Tensor:
        if self.netblock is None:
            raise RuntimeError(f"{self} has been built with `no_create`, without parameters")
        return self.netblock(x)


class ConvKX(_Layer):
    """A convolution without bias; a stride of 1 keeps height and width.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        kernel_size: an odd number.
        stride: the stride of the convolution.
        copy_from: the convolution itself, instead of the sizes.
        no_create: see `PlainNetBasicBlockClass`.
        block_name: see `PlainNetBasicBlockClass`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.genet_blocks import ConvKX
        >>> ConvKX(3, 8, kernel_size=3, stride=2)(flow.rand(1, 3, 6, 6)).shape
        oneflow.Size([1, 8, 3, 3])
    """

    fields = ("in_channels", "out_channels", "kernel_size", "stride")

    def __init__(
        self,
        in_channels: int = 0,
        out_channels: int = 0,
        kernel_size: int = 1,
        stride: int = 1,
        copy_from: nn.Conv2d | None = None,
        no_create: bool = False,
        block_name: str | None = None,
    ) -> None:
        if copy_from is not None:
            in_channels, out_channels = copy_from.in_channels, copy_from.out_channels
            kernel_size, stride = copy_from.kernel_size[0], copy_from.stride[0]
        super().__init__(in_channels, out_channels, stride, no_create, block_name)
        self.kernel_size = kernel_size
        self.set_layer(lambda: copy_from or self.convolution())

    def convolution(self, groups: int = 1) -> nn.Conv2d:
        """Return a new convolution of these sizes."""
        return nn.Conv2d(
            self.in_channels,
            self.out_channels,
            self.kernel_size,
            stride=self.stride,
            padding=(self.kernel_size - 1) // 2,
            groups=groups,
            bias=False,
        )


class ConvDW(ConvKX):
    """A depthwise convolution without bias; a stride of 1 keeps height and width.

    Args:
        out_channels: the number of channels of input and output.
        kernel_size: an odd number.
        stride: the stride of the convolution.
        copy_from: the convolution itself, instead of the sizes.
        no_create: see `PlainNetBasicBlockClass`.
        block_name: see `PlainNetBasicBlockClass`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.genet_blocks import ConvDW
        >>> ConvDW(8, kernel_size=3, stride=2)(flow.rand(1, 8, 6, 6)).shape
        oneflow.Size([1, 8, 3, 3])
    """

    fields = ("out_channels", "kernel_size", "stride")

    def __init__(
        self,
        out_channels: int = 0,
        kernel_size: int = 1,
        stride: int = 1,
        copy_from: nn.Conv2d | None = None,
        no_create: bool = False,
        block_name: str | None = None,
    ) -> None:
        super().__init__(
            out_channels, out_channels, kernel_size, stride, copy_from, no_create, block_name
        )

    def convolution(self, groups: int = 1) -> nn.Conv2d:
        return super().convolution(groups=self.out_channels)


class Linear(_Layer):
    """A linear map.

    Args:
        in_channels: the features of the input.
        out_channels: the features of the output.
        bias: whether there is a bias.
        copy_from: the layer itself, instead of the sizes.
        no_create: see `PlainNetBasicBlockClass`.
        block_name: see `PlainNetBasicBlockClass`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.genet_blocks import Linear
        >>> Linear(8, 3, bias=True)(flow.rand(2, 8)).shape
        oneflow.Size([2, 3])
    """

    fields = ("in_channels", "out_channels", "bias")

    def __init__(
        self,
        in_channels: int = 0,
        out_channels: int = 0,
        bias: bool = True,
        copy_from: nn.Linear | None = None,
        no_create: bool = False,
        block_name: str | None = None,
    ) -> None:
        if copy_from is not None:
            in_channels, out_channels = copy_from.in_features, copy_from.out_features
            bias = copy_from.bias is not None
        super().__init__(in_channels, out_channels, 1, no_create, block_name)
        self.bias = int(bias)
        self.set_layer(lambda: copy_from or nn.Linear(in_channels, out_channels, bias=bool(bias)))


class BN(_Layer):
    """Batch normalization.

    Args:
        out_channels: the number of channels of input and output.
        copy_from: the layer itself, instead of the sizes.
        no_create: see `PlainNetBasicBlockClass`.
        block_name: see `PlainNetBasicBlockClass`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.genet_blocks import BN
        >>> BN(8)(flow.rand(2, 8, 6, 6)).shape
        oneflow.Size([2, 8, 6, 6])
    """

    fields = ("out_channels",)

    def __init__(
        self,
        out_channels: int = 0,
        copy_from: nn.BatchNorm2d | None = None,
        no_create: bool = False,
        block_name: str | None = None,
    ) -> None:
        channels = copy_from.num_features if copy_from is not None else out_channels
        super().__init__(channels, channels, 1, no_create, block_name)
        self.set_layer(lambda: copy_from or nn.BatchNorm2d(channels))


class _LayerWithoutParameters(_Layer):
    """A block of a layer, `layer`, that needs no sizes: its text has the channels alone."""

    fields = ("out_channels",)
    layer: ClassVar[type[nn.Module]]

    def __init__(
        self, out_channels: int, no_create: bool = False, block_name: str | None = None
    ) -> None:
        super().__init__(out_channels, out_channels, 1, no_create, block_name)
        self.set_layer(self.layer)


class RELU(_LayerWithoutParameters):
    """A rectifier.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.genet_blocks import RELU
        >>> RELU(1)(flow.tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    layer = nn.ReLU


class Flatten(_LayerWithoutParameters):
    """All features of a sample in one row.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.genet_blocks import Flatten
        >>> Flatten(8)(flow.rand(2, 8, 1, 1)).shape
        oneflow.Size([2, 8])
    """

    layer = nn.Flatten


class MaxPool(_Layer):
    """The largest element of each window; a stride of 1 keeps height and width.

    Args:
        out_channels: the number of channels of input and output.
        kernel_size: an odd number.
        stride: the stride of the windows.
        no_create: see `PlainNetBasicBlockClass`.
        block_name: see `PlainNetBasicBlockClass`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.genet_blocks import MaxPool
        >>> MaxPool(8, kernel_size=3, stride=2)(flow.rand(1, 8, 6, 6)).shape
        oneflow.Size([1, 8, 3, 3])
    """

    fields = ("out_channels", "kernel_size", "stride")

    def __init__(
        self,
        out_channels: int,
        kernel_size: int,
        stride: int,
        no_create: bool = False,
        block_name: str | None = None,
    ) -> None:
        super().__init__(out_channels, out_channels, stride, no_create, block_name)
        self.kernel_size = kernel_size
        padding = (kernel_size - 1) // 2
        self.set_layer(lambda: nn.MaxPool2d(kernel_size, stride=stride, padding=padding))


class AdaptiveAvgPool(_Layer):
    """Means over as many windows as the output has elements.

    Args:
        out_channels: the number of channels of input and output.
        output_size: height and width of the output.
        no_create: see `PlainNetBasicBlockClass`.
        block_name: see `PlainNetBasicBlockClass`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.genet_blocks import AdaptiveAvgPool
        >>> AdaptiveAvgPool(8, output_size=1)(flow.rand(1, 8, 6, 6)).shape
        oneflow.Size([1, 8, 1, 1])
    """

    fields = ("out_channels", "output_size")

    def __init__(
        self,
        out_channels: int,
        output_size: int,
        no_create: bool = False,
        block_name: str | None = None,
    ) -> None:
        super().__init__(out_channels, out_channels, 1, no_create, block_name)
        self.output_size = output_size
        self.set_layer(lambda: nn.AdaptiveAvgPool2d(output_size))
