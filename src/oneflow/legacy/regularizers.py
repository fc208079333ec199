"""Terms that variables add to the loss: `oneflow.regularizers`."""

from __future__ import annotations

from dataclasses import dataclass

from oneflow.tensor.tensor import Tensor


@dataclass(frozen=True)
class Regularizer:
    """``l1`` times the sum of magnitudes plus ``l2 / 2`` times the sum of squares."""

    l1: float = 0.0
    l2: float = 0.0

    def penalty(self, variable: Tensor) -> Tensor:
        """Return what `variable` adds to the loss."""
        return self.l1 * variable.abs().sum() + 0.5 * self.l2 * variable.square().sum()


def l1(l: float = 0.01) -> Regularizer:  # noqa: E741
    """The gradient gets ``l * sign(variable)``.

    Example:
        >>> import oneflow as flow
        >>> flow.regularizers.l1(0.1)
        Regularizer(l1=0.1, l2=0.0)
    """
    return Regularizer(l1=l)


def l2(l: float = 0.01) -> Regularizer:  # noqa: E741
    """The gradient gets ``l * variable``.

    Example:
        >>> import oneflow as flow
        >>> flow.regularizers.l2(0.1)
        Regularizer(l1=0.0, l2=0.1)
    """
    return Regularizer(l2=l)


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> Regularizer:
    """Both.

    Example:
        >>> import oneflow as flow
        >>> flow.regularizers.l1_l2(0.1, 0.2)
        Regularizer(l1=0.1, l2=0.2)
    """
    return Regularizer(l1, l2)
