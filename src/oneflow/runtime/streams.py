"""OneFlow's worker threads, as scripts name them; here XLA runs all programs asynchronously."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Thread:
    """A worker thread for `thread`. XLA has threads of its own, so it does nothing.

    Example:
        >>> import oneflow as flow
        >>> worker = flow.asyncs.Thread()
        >>> with flow.asyncs.thread(worker):
        ...     x = flow.ones(2)
    """


@contextlib.contextmanager
def thread(worker_thread: Thread) -> Iterator[None]:
    """Run the block as usual: operators are recorded now, and computed by XLA's threads later.

    OneFlow takes another worker thread for it, so that operators overlap. Results are the same.

    Raises:
        TypeError: `worker_thread` is none.

    Example:
        >>> import oneflow as flow
        >>> with flow.asyncs.thread(flow.asyncs.Thread()):
        ...     x = flow.ones(2) + 1
        >>> x
        tensor([2., 2.], dtype=oneflow.float32)
    """
    if not isinstance(worker_thread, Thread):
        raise TypeError(f"asyncs.thread(): expected an asyncs.Thread, got {worker_thread!r}")
    yield
