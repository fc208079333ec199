"""Dropout layers: active in training mode only."""

from __future__ import annotations

from oneflow.functional.nn import dropout as functional
from oneflow.module.module import Module
from oneflow.random.generator import Generator
from oneflow.tensor.tensor import Tensor


class _Dropout(Module):
    """Base of dropout layers: a probability, and a flag to write into the input."""

    generator: Generator | None = None  # PyTorch's layers have none

    def __init__(
        self, p: float = 0.5, inplace: bool = False, generator: Generator | None = None
    ) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace
        self.generator = generator

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Zeroes elements with probability `p` in training, and scales the others by ``1 / (1 - p)``.

    Args:
        p: probability of an element to become 0.
        inplace: write into the input.
        generator: where the numbers come from, default the default generator.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Dropout(0.5).eval()(flow.ones(2))
        tensor([1., 1.], dtype=oneflow.float32)
    """

    def forward(self, input: Tensor, addend: Tensor | None = None) -> Tensor:
        return functional.dropout(
            input, self.p, self.training, self.inplace, self.generator, addend=addend
        )


class Dropout1d(_Dropout):
    """`Dropout` of whole channels of ``(N, C, L)`` or ``(C, L)`` inputs.

    Args:
        p: probability of a channel to become 0.
        inplace: write into the input.
        generator: where the numbers come from, default the default generator.

    Shape:
        input: ``(N, C, L)`` or ``(C, L)``.
        output: ``(N, C, L)`` or ``(C, L)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Dropout1d(0.2)(flow.ones(2, 3, 4)).shape
        oneflow.Size([2, 3, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return functional.dropout1d(input, self.p, self.training, self.inplace, self.generator)


class Dropout2d(_Dropout):
    """`Dropout` of whole channels of ``(N, C, H, W)`` or ``(N, C, L)`` inputs.

    Args:
        p: probability of a channel to become 0.
        inplace: write into the input.
        generator: where the numbers come from, default the default generator.

    Shape:
        input: ``(N, C, H, W)`` or ``(N, C, L)``.
        output: ``(N, C, H, W)`` or ``(N, C, L)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Dropout2d(0.2)(flow.ones(2, 3, 4, 4)).shape
        oneflow.Size([2, 3, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return functional.dropout2d(input, self.p, self.training, self.inplace, self.generator)


class Dropout3d(_Dropout):
    """`Dropout` of whole channels of ``(N, C, D, H, W)`` or ``(C, D, H, W)`` inputs.

    Args:
        p: probability of a channel to become 0.
        inplace: write into the input.
        generator: where the numbers come from, default the default generator.

    Shape:
        input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
        output: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Dropout3d(0.2)(flow.ones(2, 3, 1, 4, 4)).shape
        oneflow.Size([2, 3, 1, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return functional.dropout3d(input, self.p, self.training, self.inplace, self.generator)


class AlphaDropout(_Dropout):
    """Dropout for SELU networks: keeps the mean and the variance of its input.

    Args:
        p: probability of an element to be dropped.
        inplace: write into the input.
        generator: where the numbers come from, default the default generator.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AlphaDropout(0.2)(flow.ones(2, 3)).shape
        oneflow.Size([2, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return functional.alpha_dropout(input, self.p, self.training, self.inplace, self.generator)


class FeatureAlphaDropout(_Dropout):
    """`AlphaDropout` of whole channels of ``(N, C, ...)`` inputs.

    Args:
        p: probability of a channel to be dropped.
        inplace: write into the input.
        generator: where the numbers come from, default the default generator.

    Shape:
        input: ``(N, C, *)``.
        output: ``(N, C, *)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.FeatureAlphaDropout(0.2)(flow.ones(2, 3, 4)).shape
        oneflow.Size([2, 3, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return functional.feature_alpha_dropout(
            input, self.p, self.training, self.inplace, self.generator
        )
