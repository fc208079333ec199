"""The results of a call of a job."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


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
        """Return the result: tensors in the structure that the body returned."""
        return self._read()

    def async_get(self, callback: Callable[[Any], None]) -> PendingCallback:
        """Give the result to `callback` on another thread.

        Returns:
            A handle to wait for.
        """
        return PendingCallback(lambda: callback(self._read()))


class PendingCallback:
    """A callback that runs on another thread."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function
        self._error: BaseException | None = None
        # Not a daemon: the process ends when the callback has.
        self._thread = threading.Thread(target=self._run, name="job callback")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._function()
        except BaseException as error:
            self._error = error

    def wait(self) -> None:
        """Wait until the callback has ended, and raise what it raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
