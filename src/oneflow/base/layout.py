"""PyTorch's names of ways to store tensors, and of orders of their elements in memory."""

from __future__ import annotations

import enum
from typing import Any

from oneflow.base.program_name import program_name
from oneflow.base.suggestions import did_you_mean


class Layout(enum.Enum):
    """A way to store tensors: all elements at regular distances, or those at some positions.

    `sparse_bsr` and `sparse_bsc` are PyTorch's, which programs compare with.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).layout
        oneflow.strided
    """

    strided = enum.auto()
    sparse_coo = enum.auto()
    sparse_csr = enum.auto()
    sparse_csc = enum.auto()
    sparse_bsr = enum.auto()
    sparse_bsc = enum.auto()
    jagged = enum.auto()

    def __repr__(self) -> str:
        return f"{program_name()}.{self.name}"

    __str__ = __repr__


class MemoryFormat(enum.Enum):
    """An order of elements in memory. XLA chooses it, so that asking for one changes nothing.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2, 3, 4, 4).to(memory_format=flow.channels_last)
        >>> x.is_contiguous(), x.is_contiguous(memory_format=flow.channels_last)
        (True, False)
    """

    contiguous_format = enum.auto()
    channels_last = enum.auto()
    channels_last_3d = enum.auto()
    preserve_format = enum.auto()

    def __repr__(self) -> str:
        return f"{program_name()}.{self.name}"

    __str__ = __repr__


strided = Layout.strided
sparse_coo = Layout.sparse_coo
sparse_csr = Layout.sparse_csr
sparse_csc = Layout.sparse_csc
jagged = Layout.jagged
contiguous_format = MemoryFormat.contiguous_format
channels_last = MemoryFormat.channels_last
channels_last_3d = MemoryFormat.channels_last_3d
preserve_format = MemoryFormat.preserve_format
# Dimensions from the outermost to the innermost.
CHANNELS_LAST_ORDERS = {channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}


def require_memory_format(memory_format: Any, name: str, ndim: int | None = None) -> None:
    """Refuse an order of elements that is none, or that a tensor cannot have.

    Args:
        memory_format: the order; None is any.
        name: the function's name.
        ndim: the number of dimensions of the tensor that is to have the order, if it is to.

    Raises:
        TypeError: names the function and, of a text, the format that is meant, perhaps.
        RuntimeError: the format is of tensors with other numbers of dimensions.
    """
    if memory_format is None:
        return
    if not isinstance(memory_format, MemoryFormat):
        hint = did_you_mean(str(memory_format).rpartition(".")[2], MemoryFormat.__members__)
        raise TypeError(
            f"{name}(): argument 'memory_format' must be {program_name()}.memory_format, not "
            f"{memory_format!r} of type `{type(memory_format).__name__}`{hint}"
        )
    order = CHANNELS_LAST_ORDERS.get(memory_format)
    if order is not None and ndim not in (None, len(order)):
        raise RuntimeError(
            f"{name}(): required rank {len(order)} tensor to use {memory_format.name} format, got"
            f" one with {ndim} dimensions"
        )


def require_new_memory_format(memory_format: Any, name: str, ndim: int) -> None:
    """Refuse an order of elements for a function that has no tensor whose order it could preserve.

    Raises:
        TypeError: it is none.
        RuntimeError: it is `preserve_format`, or of tensors with other numbers of dimensions.
    """
    require_memory_format(memory_format, name, ndim)
    if memory_format is preserve_format:
        raise RuntimeError(f"{name}(): unsupported memory format {memory_format!r}")
