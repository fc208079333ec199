"""Grad mode, inference mode and anomaly mode: one set of switches per thread."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar, cast, overload

from oneflow.base.flags import as_flag
from oneflow.base.hook import Hook

F = TypeVar("F", bound=Callable[..., Any])


class _Mode(threading.local):
    """The switches of one thread.

    Attributes:
        enabled: record for the backward pass.
        inference: inside `inference_mode`.
        enabled_in_inference: recording was switched on inside `inference_mode`, which prevents it.
        anomaly: nodes remember the forward line that made them, and backward looks for NaN.
        check_nan: anomaly mode takes NaN for an error.
        saved_hooks: the hooks on values saved for backward, see `oneflow.differentiation.saved`.
        used_inference: has ever been inside `inference_mode`.
        tangents: the backward passes that run are those of forward mode.
        depth: how many switches are entered.
        needs_checks: nodes have more to do than usual: anomaly mode is on, there are such hooks, or
            values made in inference mode may turn up.
    """

    enabled = True
    inference = False
    enabled_in_inference = False
    anomaly = False
    check_nan = True
    saved_hooks: tuple = ()
    used_inference = False
    tangents = False
    depth = 0
    needs_checks = False

    def update(self) -> None:
        """Derive `needs_checks`."""
        self.needs_checks = self.anomaly or bool(self.saved_hooks) or self.used_inference


MODE = _Mode()
# Called with True when a thread enters inference mode, with False when it leaves: dispatch marks
# the values made in between.
INFERENCE_MODE_CHANGED: Hook[Callable[[bool], None]] = Hook(
    "INFERENCE_MODE_CHANGED", "oneflow.dispatch.call"
)


@contextlib.contextmanager
def tangent_passes(active: bool) -> Iterator[None]:
    """Context manager: mark backward passes inside as parts of forward mode, or not."""
    before, MODE.tangents = MODE.tangents, active
    try:
        yield
    finally:
        MODE.tangents = before


def _switch_inference(inference: bool) -> None:
    if inference is MODE.inference:
        return
    MODE.inference, MODE.used_inference = inference, True
    MODE.update()
    INFERENCE_MODE_CHANGED.value(inference)


def _switch_recording(enabled: bool) -> None:
    MODE.enabled = enabled and not MODE.inference
    MODE.enabled_in_inference = enabled and MODE.inference


class _GradModeSwitch:
    """A context manager and decorator that sets grad mode and puts the old one back.

    A signal handler that raises when `__exit__` begins keeps it from doing anything. Then the mode
    is put back when the exception is forgotten, and the context manager with it.
    """

    _enabled: bool
    _inference: bool | None = None
    _thread = 0

    def __init__(self) -> None:
        # The states to restore, and the depth: innermost last.
        self._before: list[tuple[bool, bool, int, bool]] = []

    def __enter__(self) -> None:
        self._thread = threading.get_ident()
        self._before.append((MODE.enabled, MODE.inference, MODE.depth, MODE.enabled_in_inference))
        MODE.depth += 1
        if self._inference is not None:
            _switch_inference(self._inference)
        _switch_recording(self._enabled)

    def __exit__(self, *exception: object) -> None:
        MODE.enabled, inference, MODE.depth, MODE.enabled_in_inference = self._before[-1]
        _switch_inference(inference)
        del self._before[-1]

    def __del__(self) -> None:
        # An interrupt may have kept `__init__` from its first line.
        if not hasattr(self, "_before"):
            return
        # One that surrounds it may have put back the mode already.
        while self._before and self._thread == threading.get_ident():
            if self._before[-1][2] < MODE.depth:
                self.__exit__()
            else:
                del self._before[-1]

    def __call__(self, func: F) -> F:
        if inspect.isgeneratorfunction(func):
            return self._switch_generator(func)

        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._fresh():
                return func(*args, **kwargs)

        return cast("F", wrapped)

    def _switch_generator(self, function: F) -> F:
        """`function` with the mode set while it runs, and not while its caller has the turn."""

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Iterator:
            generator = function(*args, **kwargs)
            resume, argument = generator.send, None
            try:
                while True:
                    with self._fresh():
                        item = resume(argument)
                    try:
                        resume, argument = generator.send, (yield item)
                    except BaseException as error:
                        resume, argument = generator.throw, error
            except StopIteration as stop:
                return stop.value

        return cast("F", wrapped)

    def _fresh(self) -> _GradModeSwitch:
        return type(self)()


class no_grad(_GradModeSwitch):
    """Context manager or decorator: nothing inside is recorded for backward.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2, requires_grad=True)
        >>> with flow.no_grad():
        ...     (x * 2).requires_grad
        False
    """

    _enabled = False

    @overload
    def __new__(cls, function: None = None) -> Self: ...
    @overload
    def __new__(cls, function: F) -> F: ...
    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        """A switch, or with `function` that function under a switch: ``@no_grad`` needs no call."""
        switch = super().__new__(cls)
        if function is None:
            return switch
        switch.__init__()
        return switch(function)


class enable_grad(no_grad):
    """Context manager or decorator: record for backward, also inside `no_grad`.

    In `inference_mode` it changes nothing: nothing is ever recorded there.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2, requires_grad=True)
        >>> with flow.no_grad(), flow.enable_grad():
        ...     (x * 2).requires_grad
        True
    """

    _enabled = True


class differentiating(_GradModeSwitch):
    """Context manager: derivatives are computed inside, in whatever mode the caller is.

    In inference mode values are still made for it alone, but may be saved for backward.
    """

    def __enter__(self) -> None:
        self._enabled = True
        super().__enter__()
        MODE.enabled = True


class inference_mode(_GradModeSwitch):
    """Context manager or decorator like `no_grad`, for code that will never need gradients.

    Tensors made inside cannot be saved for backward, or written to outside; clones of them can.

    Args:
        mode: False makes it do nothing but restore recording.

    Example:
        >>> import oneflow as flow
        >>> with flow.inference_mode():
        ...     flow.is_inference_mode_enabled()
        True
    """

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self._enabled, self._inference = not mode, bool(mode)

    def _fresh(self) -> inference_mode:
        return inference_mode(bool(self._inference))


class set_grad_enabled(_GradModeSwitch):
    """Set grad mode at once; as a context manager put the old one back at the end.

    Args:
        is_train: whether to record for backward.
        mode: PyTorch's name of the same.

    Example:
        >>> import oneflow as flow
        >>> with flow.set_grad_enabled(False):
        ...     flow.is_grad_enabled()
        False
    """

    def __init__(self, is_train: bool = True, *, mode: bool | None = None) -> None:
        super().__init__()
        self._old = MODE.enabled, MODE.enabled_in_inference
        self._enabled = as_flag("set_grad_enabled", "mode", is_train if mode is None else mode)
        _switch_recording(self._enabled)

    def __enter__(self) -> None:
        MODE.enabled, MODE.enabled_in_inference = self._old
        super().__enter__()

    def __call__(self, func: F) -> F:
        """Decorate a function; the mode is set within it only."""
        MODE.enabled, MODE.enabled_in_inference = self._old
        return super().__call__(func)

    def _fresh(self) -> _GradModeSwitch:
        return set_grad_enabled(self._enabled)


def is_grad_enabled() -> bool:
    """Return whether this thread records operations for backward passes.

    In `inference_mode` nothing is recorded, whatever is asked for.

    Example:
        >>> import oneflow as flow
        >>> with flow.no_grad():
        ...     flow.is_grad_enabled()
        False
    """
    return MODE.enabled or MODE.enabled_in_inference


def is_inference_mode_enabled() -> bool:
    """Return whether this thread is inside `inference_mode`.

    Example:
        >>> import oneflow as flow
        >>> with flow.inference_mode():
        ...     flow.is_inference_mode_enabled()
        True
    """
    return MODE.inference
