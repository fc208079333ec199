"""Activation functions made of straight pieces, as modules."""

from __future__ import annotations

from typing import Any

from oneflow.functional.elementwise import piecewise
from oneflow.module.module import Module
from oneflow.nn.modules.activation import _InplaceActivation
from oneflow.tensor.tensor import Tensor


class ReLU6(_InplaceActivation):
    """The input limited to ``[0, 6]``.

    Args:
        inplace: write the result into the input.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ReLU6()(flow.tensor([-1.0, 8.0]))
        tensor([0., 6.], dtype=oneflow.float32)
    """

    _function = staticmethod(piecewise.relu6)

    def _attributes_in_pytorch(self) -> dict[str, Any]:
        return {"min_val": 0.0, "max_val": 6.0}


class Hardsigmoid(_InplaceActivation):
    """0 up to -3, 1 from 3 on, a straight line between.

    Args:
        inplace: write the result into the input.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Hardsigmoid()(flow.tensor([0.0, 4.0]))
        tensor([0.5000, 1.0000], dtype=oneflow.float32)
    """

    _function = staticmethod(piecewise.hardsigmoid)


class Hardswish(_InplaceActivation):
    """``x * hardsigmoid(x)``.

    Args:
        inplace: write the result into the input.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Hardswish()(flow.tensor([0.0, 4.0]))
        tensor([0., 4.], dtype=oneflow.float32)
    """

    _function = staticmethod(piecewise.hardswish)


class Hardtanh(Module):
    """The input limited to ``[min_val, max_val]``.

    Args:
        min_val: lower limit.
        max_val: upper limit.
        inplace: write the result into the input.
        min_value: older name of `min_val`.
        max_value: older name of `max_val`.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Raises:
        ValueError: the lower limit is not below the upper one.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Hardtanh()(flow.tensor([-2.0, 0.5]))
        tensor([-1.0000,  0.5000], dtype=oneflow.float32)
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise ValueError(
                f"max_val must be larger than min_val, got min_val={self.min_val}, "
                f"max_val={self.max_val}"
            )

    def forward(self, input: Tensor) -> Tensor:
        return piecewise.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        limits = f"min_val={self.min_val}, max_val={self.max_val}"
        return limits + (", inplace=True" if self.inplace else "")


class Hardshrink(Module):
    """The input, but 0 between ``-lambd`` and ``lambd``.

    Args:
        lambd: half the width of the gap.
        inplace: write the result into the input.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Hardshrink()(flow.tensor([0.5, 2.0]))
        tensor([0., 2.], dtype=oneflow.float32)
    """

    inplace = False  # PyTorch's layer has no such flag

    def __init__(self, lambd: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.lambd = lambd
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return piecewise.hardshrink(input, self.lambd, self.inplace)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Softshrink(Module):
    """The input moved towards 0 by `lambd`, and 0 within.

    Args:
        lambd: how far to move, at least 0.
        inplace: write the result into the input.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Softshrink()(flow.tensor([0.5, 2.0]))
        tensor([0.0000, 1.5000], dtype=oneflow.float32)
    """

    inplace = False  # PyTorch's layer has no such flag

    def __init__(self, lambd: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.lambd = lambd
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return piecewise.softshrink(input, self.lambd, self.inplace)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Threshold(Module):
    """The input where it is above `threshold`, else `value`.

    Args:
        threshold: the limit.
        value: what replaces inputs up to the limit.
        inplace: write the result into the input.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Threshold(1.0, -1.0)(flow.tensor([0.5, 2.0]))
        tensor([-1.,  2.], dtype=oneflow.float32)
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return piecewise.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (
            ", inplace=True" if self.inplace else ""
        )
