"""Write-through: tensors that share memory in PyTorch, kept equal over immutable arrays.

A `Storage` is what tensors share: the current value of the whole (the *root*) and a version that
changes with each write. A `Family` is a set of tensors on one storage that also share autograd
history: a root and its differentiable views. `x.detach()` starts a second family on the same
storage. Each tensor knows the chain of view primitives that leads from the root to it; reading a
tensor whose storage has moved on replays the chain, writing to a tensor scatters back along it.

Most tensors are never viewed and have neither.

Threads may write to parts of one memory at a time, as rows of a result. Since a write of a part
makes the whole anew, they take turns (`MEMORY_LOCK`), as do those who accumulate gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar
from weakref import ref

from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import MODE, enable_grad, no_grad
from oneflow.differentiation.hooks import move_retained_gradient
from oneflow.dispatch.global_call import converted
from oneflow.primitives.operators.shape import overwrite
from oneflow.program.value import INFERENCE, Value
from oneflow.tensor.storage import MEMORY_LOCK, Storage, mark_stale, note_replacement
from oneflow.tensor.view_chain import (
    NO_VIEWS,
    Chain,
    ViewCall,
    ViewChain,
    joined,
    overlapping,
    replay,
    replay_memory,
    scatter_back,
)


class Handle(Protocol):
    """Protocol: the members of a tensor that views need."""

    _value: Value
    _family: Any
    _chain: ViewChain
    _seen: int
    _writes: int
    _retains_grad: bool

    @property
    def requires_grad(self) -> bool:
        """True if gradients flow to or through it."""
        ...

    @property
    def is_leaf(self) -> bool:
        """True if it was not computed from one that requires grad."""
        ...


T = TypeVar("T", bound=Handle)
# Called with a tensor and its new value before each write.
WRITE_HOOKS: list[Callable[[Handle, Value], None]] = []

_NO_GRAD_TEXT = (
    "A view was created in {0} mode and is being modified inplace with grad mode enabled. Make "
    "the view and write to it either both inside the {0} block or both outside."
)
_OVERLAP_WITH_GRADIENT = (
    "A detached view that shows elements several times is being modified inplace by values that "
    "require a gradient. Write to what it was detached from, or to a clone() of it."
)


class Family:
    """Tensors on one storage with one autograd history.

    Attributes:
        storage: the memory.
        root_chain: the views that lead from the storage to this family's root; of a family that is
            not up to date from a smaller one (`root_views`).
        value: the root with this family's history.
        version: version of the storage that `value` belongs to.
        uncounted: writes do not count for autograd's check of saved tensors (`Tensor.data`).
        writes: their number in a list of its own, which detached tensors share (`Tensor._version`).
        refusal: why it must not be written to while gradients are recorded, which would silently
            lose some; empty where it may.
        base: refers to the tensor that the others are views of, as long as it exists.
    """

    __slots__ = (
        "base",
        "refusal",
        "root_chain",
        "storage",
        "uncounted",
        "value",
        "version",
        "writes",
    )

    def __init__(
        self,
        storage: Storage,
        value: Value,
        base: ref[Any],
        writes: list[int],
        root_chain: Chain = (),
        uncounted: bool = False,
    ) -> None:
        self.base = base
        self.storage = storage
        self.root_chain = root_chain
        self.value = value
        self.version = storage.version
        self.uncounted = uncounted
        self.writes = writes
        self.refusal = ""

    def current(self) -> Value:
        """The root as it is now. A write by another family changes the data, not the history."""
        if self.storage.host is not None:
            self.storage.synchronize()
        if self.version != self.storage.version:
            self._follow_growth()
            with no_grad():
                data = replay(self.storage.value, self.root_chain)
            if data is self.storage.value:
                data = data.alias()
            self.value = marked_like(with_history_of(data, self.value), self.storage.value)
            self.version = self.storage.version
            self.storage.track(self.value)
        return self.value

    def root_views(self) -> Chain:
        """The views that lead from the storage, as large as it is now, to the root."""
        if self.storage.growths:
            with MEMORY_LOCK:
                self.current()
        return self.root_chain

    def _follow_growth(self) -> None:
        for version, former in self.storage.growths:
            if self.version < version:
                self.root_chain = (*former, *self.root_chain)

    def replace(self, root: Value) -> None:
        """Write: `root` is the new content of this family's part of the storage."""
        storage = self.storage
        new_root = root
        if self.root_chain:
            with no_grad():
                new_root = scatter_back(storage.value, self.root_chain, root)
            marked_like(new_root, root)
        version = storage.replace(new_root, self.uncounted)
        self.writes[0] += 1
        if new_root is not root:
            storage.track(root)
        self.value, self.version = root, version


def with_history_of(value: Value, other: Value) -> Value:
    """`value` made to look as if it came from where `other` came from."""
    value.node, value.output_index = other.node, other.output_index
    return value


def marked_like(value: Value, memory: Value) -> Value:
    """`value` made in inference mode or not, as `memory` was, whose memory it shares."""
    value.stale = INFERENCE if memory.stale is INFERENCE else False
    return value


def share(tensor: Handle) -> Family:
    """The family of `tensor`; one is made when it has none yet."""
    if tensor._family is None:
        with MEMORY_LOCK:
            if tensor._family is None:
                storage = Storage(tensor._value)
                tensor._seen = storage.version
                tensor._family = Family(storage, tensor._value, ref(tensor), [tensor._writes])
    return tensor._family


def join(view: T, base: Handle, view_call: ViewCall, chain: ViewChain | None = None) -> T:
    """Make the fresh tensor `view`, computed by `view_call` from `base`, share memory with it.

    `chain` is that of `base` with `view_call` behind it, if there is one already.
    """
    family = base._family or share(base)
    value, records = view._value, MODE.enabled
    if base._value.stale is INFERENCE or (not records and MODE.inference):
        marked_like(value, base._value)
    storage = family.storage
    # Asking a memory of the host whether it requires a gradient looks at all of it.
    has_history = base._value.node is not None or family.value.node is not None
    if records or not (has_history and base.requires_grad):
        view._family = family
        view._chain = ViewChain((*base._chain, view_call)) if chain is None else chain
        view._seen = storage.version
    else:
        own = start_family(view, base, (view_call,))
        own.refusal = _NO_GRAD_TEXT.format("inference" if MODE.inference else "no_grad")
        own.base = family.base
    storage.track(value)
    return view


def start_family(
    root: Handle, base: Handle, view_calls: Chain = (), uncounted: bool = False
) -> Family:
    """Make `root` the root of a new family on the storage of `base`, behind `view_calls`."""
    family = share(base)
    root_chain = (*family.root_views(), *base._chain, *view_calls)
    writes = [0] if uncounted else family.writes
    uncounted = uncounted or family.uncounted
    new_family = Family(family.storage, root._value, ref(root), writes, root_chain, uncounted)
    root._family, root._chain, root._seen = new_family, NO_VIEWS, family.storage.version
    return new_family


def alias_storage(alias: T, tensor: Handle, uncounted: bool) -> T:
    """Make the fresh tensor `alias`, an alias without history, share memory with `tensor`."""
    start_family(alias, tensor, uncounted=uncounted).storage.track(alias._value)
    return alias


def cut_off(tensor: T, value: Value) -> T:
    """Give a root that is no view `value`, its own without history; its memory stays shared."""
    tensor._value = value
    if tensor._family is not None:
        start_family(tensor, tensor).storage.track(value)
    return tensor


def exchange_memory(tensor: Handle, other: Handle) -> None:
    """Give `tensor` the memory of `other`, whose shape and dtype may differ.

    A computed tensor keeps its history: gradients are summed and cast to what was computed.

    Raises:
        RuntimeError: it requires a gradient, which the dtype of `other` does not have.
    """
    old, value = unwrap(tensor), unwrap(other).alias()
    dtype = value.spec.dtype
    if old.node is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(
            "data set to a tensor that requires gradients must be floating point or complex dtype, "
            f"got {dtype}"
        )
    writes = [tensor._writes] if tensor._family is None else tensor._family.writes
    if old.spec is value.spec:
        note_replacement(value, old)
    tensor._value = value if tensor.is_leaf else with_history_of(value, old)
    family = start_family(tensor, other)
    family.storage.track(value)
    family.writes = writes  # of the tensor and its views, whatever memory it has


def unwrap(tensor: Handle) -> Value:
    """Return the current value of a tensor.

    It is replayed from the shared memory if another tensor wrote to that.
    """
    family = tensor._family
    if family is None:
        return tensor._value
    storage = family.storage
    if storage.host is not None:
        if tensor._value.node is None and (value := _part_on_host(tensor, family)) is not None:
            return value
        storage.synchronize()
    if tensor._seen == storage.version:
        return tensor._value
    with MEMORY_LOCK:
        return _reload(tensor, family)


def _part_on_host(tensor: Handle, family: Family) -> Value | None:
    """The value of a part without history of a memory of the host; None to ask the storage."""
    chain = (*family.root_chain, *tensor._chain)
    if not chain or family.value.node is not None:
        return None
    with MEMORY_LOCK:
        storage = family.storage
        host = storage.host
        value = None if host is None else host.part_value(storage, tensor._value, chain)
        if value is not None:
            tensor._value = value
        return value


def _reload(tensor: Handle, family: Family) -> Value:
    """The current value of a tensor whose memory was written to."""
    value = family.current()
    if tensor._chain:
        # A root that came to ask for gradients since the view was made passes it none.
        has_history = value.node is not None and tensor._seen != ~family.storage.version
        with enable_grad() if has_history else no_grad():
            value = replay_memory(value, tensor._chain)
        marked_like(value, family.value)
        family.storage.track(value)
    if tensor._retains_grad:
        move_retained_gradient(tensor, tensor._value, value)
    tensor._value, tensor._seen = value, family.storage.version
    return value


def write(tensor: T, new: Value, view_calls: ViewChain = NO_VIEWS) -> T:
    """Replace the content of a tensor, or of its view by `view_calls`, by `new`.

    All tensors that share its memory change. Every in-place operation ends here.

    Args:
        tensor: the tensor to write to.
        new: the new content, with the spec of what it replaces.
        view_calls: views that lead from the tensor to what is replaced.

    Returns:
        `tensor`.

    Raises:
        RuntimeError: a leaf that requires grad, or a view of one, while gradients are recorded; an
            expanded tensor; or `new` has another shape or dtype.
    """
    if view_calls or tensor._family is not None:
        with MEMORY_LOCK:
            return write_over(tensor, unwrap(tensor), new, view_calls)
    return write_over(tensor, tensor._value, new, view_calls)


def write_over(tensor: T, old: Value, new: Value, view_calls: ViewChain = NO_VIEWS) -> T:
    """Do what `write` does to a tensor that was just read, under `MEMORY_LOCK` if it shares memory.

    Args:
        tensor: the tensor to write to.
        old: its content.
        new: the new content, as of `write`.
        view_calls: the views, as of `write`.
    """
    family = tensor._family
    check_writable(tensor, old)
    if view_calls and family is None:
        new, view_calls = scatter_back(old, view_calls, new), NO_VIEWS
    if not view_calls:
        new = _in_place_of(old, new)
    if family is None:
        if WRITE_HOOKS:
            _notify(tensor, new)
        note_replacement(new, old)
        tensor._value = new
        tensor._writes += 1
        mark_stale(old)
    else:
        _write_to_family(tensor, family, new, view_calls)
    if tensor._retains_grad:
        move_retained_gradient(tensor, old, tensor._value)
    return tensor


def _in_place_of(old: Value, new: Value) -> Value:
    """`new` with the SBP and the autograd history of the content `old` that it replaces."""
    if new.spec is not old.spec:
        new = _with_spec(new, old.spec)
    if new.stale is not old.stale and INFERENCE in (new.stale, old.stale):
        new = marked_like(with_history_of(new.alias(), new), old)
    if not MODE.enabled:
        new.node, new.output_index = old.node, old.output_index
        return new
    return keep_history(old, new) if new.node is None else new


def _with_spec(new: Value, spec: TensorSpec) -> Value:
    """Convert the new content of a global tensor to the SBP that the tensor has.

    Raises:
        RuntimeError: `new` has another shape, dtype or device.
    """
    if spec.sbp is not None and new.spec.sbp is not None and new.spec.device is spec.device:
        new = converted(new, spec.sbp)
    if new.spec is not spec:
        raise RuntimeError(f"in-place result {new.spec!r} does not fit into {spec!r}")
    return new


def _notify(tensor: Handle, new: Value) -> None:
    """Call those who watch writes; `new` is the content that the whole memory gets."""
    for watch in WRITE_HOOKS[:]:  # another thread may take its own away meanwhile
        watch(tensor, new)


def _write_to_family(tensor: Handle, family: Family, new: Value, view_calls: ViewChain) -> None:
    """Write `new` to `tensor`, which shares its memory, or to its view by `view_calls`."""
    root, chain = new, joined(tensor._chain, view_calls)
    if family.root_chain and _write_through_overlap(tensor, family, new, chain):
        return
    if chain:
        base = family.current()
        root = scatter_back(base, chain, new)
        if root.spec is not base.spec:
            root = _with_spec(root, base.spec)
        if root is new:
            root = with_history_of(new.alias(), new)
        root.stale = INFERENCE if tensor._value.stale is INFERENCE else False
    if WRITE_HOOKS:
        _notify(tensor, root)
    if not MODE.enabled and root is not new:
        with_history_of(root, family.value)
    family.replace(root)
    if view_calls and not tensor._chain:
        tensor._value, tensor._seen = root, family.version
    if (
        view_calls
        or (chain and MODE.enabled and root.node is not None)
        or any(map(overlapping, chain))
    ):
        # A view reads its new content when it is asked for it, and so gradients go to its base.
        return
    if root is not new:
        family.storage.track(new)
    tensor._value, tensor._seen = new, family.version


def _write_through_overlap(tensor: Handle, family: Family, new: Value, chain: Chain) -> bool:
    """Write to the view at the end of `chain` if its root shows elements several times.

    Returns:
        Whether it does. The storage of a root that does not, and is written as a whole, has been
        looked at: the rest of the memory stays as others have written it.

    Raises:
        RuntimeError: the write is recorded; the root's history has a place for each showing.
    """
    if not any(map(overlapping, family.root_chain)):
        if not chain:
            family.storage.synchronize()
        return False
    if MODE.enabled and (new.node is not None or family.value.node is not None):
        raise RuntimeError(_OVERLAP_WITH_GRADIENT)
    storage = family.storage
    with no_grad():
        root = scatter_back(storage.root(), (*family.root_chain, *chain), new)
    root = marked_like(root, tensor._value)
    _notify(tensor, root)
    storage.replace(root, family.uncounted)
    family.writes[0] += 1
    return True


def keep_history(old: Value, new: Value) -> Value:
    """`new` in place of all of `old`.

    If `old` requires grad so does the result, and passes it zeros.
    """
    return overwrite(old, new) if old.node is not None and MODE.enabled else new


def check_writable(tensor: Handle, old: Value) -> None:
    """Check that autograd allows to write to `tensor`, of which `old` is the current value.

    Raises:
        RuntimeError: it does not.
    """
    if old.stale is INFERENCE and not MODE.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make "
            "a clone to get a normal tensor before doing inplace update."
        )
    if not MODE.enabled:
        return
    what = "a leaf Variable" if old.node is not None and tensor.is_leaf else ""
    family = tensor._family
    if family is not None:
        if family.refusal:
            raise RuntimeError(family.refusal)
        root = family.value.node if tensor._chain else None
        # A view may have been made before the leaf asked for gradients.
        if root is not None and root.is_leaf_node:
            what = "a view of a leaf Variable"
    if what:
        raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")
