"""A stage of a pyramid: blocks on one grid, and the way to the next."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow import Tensor, nn
from oneflow.utils.checkpoint import checkpoint


class Stage(nn.Module):
    """Blocks, one after another, and what makes their grid smaller.

    Args:
        blocks: the blocks; the output of each is the input of the next.
        downsample: what follows them; None in the last stage.
        use_checkpoint: whether blocks run again in the backward pass, which saves memory.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Stage
        >>> from oneflow import nn
        >>> Stage([nn.Linear(4, 4), nn.ReLU()], nn.Linear(4, 2))(flow.rand(3, 4)).shape
        oneflow.Size([3, 2])
    """

    def __init__(
        self,
        blocks: Sequence[nn.Module],
        downsample: nn.Module | None,
        use_checkpoint: bool = False,
    ) -> None:
        super().__init__()
        self.use_checkpoint = use_checkpoint
        self.blocks = nn.ModuleList(blocks)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.use_checkpoint else block(x)
        return x if self.downsample is None else self.downsample(x)
