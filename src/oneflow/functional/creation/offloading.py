"""Tensors of an accelerator whose numbers wait in the host's memory."""

from __future__ import annotations

import warnings

from oneflow.program.value import Value
from oneflow.runtime.lazy_array import OffloadedArray
from oneflow.runtime.meta_array import MetaArray
from oneflow.tensor.methods import attach
from oneflow.tensor.storage import MEMORY_LOCK
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import marked_like, unwrap, with_history_of


def offload(self: Tensor) -> None:
    """Move the numbers of an accelerator's tensor to the host's memory; it stays the same tensor.

    Its views, and what it is a view of, share its memory and move with it. `load` moves them back,
    and so does whatever reads one of them. The memory of the accelerator is free once nothing else
    holds it, such as what was read from a view or what a backward pass needs. Tensors of the CPU
    stay as they are, with a warning.

    Example:
        >>> import oneflow as flow
        >>> device = "cuda" if flow.cuda.is_available() else "cpu"
        >>> x = flow.ones(2, device=device)
        >>> if device != "cpu":
        ...     x.offload()
        >>> x.is_offloaded() == (device != "cpu")
        True
    """
    if self.device.type == "cpu" or is_offloaded(self):
        reason = "is in the host's memory already" if is_offloaded(self) else "is on the CPU"
        warnings.warn(f"`offload` changes nothing: the tensor {reason}", stacklevel=2)
        return
    if unwrap(self).is_symbolic:
        raise RuntimeError("`offload` has no meaning for a tensor of a graph that is being built")
    move_to_host(self)


def move_to_host(tensor: Tensor) -> None:
    """Let the numbers of a tensor, and of all that share its memory, wait in the host's memory."""
    with MEMORY_LOCK:
        memory = _memory(tensor)
        array = memory.read()
        if isinstance(array, MetaArray):
            return
        moved = marked_like(OffloadedArray(memory.spec, array).value(), memory)
        family = tensor._family
        if family is None:
            tensor._value = with_history_of(moved, memory)
            return
        # Nothing is written, but all tensors on the memory look at it again.
        family.storage.replace(moved, uncounted=True)
        for holder in (family.base(), tensor):
            if holder is not None and not holder._chain:
                unwrap(holder)


def _memory(tensor: Tensor) -> Value:
    """The numbers of the whole memory of a tensor, which may be a view of a part of it."""
    return tensor._value if tensor._family is None else tensor._family.storage.root()


def load(self: Tensor) -> None:
    """Move the numbers that `offload` moved to the host's memory back to the accelerator.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2, device="cuda") if flow.cuda.is_available() else None
        >>> if x is not None:
        ...     x.offload()
        ...     x.load()
    """
    if not is_offloaded(self):
        warnings.warn("`load` changes nothing: the tensor is not offloaded", stacklevel=2)
    _memory(self).read()


def is_offloaded(self: Tensor) -> bool:
    """True while the numbers wait in the host's memory, see `offload`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).is_offloaded()
        False
    """
    return isinstance(_memory(self).recorder, OffloadedArray)


for _method in (offload, load, is_offloaded):
    attach(_method.__name__, _method)
