"""Softmax, its relatives and gated linear units, as modules."""

from __future__ import annotations

from oneflow.functional.nn import softmax
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


class GLU(Module):
    """Gated linear unit: the first half of the input times the sigmoid of the second.

    Args:
        dim: the dimension that is halved.

    Shape:
        input: ``(*, M)``, here with `dim` as the last dimension; ``M`` is even.
        output: ``(*, M // 2)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.GLU()(flow.tensor([1.0, 2.0, 0.0, 0.0]))
        tensor([0.5000, 1.0000], dtype=oneflow.float32)
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return softmax.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(Module):
    """``exp(x) / sum(exp(x))`` along a dimension.

    Args:
        dim: the dimension; default: 1, or 0 for a tensor of 0, 1 or 3 dimensions.

    Shape:
        input: ``(*)``, any shape with dimension `dim`.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Softmax(0)(flow.tensor([0.0, 0.0]))
        tensor([0.5000, 0.5000], dtype=oneflow.float32)
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return softmax.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """The logarithm of softmax along a dimension.

    Args:
        dim: the dimension; default: 1, or 0 for a tensor of 0, 1 or 3 dimensions.

    Shape:
        input: ``(*)``, any shape with dimension `dim`.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LogSoftmax(0)(flow.tensor([0.0, 0.0]))
        tensor([-0.6931, -0.6931], dtype=oneflow.float32)
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return softmax.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(Module):
    """Softmax of the negated input.

    Args:
        dim: the dimension; default: 1, or 0 for a tensor of 0, 1 or 3 dimensions.

    Shape:
        input: ``(*)``, any shape with dimension `dim`.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Softmin(0)(flow.tensor([0.0, 0.0]))
        tensor([0.5000, 0.5000], dtype=oneflow.float32)
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return softmax.softmin(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax2d(Module):
    """Softmax over the channels of ``(N, C, H, W)`` or ``(C, H, W)``.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        output: ``(N, C, H, W)`` or ``(C, H, W)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Softmax2d()(flow.ones(1, 4, 1, 1)).flatten().tolist()
        [0.25, 0.25, 0.25, 0.25]
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return softmax.softmax(input, -3)
