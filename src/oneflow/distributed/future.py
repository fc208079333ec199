"""`Future`: a result that comes later, which one may wait for or go on from."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Future(Generic[T]):
    """A result that comes later.

    Args:
        devices: accepted: values of devices are waited for where they are read.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> future = torch.futures.Future()
        >>> twice = future.then(lambda done: 2 * done.value())
        >>> future.set_result(3)
        >>> twice.wait()
        6
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        self._result: concurrent.futures.Future[T] = concurrent.futures.Future()

    def done(self) -> bool:
        """Return whether the result is there, or an exception in its place."""
        return self._result.done()

    def wait(self) -> T:
        """Wait for the result; an exception in its place is raised."""
        return self._result.result()

    def value(self) -> T:
        """Return the result, which must be there.

        Raises:
            RuntimeError: it is not.
        """
        if not self.done():
            raise RuntimeError("`Future.value`: the result is not there; `wait()` waits for it")
        return self.wait()

    def set_result(self, result: T) -> None:
        """Give the result; those who wait go on.

        Raises:
            RuntimeError: the future is done.
        """
        self._complete(self._result.set_result, result)

    def set_exception(self, result: BaseException) -> None:
        """Give an exception in place of the result.

        Raises:
            AssertionError: it is no exception.
            RuntimeError: the future is done.
        """
        if not isinstance(result, BaseException):
            raise AssertionError(f"`result` must be an exception, got {result!r}")
        self._complete(self._result.set_exception, result)

    @staticmethod
    def _complete(give: Callable[[Any], None], result: Any) -> None:
        try:
            give(result)
        except concurrent.futures.InvalidStateError:
            raise RuntimeError(
                "Attempting to mark a completed Future as complete again. Note that a Future can "
                "only be marked completed once."
            ) from None

    def __reduce__(self) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future")

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call ``callback(future)`` when the result is there, or at once if it is."""
        self._result.add_done_callback(lambda _: callback(self))

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """Return what ``callback(future)`` will return when the result is there.

        An exception of the callback is raised, where that is waited for, as the cause of a
        RuntimeError.
        """
        future: Future[Any] = Future()

        def go_on(done: Future[T]) -> None:
            try:
                result = callback(done)
            except Exception as error:
                failure = RuntimeError(
                    "Got the following error when running the callback: "
                    f"{type(error).__name__}: {error}"
                )
                failure.__cause__ = error
                future.set_exception(failure)
            else:
                future.set_result(result)

        self.add_done_callback(go_on)
        return future
