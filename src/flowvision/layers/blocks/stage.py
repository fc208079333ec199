"""A stage of a pyramid: blocks on one grid, and the way to the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oneflow import Tensor, nn
from oneflow.utils.checkpoint import checkpoint


def run_blocks(blocks: Iterable[nn.Module], x: Tensor, use_checkpoint: bool) -> Tensor:
    """Return what blocks make of `x`, one after another.

    Args:
        blocks: the blocks; the output of each is the input of the next.
        x: the input of the first.
        use_checkpoint: whether they run again in the backward pass, which saves memory.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers.blocks.stage import run_blocks
        >>> from oneflow import nn
        >>> run_blocks([nn.Linear(4, 3), nn.ReLU()], flow.rand(5, 4), use_checkpoint=True).shape
        oneflow.Size([5, 3])
    """
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False) if use_checkpoint else block(x)
    return x


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
        x = run_blocks(self.blocks, x, self.use_checkpoint)
        return x if self.downsample is None else self.downsample(x)
