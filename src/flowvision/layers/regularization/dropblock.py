"""DropBlock: dropout of squares."""

from __future__ import annotations

from oneflow import Tensor, nn


class DropBlock(nn.Module):
    """Zeroes squares of feature maps in training and scales the rest so that the mean stays.

    Neighbours in a feature map say the same, so that dropping single features takes away little.
    Source: https://arxiv.org/abs/1810.12890

    Input and output (N, C, H, W), H and W at least `block_size`.

    Args:
        block_size: height and width of a square.
        p: the share of features that are dropped, about.

    Raises:
        ValueError: if `p` is not a probability below 1, or a feature map is smaller than a square.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import DropBlock
        >>> dropped = DropBlock(block_size=3, p=0.2)(flow.ones(1, 2, 12, 12))
        >>> (dropped == 0).any().item(), abs(dropped.mean().item() - 1) < 1e-5
        (True, True)
    """

    def __init__(self, block_size: int = 7, p: float = 0.5) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"`p` must be at least 0 and below 1, not {p}")
        self.block_size = block_size
        self.p = p

    def cal_gamma(self, x: Tensor) -> float:
        """Return the probability with which a square begins at a position where one fits."""
        height, width = x.shape[-2:]
        size = self.block_size
        positions = (height - size + 1) * (width - size + 1)
        return min(1.0, self.p * height * width / (size**2 * positions))

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        height, width = x.shape[-2:]
        size = self.block_size
        if min(height, width) < size:
            raise ValueError(
                f"`DropBlock` with squares of {size} got a feature map of {height} x {width}"
            )
        corners = x.new_ones((*x.shape[:-2], height - size + 1, width - size + 1))
        corners = (corners * self.cal_gamma(x)).bernoulli()
        corners = nn.functional.pad(corners, (size - 1,) * 4)
        mask = 1 - nn.functional.max_pool2d(corners, size, stride=1)
        return x * mask * (mask.numel() / mask.sum().clamp(min=1))

    def extra_repr(self) -> str:
        return f"block_size={self.block_size}, p={self.p}"
