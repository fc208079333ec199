"""The graph of a backward pass: its nodes, and hooks on the tensors that they save."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

from oneflow.autograd.gradient_edge import (
    GradientEdge as GradientEdge,
    get_gradient_edge as get_gradient_edge,
)
from oneflow.differentiation.backward import call_after_backward
from oneflow.differentiation.grad_mode import MODE, no_grad
from oneflow.differentiation.node import Node as Node
from oneflow.differentiation.saved import packing
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap, write


class _Hooks:
    """A pair of users' functions on tensors as hooks on values."""

    def __init__(self, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> None:
        self._pack, self._unpack = pack, unpack

    def pack(self, value: Value) -> Any:
        return self._pack(wrap(value.alias()))

    def unpack(self, packed: Any, grads: Sequence[Value | None]) -> Value:
        unpacked = self._unpack(packed)
        if not isinstance(unpacked, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(unpacked).__name__}"
            )
        return unwrap(unpacked)


class saved_tensors_hooks(packing):
    """Context manager: what operators inside save for backward goes through two functions.

    Args:
        pack_hook: called with each saved tensor; what it returns is kept instead.
        unpack_hook: called with that when backward needs it; returns the tensor.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([3.0], requires_grad=True)
        >>> with flow.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), flow.tensor):
        ...     y = x * x
        >>> y.backward()
        >>> x.grad
        tensor([6.], dtype=oneflow.float32)
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        super().__init__(_Hooks(pack_hook, unpack_hook))

    def __enter__(self) -> None:
        if _DISABLED.texts:
            raise RuntimeError(_DISABLED.texts[-1])
        super().__enter__()


class _DisabledHooks(threading.local):
    """The errors that `saved_tensors_hooks` raises in this thread, innermost last."""

    def __init__(self) -> None:
        self.texts: list[str] = []


_DISABLED = _DisabledHooks()


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Context manager: hooks on saved tensors are refused inside.

    Args:
        error_message: the text of the RuntimeError that entering `saved_tensors_hooks` raises.

    Raises:
        RuntimeError: such hooks are at work already; the text is the same.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.autograd import graph
        >>> with graph.disable_saved_tensors_hooks("keep them"):
        ...     with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        ...         pass
        Traceback (most recent call last):
        ...
        RuntimeError: keep them
    """
    if MODE.saved_hooks:
        raise RuntimeError(error_message)
    _DISABLED.texts.append(error_message)
    try:
        yield
    finally:
        _DISABLED.texts.pop()


class _ValueHooks:
    """Hooks that keep a value, which never changes, whatever is written to its tensor."""

    def __init__(self) -> None:
        self.is_open = True

    def pack(self, value: Value) -> Value:
        return value.alias()

    def unpack(self, packed: Value, grads: Sequence[Value | None]) -> Value:
        if not self.is_open:
            raise AssertionError(
                "a backward pass through what was computed in `allow_mutation_on_saved_tensors` "
                "must be in the same block"
            )
        return packed


class allow_mutation_on_saved_tensors(packing):
    """Context manager: backward passes inside use saved tensors as they were before later writes.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([3.0], requires_grad=True)
        >>> with flow.autograd.graph.allow_mutation_on_saved_tensors():
        ...     y = x.clone()
        ...     z = y * y
        ...     _ = y.zero_()
        ...     z.backward()
        >>> x.grad
        tensor([6.], dtype=oneflow.float32)
    """

    def __init__(self) -> None:
        self._values = _ValueHooks()
        super().__init__(self._values)

    def __enter__(self) -> Self:
        if any(isinstance(saved_hook, _ValueHooks) for saved_hook in MODE.saved_hooks):
            raise RuntimeError("`allow_mutation_on_saved_tensors` cannot be nested")
        self._values.is_open = True
        super().__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._values.is_open = False
        super().__exit__(*exception)


class _MultiGradHook:
    """Collects the gradients of several tensors in a backward pass for one hook."""

    def __init__(self, count: int, hook: Callable, is_for_any: bool) -> None:
        self._count, self._hook, self._is_for_any = count, hook, is_for_any
        self._grads: list[Tensor | None] = []
        self.handles: list[Any] = []

    def arrive(self, position: int, grad: Tensor) -> None:
        if call_after_backward(self._finish, also_without_leaves=True):
            self._grads = [None] * self._count
            if self._is_for_any:
                self._hook(grad)
        self._grads[position] = grad

    def _finish(self) -> None:
        if not self._is_for_any:
            self._hook(self._grads)

    def remove(self) -> None:
        """Take the hook away again."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _MultiGradHook:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all"
) -> _MultiGradHook:
    """Call a function once in each backward pass that gives gradients to some of several tensors.

    Args:
        tensors: the tensors.
        fn: called at the end of the pass with a list of the gradients, None for tensors that got
            none; or with the first gradient.
        mode: ``"all"``, or ``"any"`` for the first gradient.

    Returns:
        A handle that takes the hook away with `remove()`.

    Raises:
        ValueError: there is no such mode.

    Example:
        >>> import oneflow as flow
        >>> x, y = (flow.ones(1, requires_grad=True) for _ in range(2))
        >>> show = lambda grads: print([grad is not None for grad in grads])
        >>> handle = flow.autograd.graph.register_multi_grad_hook((x, y), show)
        >>> (2 * x).sum().backward()
        [True, False]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"`mode` must be 'all' or 'any', got {mode!r}")
    hooks = _MultiGradHook(len(tensors), fn, mode == "any")
    hooks.handles = [
        tensor.register_hook(functools.partial(hooks.arrive, position))
        for position, tensor in enumerate(tensors)
    ]
    return hooks


class save_on_cpu(saved_tensors_hooks):
    """Context manager: what operators inside save for backward waits on the CPU.

    Args:
        pin_memory: accepted for PyTorch's sake.
        device_type: accepted for PyTorch's sake.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(
            lambda tensor: (tensor.device, tensor.to("cpu")),
            lambda saved: saved[1].to(saved[0]),
        )


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to a tensor that autograd has not seen, or to several.

    A backward pass that saved the tensor before raises then. A tensor that was made in inference
    mode counts none.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2)
        >>> flow.autograd.graph.increment_version(x)
        >>> x._version
        1
    """
    for x in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if x.is_inference():
            continue
        value = unwrap(x)
        with no_grad():
            write(x, value.alias())
