"""Stochastic depth: residual branches that are left out at random."""

from __future__ import annotations

from oneflow import Tensor, nn


def stochastic_depth(input: Tensor, p: float, mode: str, training: bool = True) -> Tensor:
    """Zero the whole input, or samples of it, and scale the rest so that the mean stays.

    Source: https://arxiv.org/abs/1603.09382

    Args:
        input: a residual branch, of shape (N, ...).
        p: the probability of zero.
        mode: "batch" if the whole input is zeroed at once, "row" if each sample is on its own.
        training: whether anything is zeroed.

    Returns:
        Tensor of the shape of `input`.

    Raises:
        ValueError: if `p` is not a probability or there is no such mode.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import stochastic_depth
        >>> branch = stochastic_depth(flow.ones(100, 4), 0.5, "row")
        >>> sorted(set(branch.flatten().tolist()))
        [0.0, 2.0]
    """
    if not 0 <= p <= 1:
        raise ValueError(f"the drop probability must be between 0 and 1, not {p}")
    if mode not in ("batch", "row"):
        raise ValueError(f"`mode` must be 'batch' or 'row', not {mode!r}")
    if not training or p == 0:
        return input
    samples = input.shape[0] if mode == "row" else 1
    ones = input.new_ones((samples, *(1,) * (input.ndim - 1)))
    return input * nn.functional.dropout(ones, p)


class StochasticDepth(nn.Module):
    """See `stochastic_depth`.

    Args:
        p: the probability of zero.
        mode: "batch" or "row".

    Example:
        >>> import oneflow as flow
        >>> from flowvision.ops import StochasticDepth
        >>> StochasticDepth(p=0.5, mode="row").eval()(flow.ones(2, 1))
        tensor([[1.],
                [1.]], dtype=oneflow.float32)
    """

    def __init__(self, p: float, mode: str) -> None:
        super().__init__()
        self.p = p
        self.mode = mode

    def forward(self, input: Tensor) -> Tensor:
        return stochastic_depth(input, self.p, self.mode, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}, mode={self.mode}"
