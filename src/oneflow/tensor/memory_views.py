"""Views of a whole memory, and the tensors that others are views of."""

from __future__ import annotations

from weakref import ref

from oneflow.differentiation.grad_mode import MODE
from oneflow.primitives.operators.elementwise import conj
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.view_chain import NO_VIEWS, Chain, ViewCall, is_conjugate, scatter_back, seen_as
from oneflow.tensor.views import Family, join, share

_PART_PRIMITIVES = (
    "A strided view of a detached part of a tensor that requires grad is being modified inplace. "
    "Write to the part itself, or to a copy of the view."
)


def base_of(tensor: Tensor) -> Tensor | None:
    """The tensor that a tensor is a view of; None if it is no view."""
    family = tensor._family
    if family is None:
        return None
    base = family.base()
    if base is not None:
        return None if base is tensor else base
    if family.root_views():  # of a part without history
        root = family.storage.root().alias()
        base = wrap(root)
        family.base = ref(base)
        family = _storage_family(family, root)
        family.storage.track(root)
    else:
        base = wrap(family.current())
        family.base = ref(base)
    base._family, base._chain, base._seen = family, NO_VIEWS, family.storage.version
    return base


def _storage_family(family: Family, root: Value) -> Family:
    """The family of the whole storage of a part without history; writes count for both."""
    return Family(family.storage, root, family.base, family.writes, (), family.uncounted)


def join_storage(tensor: Tensor, view_call: ViewCall) -> Tensor:
    """Return a view by `view_call` of the tensor's whole storage, whatever part `tensor` is.

    It shows conjugates if `tensor` does.

    Raises:
        RuntimeError: `tensor` shows the parts of conjugates.
    """
    family, dtype = share(tensor), tensor._value.spec.dtype
    conjugate = is_conjugate((*family.root_views(), *tensor._chain))
    if conjugate and not dtype.is_complex:
        raise RuntimeError(
            "the parts of conjugates cannot be seen with other strides: take those of "
            "`resolve_conj()`"
        )
    if family.root_views():
        root = family.storage.root().alias()
        is_recorded = tensor.requires_grad and MODE.enabled
        if is_recorded:
            # The part has a history, the rest of the storage has none.
            root = scatter_back(root, family.root_views(), family.current())
        family = _storage_family(family, root)
        family.refusal = _PART_PRIMITIVES if is_recorded else ""
    base = wrap(family.current())
    base._family, base._chain, base._seen = family, NO_VIEWS, family.storage.version
    last: Chain = (view_call, (conj, (), {})) if conjugate else (view_call,)
    for each_call in (*seen_as(base._value.spec, dtype), *last):
        base = _view_of(base, each_call)
    return base


def _view_of(base: Tensor, view_call: ViewCall) -> Tensor:
    primitive, numbers, attributes = view_call
    return join(wrap(primitive(base._value, *numbers, **attributes)), base, view_call)
