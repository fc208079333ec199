"""Activations under the names that MobileNet v3 and its relatives use."""

from __future__ import annotations

from oneflow import nn


class hard_sigmoid(nn.Hardsigmoid):
    """``min(max(x + 3, 0), 6) / 6``, written to the input unless `inplace` is false.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import hard_sigmoid
        >>> hard_sigmoid()(flow.tensor([-3.0, 0.0, 3.0])).tolist()
        [0.0, 0.5, 1.0]
    """

    def __init__(self, inplace: bool = True) -> None:
        super().__init__(inplace)


class hard_swish(nn.Hardswish):
    """``x * min(max(x + 3, 0), 6) / 6``, written to the input unless `inplace` is false.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import hard_swish
        >>> hard_swish()(flow.tensor([-1.5, 0.0, 3.0])).tolist()
        [-0.375, 0.0, 3.0]
    """

    def __init__(self, inplace: bool = True) -> None:
        super().__init__(inplace)
