"""Hooks on nodes: functions that see, and may replace, the gradients that pass by.

Gradient hooks are the users' functions and see tensors. This room knows values only: the tensor
room provides the conversions between the two.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import ref

from oneflow.base.change_count import CHANGES
from oneflow.base.hook import Hook
from oneflow.primitives.operators.elementwise import add
from oneflow.program.value import Value

# The tensor of a value, which is what users see, and the value of a tensor.
WRAP: Hook[Callable[[Value], Any]] = Hook("WRAP", "oneflow.tensor.tensor")
UNWRAP: Hook[Callable[[Any], Value]] = Hook("UNWRAP", "oneflow.tensor.tensor")


class HookHandle:
    """Takes a registered hook away again."""

    def __init__(self, hooks: list[Any], hook: Callable[..., Any]) -> None:
        self._hooks, self._hook = hooks, hook
        hooks.append(hook)
        CHANGES.value += 1

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)
            CHANGES.value += 1

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class PostAccumulateHook:
    """A function that is called with a leaf when its gradient has been added up.

    It keeps the leaf alive: a graph may be the last that leads to it, and the function runs then,
    too.
    """

    __slots__ = ("_hook", "_leaf")

    def __init__(self, leaf: Any, hook: Callable[[Any], Any]) -> None:
        self._leaf, self._hook = leaf, hook

    def __call__(self, leaf: Any) -> None:
        """Call the function."""
        self._hook(leaf)


class RetainedGradient:
    """Stores the gradient of a value in the tensor that holds it (`retain_grad`).

    Attributes:
        owner: weak reference to the tensor.
        accumulate: called with the tensor and the gradient.
    """

    __slots__ = ("accumulate", "owner")

    def __init__(self, owner: Any, accumulate: Callable[[Any, Value], None]) -> None:
        self.owner = ref(owner)
        self.accumulate = accumulate

    def __call__(self, grad: Any) -> None:
        """Give the owner the complete gradient, if it still exists."""
        owner = self.owner()
        if owner is not None:
            self.accumulate(owner, UNWRAP.value(grad))


def move_retained_gradient(owner: Any, old: Value, new: Value) -> None:
    """Give the gradient of `new` to the tensor that holds it in place of `old`.

    Its other hooks stay where they were registered.
    """
    node, index = new.node, new.output_index
    if node is None or old.node is None or (node is old.node and index == old.output_index):
        return
    hooks = old.node.hooks
    retained = [] if hooks is None else hooks.retained.get(old.output_index, [])
    for hook in retained[:]:
        if hook.owner() is owner:
            retained.remove(hook)
            node.ensure_hooks().retained.setdefault(index, []).append(hook)


class HookOwner:
    """A function transform, to which hooks belong that its function registers on its own tensors.

    They see the gradients of that transform alone, not those of passes outside it.

    Args:
        start: number of the first node that is its own; infinity for a transform that
            differentiates nothing.

    Attributes:
        hooks: the hooks of its nodes.
    """

    def __init__(self, start: float) -> None:
        self.start = start
        self.hooks: dict[Any, NodeHooks] = {}

    def attach(self) -> None:
        """Attach the hooks to their node, whose gradients they see from now on."""
        for node, hooks in self.hooks.items():
            node.hooks = hooks

    def detach(self) -> None:
        """Detach the hooks from their node."""
        for node in self.hooks:
            node.hooks = None


class _Sums(threading.local):
    """The function that adds up gradients in this thread; modes and classes may compute it.

    Attributes:
        is_asked: somebody is asked for operators.
        add: adds two values.
    """

    is_asked = False
    add: Callable[[Value, Value], Value] = staticmethod(add)


SUMS = _Sums()


class _Transforms(threading.local):
    """The function transforms whose functions or passes run in this thread, innermost last."""

    def __init__(self) -> None:
        self.running: list[HookOwner] = []


TRANSFORMS = _Transforms()


@contextlib.contextmanager
def running(owner: HookOwner) -> Iterator[None]:
    """Context manager: the transform that `owner` stands for runs inside."""
    TRANSFORMS.running.append(owner)
    owner.attach()
    try:
        yield
    finally:
        owner.detach()
        TRANSFORMS.running.pop()


class NodeHooks:
    """All hooks of one node.

    Attributes:
        outputs: per output, ``gradient -> gradient or None`` on its complete gradient.
        retained: per output, what keeps that gradient for `retain_grad`; runs after the former.
        before: ``gradients of the outputs -> the same or None``.
        after: ``(gradients of inputs, gradients of outputs) -> the former or None``.
    """

    __slots__ = ("after", "before", "outputs", "retained")

    def __init__(self) -> None:
        self.outputs: dict[int, list[Callable]] = {}
        self.retained: dict[int, list[RetainedGradient]] = {}
        self.before: list[Callable] = []
        self.after: list[Callable] = []

    def arrive(self, grads: list[Value | None]) -> None:
        """Run the hooks on single outputs; replaces gradients in place.

        The hooks of an output see one tensor, as long as none replaces it: what one sets on it,
        or writes into it, the next ones find.
        """
        tensors: dict[int, Any] = {}
        tables: tuple[dict[int, Any], ...] = (self.outputs, self.retained)
        for table in tables:
            for index, hooks in table.items():
                grad = grads[index]
                if grad is None or not hooks:
                    continue
                tensor = tensors.get(index)
                tensor = original = WRAP.value(grad) if tensor is None else tensor
                for hook in list(hooks):
                    tensor = _replaced(tensor, hook, type(original))
                tensors[index] = tensor
                grads[index] = UNWRAP.value(tensor)

    def enter(self, grads: list[Value | None]) -> list[Value | None]:
        """Run the hooks before the node."""
        if not self.before:
            return grads
        tensors = _wrapped(grads)
        for hook in list(self.before):
            replaced = hook(tensors)
            tensors = tensors if replaced is None else _in_tuple(replaced)
        return _unwrapped(tensors)

    def leave(
        self, results: Sequence[Value | None], grads: Sequence[Value | None]
    ) -> Sequence[Any]:
        """Run the hooks after the node."""
        if not self.after:
            return results
        tensors, output_grads = _wrapped(results), _wrapped(grads)
        for hook in list(self.after):
            replaced = hook(tensors, output_grads)
            tensors = tensors if replaced is None else _in_tuple(replaced)
        return _unwrapped(tensors)


def _replaced(tensor: Any, hook: Callable, kind: type) -> Any:
    """The gradient after `hook` of a tensor has seen it.

    Raises:
        TypeError: the hook returned no tensor.
        RuntimeError: it returned one of another shape or dtype.
    """
    replaced = hook(tensor)
    if replaced is None:
        return tensor
    name = getattr(hook, "__name__", hook)
    if not isinstance(replaced, kind):
        raise TypeError(
            f"hook `{name}` of a tensor must return a gradient or None, got {replaced!r}"
        )
    old, new = UNWRAP.value(tensor).spec, UNWRAP.value(replaced).spec
    if new.shape != old.shape or new.dtype is not old.dtype:
        raise RuntimeError(
            f"hook `{name}` of a tensor must return a gradient as it got it, of {old.dtype!r} and "
            f"shape {list(old.shape)}, and returned {new.dtype!r} of shape {list(new.shape)}"
        )
    return replaced


def _wrapped(grads: Sequence[Value | None]) -> tuple:
    return tuple(None if grad is None else WRAP.value(grad) for grad in grads)


def _in_tuple(grads: Any) -> tuple:
    return tuple(grads) if isinstance(grads, tuple | list) else (grads,)


def _unwrapped(grads: Sequence[Any]) -> list[Value | None]:
    return [None if grad is None else UNWRAP.value(grad) for grad in grads]
