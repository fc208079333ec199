"""Work on threads that a process does not wait for when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_NAME = "oneflow-serving-work"


async def run_in_daemon_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Return what a function returns that runs on a thread of its own.

    `asyncio.to_thread` has a few threads, which may all be waiting for a disk, and an event loop
    does not end before they have.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def set_future(method: Callable[[Any], None], value: Any) -> None:
        if not future.done():  # it is done if nobody waits for it any more
            method(value)

    def run() -> None:
        try:
            result = future.set_result, function(*arguments)
        except BaseException as error:
            result = future.set_exception, error
        call_in_loop(loop, set_future, *result)

    threading.Thread(target=run, name=_NAME, daemon=True).start()
    return await future


def call_in_loop(
    loop: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: Any
) -> None:
    """Have an event loop call a function, unless it has ended: it waits for no such thread."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(function, *arguments)


def is_working() -> bool:
    """Return true if a thread is still at such work."""
    return any(thread.name == _NAME for thread in threading.enumerate())
