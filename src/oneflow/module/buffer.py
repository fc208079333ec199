"""`Buffer`: a tensor that becomes a buffer of the module it is assigned to."""

from __future__ import annotations

from typing import Any

from oneflow.tensor.subclasses import disabled_torch_function
from oneflow.tensor.tensor import Tensor


class _BufferMeta(type):
    """The class of `Buffer`, to which tensors of any class belong that it has marked."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        return cls is Buffer and isinstance(instance, Tensor) and hasattr(instance, "_is_buffer")


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that becomes a buffer of the module it is assigned to.

    It is of the class of `data`, with a mark that `isinstance` looks at.

    Args:
        data: the values; memory is shared with this tensor.
        persistent: whether it is part of the state dict.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.Module()
        >>> layer.mean = flow.nn.Buffer(flow.zeros(2))
        >>> list(layer.state_dict())
        ['mean']
    """

    persistent: bool
    _is_buffer: bool
    __torch_function__ = staticmethod(disabled_torch_function)

    def __new__(cls, data: Tensor | None = None, persistent: bool = True) -> Buffer:
        data = Tensor() if data is None else data
        buffer: Any = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent, buffer._is_buffer = persistent, True
        return buffer
