"""Averages and accuracy."""

from __future__ import annotations

from collections.abc import Sequence

import oneflow as flow


class AverageMeter:
    """The last value of a number and its weighted mean.

    Example:
        >>> from flowvision.utils import AverageMeter
        >>> meter = AverageMeter()
        >>> meter.update(1.0, n=3)
        >>> meter.update(5.0)
        >>> meter.val, meter.avg
        (5.0, 2.0)
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all values."""
        self.val: float = 0.0
        self.sum: float = 0.0
        self.count: float = 0.0

    @property
    def avg(self) -> float:
        """The mean; 0 before the first value."""
        return self.sum / self.count if self.count else 0.0

    def update(self, val: float, n: float = 1) -> None:
        """Add a value that is the mean of `n` others."""
        self.val = val
        self.sum += val * n
        self.count += n


def accuracy(
    output: flow.Tensor, target: flow.Tensor, topk: Sequence[int] = (1,)
) -> list[flow.Tensor]:
    """Return in how many percent of a batch the target is among the k highest outputs.

    Args:
        output: logits ``[N, C]``; where there are fewer than k classes, all count.
        target: class numbers ``[N]``.
        topk: the numbers k.

    Returns:
        One tensor without dimensions per k.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.utils import accuracy
        >>> logits = flow.tensor([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]])
        >>> [share.item() for share in accuracy(logits, flow.tensor([1, 2]), topk=(1, 2))]
        [50.0, 100.0]
    """
    most = min(max(topk), output.shape[1])
    hits = output.topk(most, dim=1)[1] == target.reshape(-1, 1)
    return [hits[:, :k].to(flow.float32).sum() * (100.0 / len(target)) for k in topk]
