"""Drop path: stochastic depth by sample."""

from __future__ import annotations

from flowvision.ops.stochastic_depth import stochastic_depth
from oneflow import Tensor, nn


def drop_path(x: Tensor, drop_prob: float = 0.5, training: bool = False) -> Tensor:
    """Zero samples of a residual branch: `stochastic_depth` with the mode "row".

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import drop_path
        >>> drop_path(flow.ones(2, 3), drop_prob=1.0, training=True).sum().item()
        0.0
    """
    return stochastic_depth(x, drop_prob, "row", training)


class DropPath(nn.Module):
    """See `drop_path`.

    Args:
        drop_prob: the probability of zero; None counts as 0.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import DropPath
        >>> DropPath(0.5).eval()(flow.ones(2, 1))
        tensor([[1.],
                [1.]], dtype=oneflow.float32)
    """

    def __init__(self, drop_prob: float | None = None) -> None:
        super().__init__()
        self.drop_prob = drop_prob or 0.0

    def forward(self, x: Tensor) -> Tensor:
        return drop_path(x, self.drop_prob, self.training)

    def extra_repr(self) -> str:
        return f"drop_prob={self.drop_prob}"


def drop_path_rates(largest: float, depth: int) -> list[float]:
    """Return the drop probability of each of `depth` blocks: from 0 to `largest` in equal steps."""
    return [largest * index / max(depth - 1, 1) for index in range(depth)]
