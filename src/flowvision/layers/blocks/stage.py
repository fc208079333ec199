"""A stage of a pyramid: blocks on one grid, and the way to the next."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow import Tensor, nn


class Stage(nn.Module):
    """Blocks, one after another, and what makes their grid smaller.

    Args:
        blocks: the blocks; the output of each is the input of the next.
        downsample: what follows them; None in the last stage.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Stage
        >>> from oneflow import nn
        >>> Stage([nn.Linear(4, 4), nn.ReLU()], nn.Linear(4, 2))(flow.rand(3, 4)).shape
        oneflow.Size([3, 2])
    """

    def __init__(self, blocks: Sequence[nn.Module], downsample: nn.Module | None) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x if self.downsample is None else self.downsample(x)
