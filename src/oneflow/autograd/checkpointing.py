"""Activation checkpointing: keep a function's inputs, compute the rest again in backward."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import enable_grad
from oneflow.differentiation.saved import packed, packing, unpacked
from oneflow.dispatch.operand_casts import CASTS, casting
from oneflow.primitives.operators.control import barrier
from oneflow.program.value import Value
from oneflow.random.generator import default_generator, replay_draws
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


class CheckpointError(RuntimeError):
    """A checkpointed function did something else when it ran again.

    Example:
        >>> import oneflow as flow
        >>> issubclass(flow.utils.checkpoint.CheckpointError, RuntimeError)
        True
    """


class _Segment:
    """One call of a checkpointed function: hooks that drop saved values and compute them again.

    The values are numbered in the order in which they are saved; running the function again saves
    the same ones in the same order.
    """

    def __init__(
        self,
        function: Callable,
        args: tuple,
        kwargs: dict,
        keep_random: bool,
        check: bool,
        context: AbstractContextManager,
    ) -> None:
        self._function, self._kwargs = function, kwargs
        # Values, unlike tensors, do not change: the function sees its inputs as they were.
        self._args = [packed(unwrap(arg)) if isinstance(arg, Tensor) else arg for arg in args]
        self._random = default_generator.position if keep_random else None
        self._casts = CASTS.functions
        self._check, self._context = check, context
        self._saved: list[TensorSpec] = []
        # As long as the function runs it may have backward passes of its own.
        self._running: dict[int, Value] = {}
        self._recomputed: dict[int, Value] = {}

    def clear(self) -> None:
        """Drop what the function saved, which has returned."""
        self._running = {}

    def pack(self, value: Value) -> int:
        number = len(self._saved)
        self._saved.append(value.spec)
        self._running[number] = value.alias()
        return number

    def unpack(self, packed: int, grads: Sequence[Value | None]) -> Value:
        if packed in self._running:
            return self._running[packed]
        if packed not in self._recomputed:
            self._recompute(grads)
        return self._recomputed.pop(packed)

    def _recompute(self, grads: Sequence[Value | None]) -> None:
        """Run the function again, not before `grads` are there."""
        args = [unpacked(arg, grads) for arg in self._args]
        values = [(position, arg) for position, arg in enumerate(args) if isinstance(arg, Value)]
        waiting = [value for _, value in values] + [value for value in grads if value is not None]
        fresh = barrier(1, *waiting) if waiting else ()
        for (position, old), new in zip(values, fresh, strict=False):
            args[position] = wrap(new) if old.node is None else wrap(new).requires_grad_()
        collector = _Collector()
        with (
            replay_draws(default_generator, self._random),
            casting(self._casts),
            enable_grad(),
            packing(collector),
            self._context,
        ):
            self._function(*args, **self._kwargs)
        if len(collector.values) != len(self._saved):
            raise CheckpointError(
                f"checkpoint: the function saved {len(self._saved)} tensors for backward, and "
                f"{len(collector.values)} when it ran again; it must do the same both times"
            )
        for position, (spec, value) in enumerate(zip(self._saved, collector.values, strict=True)):
            if self._check and value.spec is not spec:
                raise CheckpointError(
                    f"checkpoint: tensor {position} that the function saved for backward was "
                    f"{spec!r}, and is {value.spec!r} when it ran again; it must do the same both "
                    "times"
                )
        self._recomputed = dict(enumerate(collector.values))


class _Collector:
    """Hooks that collect the saved tensors."""

    def __init__(self) -> None:
        self.values: list[Value] = []

    def pack(self, value: Value) -> int:
        self.values.append(value.alias())
        return len(self.values) - 1

    def unpack(self, packed: int, grads: Sequence[Value | None]) -> Value:
        return self.values[packed]


def noop_context_fn() -> tuple[AbstractContextManager, AbstractContextManager]:
    """Return two contexts that change nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Callable[[], tuple[AbstractContextManager, AbstractContextManager]] = (
        noop_context_fn
    ),
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call `function` without saving anything for the backward pass, which calls it again.

    Args:
        function: what to run; it must do the same each time.
        args: its arguments.
        use_reentrant: accepted for PyTorch's sake.
        preserve_rng_state: draw the same random numbers from the default generator again.
        context_fn: gives two context managers, in which the function runs first and again.
        determinism_check: ``"default"`` checks that shapes and dtypes are the same again,
            ``"none"`` does not.
        debug: accepted for PyTorch's sake.
        early_stop: accepted for PyTorch's sake.
        kwargs: its keyword arguments.

    Returns:
        What `function` returns.

    Raises:
        ValueError: there is no such `determinism_check`; or `context_fn` or `debug` is given with
            ``use_reentrant=True``, as in PyTorch.
        CheckpointError: in the backward pass: the function saved other tensors when it ran again.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.checkpoint import checkpoint
        >>> x = flow.tensor([3.0], requires_grad=True)
        >>> checkpoint(lambda x: x * x * x, x).backward()
        >>> x.grad
        tensor([27.], dtype=oneflow.float32)
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of 'default' and 'none', but got {determinism_check}"
        )
    if use_reentrant and (context_fn is not noop_context_fn or debug):
        raise ValueError(
            "`context_fn` and `debug` need `use_reentrant=False`, got `use_reentrant=True`"
        )
    check = determinism_check == "default"
    contexts = context_fn()
    segment = _Segment(function, args, kwargs, preserve_rng_state, check, contexts[1])
    try:
        with packing(segment), contexts[0]:
            return function(*args, **kwargs)
    finally:
        segment.clear()


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run functions one after the other, each of `segments` groups but the last checkpointed.

    Args:
        functions: functions or modules, or a `Sequential`.
        segments: how many groups.
        input: argument of the first function.
        use_reentrant: accepted for PyTorch's sake.
        kwargs: options of `checkpoint`.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.checkpoint import checkpoint_sequential
        >>> x = flow.tensor([3.0], requires_grad=True)
        >>> checkpoint_sequential([flow.exp, flow.log, flow.exp], 2, x).shape
        oneflow.Size([1])
    """
    layers = list(functions)
    size = len(layers) // segments
    start = 0
    for _ in range(segments - 1):
        input = checkpoint(_chain(layers[start : start + size]), input, **kwargs)
        start += size
    return _chain(layers[start:])(input)


def _chain(functions: Sequence[Callable]) -> Callable:
    """The composition of the functions."""

    def run(value: Any) -> Any:
        for function in functions:
            value = function(value)
        return value

    return run


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Context manager, accepted for PyTorch's sake.

    Here a function runs again to its end, and what nobody reads of it is not computed.

    Args:
        enable: without effect.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(1, requires_grad=True)
        >>> with flow.utils.checkpoint.set_checkpoint_early_stop(False):
        ...     flow.utils.checkpoint.checkpoint(flow.exp, x).backward()
    """
    yield
