"""Tensors of an accelerator whose numbers wait in the host's memory."""

from __future__ import annotations

import warnings

from oneflow.runtime.eager import MetaArray
from oneflow.runtime.lazy_array import OffloadedArray
from oneflow.tensor.call import wrap
from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


def offload(self: Tensor) -> None:
    """Move the numbers of an accelerator's tensor to the host's memory; it stays the same tensor.

    `load` moves them back, and so does whatever reads the tensor. The memory of the accelerator is
    free once nothing else holds it, such as a view or what a backward pass needs. Tensors of the
    CPU stay as they are, with a warning.

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
    value = unwrap(self)
    if value.is_symbolic:
        raise RuntimeError("`offload` has no meaning for a tensor of a graph that is being built")
    array = value.read()
    if not isinstance(array, MetaArray):
        self.data = wrap(OffloadedArray(value.spec, array).value())


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
    unwrap(self).read()


def is_offloaded(self: Tensor) -> bool:
    """True while the numbers wait in the host's memory, see `offload`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).is_offloaded()
        False
    """
    return isinstance(unwrap(self).recorder, OffloadedArray)


for _method in (offload, load, is_offloaded):
    attach(_method.__name__, _method)
