"""Upstream's list of tensors."""

from __future__ import annotations

from collections.abc import Iterable

from oneflow.tensor.tensor import Tensor


class TensorTuple(list[Tensor]):
    """A list of tensors, as upstream's functions return and take it.

    Args:
        tensors: the tensors.

    Raises:
        TypeError: one of them is something else.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.framework.tensor import TensorTuple
        >>> flow.cat(TensorTuple([flow.ones(1), flow.zeros(2)])).tolist()
        [1.0, 0.0, 0.0]
    """

    def __init__(self, tensors: Iterable[Tensor] = ()) -> None:
        super().__init__(tensors)
        for tensor in self:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"TensorTuple(): expected tensors, got {type(tensor).__name__}")

    def merge(self, other: Iterable[Tensor]) -> None:
        """Add the tensors of another list."""
        self.extend(other)


def convert_to_tensor_tuple(args: Tensor | Iterable[Tensor] | None) -> TensorTuple:
    """A list of one tensor, of several, or of none."""
    if args is None:
        return TensorTuple()
    return TensorTuple([args] if isinstance(args, Tensor) else args)
