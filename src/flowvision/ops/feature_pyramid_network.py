"""Feature pyramids: features of several sizes, each informed by the smaller ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oneflow import Tensor, nn
from oneflow.nn import functional as F


class ExtraFPNBlock(nn.Module):
    """The interface of modules that add further levels at the end of a `FeaturePyramidNetwork`.

    Example:
        >>> from flowvision.layers import ExtraFPNBlock, LastLevelMaxPool
        >>> isinstance(LastLevelMaxPool(), ExtraFPNBlock)
        True
    """

    def forward(
        self, results: list[Tensor], x: list[Tensor], names: list[str]
    ) -> tuple[list[Tensor], list[str]]:
        """Add levels.

        Args:
            results: the levels of the pyramid, the largest first.
            x: the features that it was made of.
            names: the names of the levels.

        Returns:
            The levels and their names, with the added ones.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `forward`")


class FeaturePyramidNetwork(nn.Module):
    """A feature pyramid (https://arxiv.org/abs/1612.03144).

    Takes a dict of features (N, in_channels_list[i], H_i, W_i), the largest first, and returns a
    dict with the same names and the shapes (N, out_channels, H_i, W_i), and the extra levels.

    Args:
        in_channels_list: channels of each level of the input.
        out_channels: the number of channels of each level of the output.
        extra_blocks: adds levels at the end.

    Example:
        >>> from collections import OrderedDict
        >>> import oneflow as flow
        >>> from flowvision.layers import FeaturePyramidNetwork
        >>> network = FeaturePyramidNetwork([4, 8], 3)
        >>> features = OrderedDict(fine=flow.ones(1, 4, 8, 8), coarse=flow.ones(1, 8, 4, 4))
        >>> {name: tuple(level.shape) for name, level in network(features).items()}
        {'fine': (1, 3, 8, 8), 'coarse': (1, 3, 4, 4)}
    """

    def __init__(
        self,
        in_channels_list: Sequence[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
    ) -> None:
        super().__init__()
        self.inner_blocks = nn.ModuleList(
            nn.Conv2d(channels, out_channels, 1) for channels in in_channels_list
        )
        self.layer_blocks = nn.ModuleList(
            nn.Conv2d(out_channels, out_channels, 3, padding=1) for _ in in_channels_list
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_uniform_(module.weight, a=1)
                nn.init.zeros_(module.bias)
        self.extra_blocks = extra_blocks

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any, **options: Any
    ) -> None:
        for blocks in ("inner_blocks", "layer_blocks"):
            for index in range(len(self.inner_blocks)):
                rename_wrapped_convolution(state_dict, f"{prefix}{blocks}.{index}.")
        super()._load_from_state_dict(state_dict, prefix, *rest, **options)

    def get_result_from_inner_blocks(self, x: Tensor, idx: int) -> Tensor:
        """Apply the 1 x 1 convolution of level `idx`; negative numbers count from the end."""
        return self.inner_blocks[idx](x)

    def get_result_from_layer_blocks(self, x: Tensor, idx: int) -> Tensor:
        """Apply the 3 x 3 convolution of level `idx`; negative numbers count from the end."""
        return self.layer_blocks[idx](x)

    def forward(self, x: Mapping[str, Tensor]) -> dict[str, Tensor]:
        names, features = list(x), list(x.values())
        merged = self.get_result_from_inner_blocks(features[-1], -1)
        results = [self.get_result_from_layer_blocks(merged, -1)]
        for index in range(len(features) - 2, -1, -1):
            inner = self.get_result_from_inner_blocks(features[index], index)
            merged = inner + F.interpolate(merged, size=inner.shape[-2:], mode="nearest")
            results.insert(0, self.get_result_from_layer_blocks(merged, index))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, features, names)
        return dict(zip(names, results, strict=True))


class LastLevelMaxPool(ExtraFPNBlock):
    """Adds a level "pool": every second row and column of the last one.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import LastLevelMaxPool
        >>> feature = flow.ones(1, 3, 4, 4)
        >>> results, names = LastLevelMaxPool()([feature], [feature], ["fine"])
        >>> names, results[-1].shape
        (['fine', 'pool'], oneflow.Size([1, 3, 2, 2]))
    """

    def forward(
        self, results: list[Tensor], x: list[Tensor], names: list[str]
    ) -> tuple[list[Tensor], list[str]]:
        return [*results, F.max_pool2d(results[-1], 1, 2, 0)], [*names, "pool"]


class LastLevelP6P7(ExtraFPNBlock):
    """Adds the levels "p6" and "p7" by strided convolutions, as RetinaNet has them.

    Args:
        in_channels: the number of channels of what the levels are made of: the last level of the
            pyramid if it has as many channels as the added ones, otherwise the last features of the
            backbone.
        out_channels: the number of channels of the added levels.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import LastLevelP6P7
        >>> feature = flow.ones(1, 3, 8, 8)
        >>> results, names = LastLevelP6P7(3, 3)([feature], [feature], ["fine"])
        >>> names, results[-1].shape
        (['fine', 'p6', 'p7'], oneflow.Size([1, 3, 2, 2]))
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        for module in (self.p6, self.p7):
            nn.init.kaiming_uniform_(module.weight, a=1)
            nn.init.zeros_(module.bias)
        self.use_P5 = in_channels == out_channels

    def forward(
        self, results: list[Tensor], x: list[Tensor], names: list[str]
    ) -> tuple[list[Tensor], list[str]]:
        p6 = self.p6(results[-1] if self.use_P5 else x[-1])
        p7 = self.p7(F.relu(p6))
        return [*results, p6, p7], [*names, "p6", "p7"]


def rename_wrapped_convolution(state_dict: dict[str, Any], prefix: str) -> None:
    """Give the parameters of a convolution that is wrapped in a file its plain names.

    Newer files of torchvision's detectors hold convolutions as the first element of a block with
    normalization and activation, `prefix` "conv.0." for "conv.".

    Args:
        state_dict: is changed.
        prefix: the prefix of the convolution here, ending in a dot.
    """
    for name in ("weight", "bias"):
        wrapped = f"{prefix}0.{name}"
        if wrapped in state_dict:
            state_dict[f"{prefix}{name}"] = state_dict.pop(wrapped)
