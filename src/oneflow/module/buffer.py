"""`Buffer`: a tensor that becomes a buffer of the module it is assigned to."""

from __future__ import annotations

from oneflow.tensor.subclasses import disabled_torch_function
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import alias_storage, unwrap


class Buffer(Tensor):
    """A tensor that becomes a buffer of the module it is assigned to.

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
    __torch_function__ = staticmethod(disabled_torch_function)

    def __new__(cls, data: Tensor | None = None, persistent: bool = True) -> Buffer:
        data = Tensor() if data is None else data
        buffer = object.__new__(cls)
        buffer._value = unwrap(data).alias()
        alias_storage(buffer, data, uncounted=False)
        buffer.persistent = persistent
        return buffer

    def __init__(self, data: Tensor | None = None, persistent: bool = True) -> None:
        # Everything happens in `__new__`.
        pass
