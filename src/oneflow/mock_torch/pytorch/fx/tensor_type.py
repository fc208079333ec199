"""Types of tensors by their sizes: ``torch.fx.tensor_type``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar


class TensorType:
    """The type of tensors with some sizes.

    Args:
        dim: the sizes; `Dyn` for one that is not known.

    Example:
        >>> from oneflow.mock_torch.pytorch.fx.tensor_type import Dyn, TensorType
        >>> TensorType((1, Dyn)), TensorType[1, 2] == TensorType((1, 2))
        (TensorType[(1, Dyn)], True)
    """

    def __init__(self, dim: Sequence[Any]) -> None:
        self.__origin__ = TensorType
        self.__args__ = dim

    @property
    def dims(self) -> Sequence[Any]:
        """The sizes."""
        return self.__args__

    def __repr__(self) -> str:
        return f"TensorType[{self.dims}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and list(self.dims) == list(other.dims)

    __hash__: ClassVar[None] = None  # pyright: ignore[reportIncompatibleMethodOverride]

    @staticmethod
    def __class_getitem__(*args: Any) -> TensorType:
        is_tuple = len(args) == 1 and isinstance(args[0], tuple)
        return TensorType(tuple(args[0] if is_tuple else args))


class _DynType:
    """The type of an unknown value."""

    def __init__(self) -> None:
        self.__name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _DynType)

    __hash__: ClassVar[None] = None  # pyright: ignore[reportIncompatibleMethodOverride]

    def __repr__(self) -> str:
        return "Dyn"


Dyn = _DynType()


def _all_sizes(relation: Callable[[Any, Any], bool], t1: Any, t2: Any) -> bool:
    if not isinstance(t1, TensorType) or not isinstance(t2, TensorType):
        return False
    pairs = zip(t1.dims, t2.dims, strict=False)
    return len(t1.dims) == len(t2.dims) and all(relation(*pair) for pair in pairs)


def is_consistent(t1: Any, t2: Any) -> bool:
    """Return whether two types may be one: what is not known may be anything."""
    return t1 == t2 or Dyn in (t1, t2) or _all_sizes(is_consistent, t1, t2)


def is_more_precise(t1: Any, t2: Any) -> bool:
    """Return whether a type says all that another one says."""
    return t1 == t2 or t2 == Dyn or _all_sizes(is_more_precise, t1, t2)
