"""Write-through: tensors that share memory in PyTorch, kept equal over immutable arrays.

A `Storage` is what tensors share: the current value of the whole (the *root*) and a version that
counts writes. A `Family` is a set of tensors on one storage that also share autograd history: a
root and its differentiable views. `x.detach()` starts a second family on the same storage. Each
tensor knows the chain of view primitives that leads from the root to it; reading a tensor whose
storage has moved on replays the chain, writing to a tensor scatters back along it.

Most tensors are never viewed and have neither.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import ref

from oneflow.differentiation.grad_mode import MODE, enable_grad
from oneflow.primitives.registry import Primitive
from oneflow.primitives.shape import overwrite
from oneflow.program.value import Value

if TYPE_CHECKING:
    from oneflow.tensor.tensor import Tensor

ViewStep = tuple[Primitive, tuple, dict[str, Any]]


class Storage:
    """The memory that several tensors share.

    Attributes:
        value: the root's data.
        version: number of writes so far.
    """

    __slots__ = ("_lent", "_prune_at", "value", "version")

    def __init__(self, value: Value) -> None:
        self.value = value
        self.version = 0
        self._lent = [ref(value)]
        self._prune_at = 32

    def lend(self, value: Value) -> None:
        """Remember a value read from here: the next write makes it stale."""
        self._lent.append(ref(value))
        if len(self._lent) > self._prune_at:
            self._lent = [reference for reference in self._lent if reference() is not None]
            self._prune_at = 2 * len(self._lent) + 32

    def replace(self, root: Value, silent: bool) -> None:
        """Write: `root` is the new content."""
        if not silent:
            for reference in self._lent:
                value = reference()
                if value is not None:
                    mark_stale(value)
        self._lent = [ref(root)]
        self.value = root
        self.version += 1


class Family:
    """Tensors on one storage with one autograd history.

    Attributes:
        storage: the memory.
        value: the root with this family's history.
        version: version of the storage that `value` belongs to.
        silent: writes do not count for autograd's check of saved tensors (`Tensor.data`).
        unrecorded: views made in `no_grad` of something that requires grad; writing to them while
            gradients are recorded would silently lose gradients.
    """

    __slots__ = ("silent", "storage", "unrecorded", "value", "version")

    def __init__(self, storage: Storage, value: Value, silent: bool = False) -> None:
        self.storage = storage
        self.value = value
        self.version = storage.version
        self.silent = silent
        self.unrecorded = False

    def current(self) -> Value:
        """The root as it is now. Another family's write changes the data, not this family's history."""
        if self.version != self.storage.version:
            self.value = with_history_of(self.storage.value.alias(), self.value)
            self.version = self.storage.version
            self.storage.lend(self.value)
        return self.value


def mark_stale(value: Value) -> None:
    """Note that `value` was overwritten, for autograd's check of saved tensors."""
    value.stale = True
    if value.node is not None:
        value.node.stale_outputs += 1


def with_history_of(value: Value, other: Value) -> Value:
    """`value` made to look as if it came from where `other` came from."""
    value.node, value.output_index = other.node, other.output_index
    return value


def share(tensor: Tensor) -> Family:
    """The family of `tensor`; one is made when it has none yet."""
    if tensor._family is None:
        tensor._family = Family(Storage(tensor._value), tensor._value)
        tensor._chain, tensor._seen = (), 0
    return tensor._family


def join(view: Tensor, base: Tensor, step: ViewStep) -> Tensor:
    """Make the fresh tensor `view`, computed by `step` from `base`, share memory with it."""
    family = share(base)
    if not MODE.enabled and base.requires_grad:
        family = _unrecorded(family.storage)
    view._family, view._chain, view._seen = family, (*base._chain, step), family.storage.version
    family.storage.lend(view._value)
    return view


def _unrecorded(storage: Storage) -> Family:
    """A family without history for a view made in `no_grad`."""
    family = Family(storage, storage.value.alias())
    family.unrecorded = True
    return family


def join_storage(tensor: Tensor, step: ViewStep, wrap: Callable[[Value], Tensor]) -> Tensor:
    """A view of the whole storage of `tensor`, made by `step`, whatever part of it `tensor` is."""
    family = share(tensor)
    primitive, numbers, attributes = step
    view = wrap(primitive(family.current(), *numbers, **attributes))
    if not MODE.enabled and tensor.requires_grad:
        family = _unrecorded(family.storage)
    view._family, view._chain, view._seen = family, (step,), family.storage.version
    family.storage.lend(view._value)
    return view


def detached_twin(twin: Tensor, tensor: Tensor, silent: bool) -> Tensor:
    """Make the fresh tensor `twin`, an alias without history, share memory with `tensor`."""
    storage = share(tensor).storage
    family = Family(storage, storage.value.alias(), silent)
    twin._family, twin._chain, twin._seen = family, tensor._chain, storage.version
    storage.lend(twin._value)
    return twin


def cut_off(tensor: Tensor, value: Value) -> Tensor:
    """Give a root that is no view `value`, its own without history; its memory stays shared."""
    tensor._value = value
    if tensor._family is not None:
        storage = tensor._family.storage
        tensor._family, tensor._seen = Family(storage, value), storage.version
        storage.lend(value)
    return tensor


def refresh(tensor: Tensor) -> Value:
    """Recompute a tensor whose storage was written to since it was last read."""
    family = tensor._family
    value = family.current()
    if tensor._chain:
        with enable_grad():
            for primitive, numbers, attributes in tensor._chain:
                value = primitive(value, *numbers, **attributes)
        family.storage.lend(value)
    tensor._value, tensor._seen = value, family.storage.version
    return value


def write(tensor: Tensor, new: Value) -> None:
    """Replace what `tensor` holds by `new` (same spec), for it and for everything that shares its memory.

    Raises:
        RuntimeError: a leaf that requires grad, or a view of one, while gradients are recorded; or
            an expanded tensor.
    """
    old = tensor.value
    family = tensor._family
    if MODE.enabled:
        _refuse_leaf(tensor, old)
        if old.node is not None and new.node is None:
            new = overwrite(old, new)
    elif new is not old:
        with_history_of(new, old)
    if family is None:
        mark_stale(old)
        tensor._value = new
        return
    storage = family.storage
    root = new if not tensor._chain else _scatter(family.current(), tensor._chain, new)
    if not MODE.enabled and root is not new:
        with_history_of(root, family.value)
    storage.replace(root, family.silent)
    storage.lend(new)
    family.value, family.version = root, storage.version
    tensor._value, tensor._seen = new, storage.version


def _refuse_leaf(tensor: Tensor, old: Value) -> None:
    if tensor._family is not None and tensor._family.unrecorded:
        raise RuntimeError(
            "A view was created in no_grad mode and is being modified inplace with grad mode "
            "enabled. Make the view and write to it either both inside the no_grad block or both "
            "outside."
        )
    if old.node is None:
        return
    if tensor.is_leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )
    if tensor._chain and tensor._family.current().node.is_leaf_node:
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )


def _scatter(root: Value, chain: tuple[ViewStep, ...], new: Value) -> Value:
    """The root after `new` was written into the view at the end of `chain`."""
    bases = [root]
    for primitive, numbers, attributes in chain[:-1]:
        bases.append(primitive(bases[-1], *numbers, **attributes))
    for base, (primitive, numbers, attributes) in zip(
        reversed(bases), reversed(chain), strict=True
    ):
        new = primitive.facts["write"](base, new, *numbers, **attributes)
    return new
