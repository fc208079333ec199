"""Tensors that change places: ``torch.utils.swap_tensors``."""

from __future__ import annotations

from weakref import ref

from oneflow.differentiation.node import AccumulateGrad
from oneflow.tensor.attributes import stored_in
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Swap two tensors: each gets the memory, attributes and class of the other.

    Graphs that were recorded before give them no gradients: backward through one is an error.

    Raises:
        RuntimeError: one of them is computed from others that require grad.
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if not tensor.is_leaf:
            raise RuntimeError(f"cannot swap {name}: it is computed from others")
    if t1 is t2:
        return
    leaves = [_end_graph(t1), _end_graph(t2)]
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    first, second = stored_in(t1), stored_in(t2)
    before = dict(first)
    first.clear()
    first.update(second)
    second.clear()
    second.update(before)
    for tensor, other, requires_grad in zip((t1, t2), (t2, t1), reversed(leaves), strict=True):
        family = tensor._family
        if family is not None and family.base() is other:
            family.base = ref(tensor)
        tensor.requires_grad_(requires_grad)


def _end_graph(tensor: Tensor) -> bool:
    """Separate a leaf from its graphs; returns whether it requires grad."""
    node = unwrap(tensor).node
    if isinstance(node, AccumulateGrad):
        node.poison()
    requires_grad = tensor.requires_grad
    tensor.requires_grad_(False)
    return requires_grad
