"""The results of a call of a job."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np


class JobArray(np.ndarray):
    """A result of a job without annotation: an array with the method `numpy`.

    Results of computations with it are ordinary arrays.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> @flow.global_function()
        ... def doubled(x: flow.typing.Numpy.Placeholder((2,))):
        ...     return x * 2
        >>> result = doubled(np.float32([1, 2])).get()
        >>> result.numpy(), result.size, result.mean()
        (array([2., 4.], dtype=float32), 2, np.float32(3.0))
        >>> flow.clear_default_session()
    """

    def numpy(self) -> np.ndarray:
        """Return the array itself."""
        return self.view(np.ndarray)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain


class CallbackResult:
    """The result of a job that is annotated with `Callback`: call it with a function.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def doubled(x: tp.Numpy.Placeholder((2,))) -> tp.Callback[tp.Numpy]:
        ...     return x * 2
        >>> doubled(np.float32([1, 2]))(print)
        [2. 4.]
        >>> flow.clear_default_session()
    """

    def __init__(self, read: Callable[[], Any]) -> None:
        self._read = read

    def __call__(self, function: Callable[[Any], None]) -> None:
        """Give the result to `function` as soon as it is there; return when that has ended."""
        function(self._read())


class JobResult:
    """The result of a job without annotation."""

    def __init__(self, read: Callable[[], Any]) -> None:
        self._read = read

    def get(self) -> Any:
        """Return the result: arrays in the structure that the body returned."""
        return self._read()

    def async_get(self, callback: Callable[[Any], None]) -> PendingCallback:
        """Give the result to `callback` on another thread, after the callbacks of earlier calls.

        Returns:
            A handle to wait for.
        """
        return PendingCallback(lambda: callback(self._read()))


class _CallbackThread(threading.Thread):
    """Runs a callback after the previous call's; the process waits for it at exit.

    Callbacks count steps and add up losses, which several at a time would mix up. One that is
    called in another does not wait for that, which may wait for it.
    """

    _before: threading.Thread | None = None
    _latest: ClassVar[threading.Thread | None] = None
    _order: ClassVar[threading.Lock] = threading.Lock()

    def start(self) -> None:
        """Begin, in the order of the calls."""
        if isinstance(threading.current_thread(), _CallbackThread):
            super().start()
            return
        with self._order:
            self._before, _CallbackThread._latest = self._latest, self
            super().start()

    def run(self) -> None:
        """Wait for the callback of the call before, and call this one."""
        before, self._before = self._before, None
        if before is not None:
            before.join()
        super().run()


class PendingCallback:
    """A callback that runs on another thread."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._errors: list[BaseException] = []
        arguments = (function, self._errors, weakref.ref(self))
        self._thread = _CallbackThread(target=_call, args=arguments, name="job callback")
        self._thread.start()

    def wait(self) -> None:
        """Wait until the callback has ended, and raise its error."""
        self._thread.join()
        if self._errors:
            raise self._errors.pop()

    def __del__(self) -> None:
        _report(self._errors)


def _call(
    function: Callable[[], None], errors: list[BaseException], handle: weakref.ref[PendingCallback]
) -> None:
    """Call a function, keep its error, and report it if nobody can wait for it any more."""
    try:
        function()
    except BaseException as error:
        errors.append(error)
    if handle() is None:
        _report(errors)


def _report(errors: list[BaseException]) -> None:
    # An error that nobody waits for would be lost, and a loop go on without its results.
    with contextlib.suppress(IndexError):  # the list is empty
        error = errors.pop()
        thread = threading.current_thread()
        threading.excepthook(
            threading.ExceptHookArgs((type(error), error, error.__traceback__, thread))
        )
