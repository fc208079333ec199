"""Handles of communication that has been started."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

import jax

from oneflow.control_plane.background_exchanges import BackgroundExchange
from oneflow.distributed.device_group import ExchangedArray
from oneflow.distributed.future import Future
from oneflow.program.value import Value
from oneflow.runtime.eager import read_array
from oneflow.tensor.tensor import Tensor


class Work:
    """Communication that has been started, as ``async_op=True`` returns it.

    Args:
        finish: waits until it is complete; is called once.
        is_ready: returns whether it is.
        tensors: the tensors that get its results, which may be read at once, for reading waits.
            None: of a message.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2)
        >>> work = flow.distributed.all_reduce(x, async_op=True)
        >>> work.wait()
        True
        >>> work.is_completed()
        True
    """

    def __init__(
        self,
        finish: Callable[[datetime.timedelta | None], None],
        is_ready: Callable[[], bool],
        tensors: Sequence[Tensor] | None = None,
    ) -> None:
        self._finish, self._is_ready, self._tensors = finish, is_ready, tensors
        self._completed = False

    def wait(self, timeout: datetime.timedelta | None = None) -> bool:
        """Wait until it is complete, and return True.

        Args:
            timeout: how long to wait for a message of another process, by default as long as its
                group says. Collective operations take as long as they take.

        Raises:
            RuntimeError: the message has not come.
        """
        if not self._completed:
            self._finish(timeout)
            self._completed = True
        return True

    def is_completed(self) -> bool:
        """Return whether `wait` would return at once."""
        return self._completed or self._is_ready()

    def get_future(self) -> Future[list[Tensor]]:
        """Return the tensors that get the results, as the result of a future.

        A message is waited for first.

        Example:
            >>> import oneflow as flow
            >>> x = flow.ones(2)
            >>> future = flow.distributed.all_reduce(x, async_op=True).get_future()
            >>> future.then(lambda done: done.value()[0] is x).wait()
            True
        """
        if self._tensors is None:
            self.wait()
        future: Future[list[Tensor]] = Future()
        future.set_result(list(self._tensors or ()))
        return future


def work_of(
    values: Sequence[Value],
    exchange: BackgroundExchange | None = None,
    tensors: Sequence[Tensor] = (),
) -> Work:
    """Return the handle of a collective operation of devices, or of an exchange.

    Args:
        values: the results; of an exchange those of this process, as its tensors hold them.
        exchange: see `start_on_values`.
        tensors: the tensors that the results were written into.
    """
    if exchange is not None:
        return Work(
            lambda timeout: _finish(values, exchange),
            lambda: exchange.is_over and all(map(_is_over, values)),
            tensors,
        )
    arrays = [read_array(value) for value in values]
    return Work(
        lambda timeout: jax.block_until_ready(arrays),
        lambda: all(array.is_ready() for array in arrays),
        tensors,
    )


def _finish(values: Sequence[Value], exchange: BackgroundExchange) -> None:
    """Wait until results of an exchange are where they belong.

    Raises:
        Exception: what it has raised; then all tensors hold what they held before.
    """
    for value in values:
        try:
            value.read()
        except Exception:
            if not exchange.has_failed:
                raise
    exchange.result()


def _is_over(value: Value) -> bool:
    recorder = value.recorder
    return not isinstance(recorder, ExchangedArray) or recorder.exchange.is_over
