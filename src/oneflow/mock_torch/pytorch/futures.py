"""``torch.futures``: results that come later, which one may wait for or go on from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.distributed.future import Future as Future


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return the futures as the result of one that is done when they all are.

    Raises:
        RuntimeError: one of them is None.
    """
    for future in futures:
        require_future(future)
    combined: Future[list[Future[Any]]] = Future()
    waiting = [future for future in futures if not future.done()]

    def count_down(done: Future[Any]) -> None:
        waiting.remove(done)
        if not waiting:
            combined.set_result(list(futures))

    if not waiting:
        combined.set_result(list(futures))
    for future in list(waiting):
        future.add_done_callback(count_down)
    return combined


def require_future(future: Any) -> None:
    """Refuse None in place of a future.

    Raises:
        RuntimeError: it is None.
    """
    if future is None:
        raise RuntimeError("Future can't be None")


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """Wait for all futures and return their results."""
    return [future.wait() for future in collect_all(futures).wait()]


__all__ = ["Future", "collect_all", "wait_all"]
