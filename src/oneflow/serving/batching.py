"""Dynamic batching: requests that wait together run together.

A request joins the queue of its model version. An instance, which is a thread, takes the oldest
request and those after it that the same programs take, as far as larger batches are a gain, pads
them to the size of a program, and gives each its rows of the results. While all instances are busy
requests gather by themselves; a delay makes an idle one wait for more. A short program for a
request that is alone runs in the event loop's thread: two changes of the thread take longer.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from oneflow.serving.concat import join, run_error, split
from oneflow.serving.daemon_thread import call_in_loop, run_in_daemon_thread
from oneflow.serving.errors import ErrorKind, RequestError
from oneflow.serving.model_graph import Bucket, ModelGraph
from oneflow.serving.statistics import RunTimes, Statistics

logger = logging.getLogger("oneflow.serving")
# Runs that may keep the event loop from other connections.
_MAX_INLINE_SECONDS = 0.001


@dataclass(slots=True, eq=False)
class PendingRequest:
    """A request in the queue.

    Attributes:
        bucket: the programs that take it.
        rows: its rows; 0 of a model without batches.
        arrays: its inputs.
        future: gets its outputs.
        deadline: the time of `time.monotonic` at which nobody wants them any more.
        received: `time.perf_counter_ns` when it joined.
        started: when its run began.
        is_cancelled: nobody waits for it.
    """

    bucket: Bucket
    rows: int
    arrays: Sequence[np.ndarray]
    future: asyncio.Future[list[np.ndarray]]
    deadline: float | None = None
    received: int = field(default_factory=time.perf_counter_ns)
    started: int = 0
    is_cancelled: bool = False


@dataclass(slots=True)
class _FinishedRun:
    """A run that is over: the outputs, or the error, of each of its requests."""

    requests: Sequence[PendingRequest]
    results: Sequence[list[np.ndarray] | RequestError]
    rows: int = 0
    times: RunTimes | None = None


@dataclass(frozen=True)
class BatchingOptions:
    """The options of a model's queue.

    Attributes:
        instances: the runs that may go on at the same time.
        delay: the seconds that an idle instance waits for more requests.
        queue_size: the requests that may wait.
    """

    instances: int = 1
    delay: float = 0.0
    queue_size: int = 1024


class Batcher:
    """The queue of a model version with the threads that serve it.

    Everything but the threads' own work is called by the thread of the event loop.

    Args:
        name: the name of the threads.
        graph: the model.
        options: its options.
        statistics: where runs and requests are counted.
    """

    def __init__(
        self, name: str, graph: ModelGraph, options: BatchingOptions, statistics: Statistics
    ) -> None:
        self._graph = graph
        self._options = options
        self._statistics = statistics
        self._loop = asyncio.get_running_loop()
        self._queue: deque[PendingRequest] = deque()
        self._busy = 0  # instances that run requests
        self._changed = threading.Condition()
        self._is_closed = False
        self._threads = [
            threading.Thread(target=self._serve, name=f"{name}-{index}", daemon=True)
            for index in range(options.instances)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """The number of requests in the queue."""
        return len(self._queue)

    async def infer(self, request: PendingRequest) -> list[np.ndarray]:
        """Let a request join the queue, and return its outputs.

        Raises:
            RequestError: the queue is full, or takes no more; or what the run raises.
        """
        try:
            if self._submit(request):
                await asyncio.sleep(0)  # those that have arrived at the same time join the queue
                self._run_inline()
            return await request.future
        except asyncio.CancelledError:
            request.is_cancelled = True
            raise

    def _submit(self, request: PendingRequest) -> bool:
        """Let a request join the queue; True if this thread may run it soon.

        Raises:
            RequestError: the queue is full, or takes no more.
        """
        with self._changed:
            if self._is_closed:
                raise RequestError(ErrorKind.SHUTDOWN, "the model is being unloaded")
            if len(self._queue) >= self._options.queue_size:
                raise RequestError(
                    ErrorKind.QUEUE_FULL,
                    f"{len(self._queue)} requests are waiting, no more may; try again later",
                )
            self._queue.append(request)
            is_inline = self._is_inline()
            if not is_inline:
                self._changed.notify()
            return is_inline

    async def close(self) -> None:
        """End the threads after the requests that are in the queue."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        await run_in_daemon_thread(lambda: [thread.join() for thread in self._threads])

    # --- the threads of the instances

    def _serve(self) -> None:
        while requests := self._next_requests():
            for finished in self._finish(requests):
                call_in_loop(self._loop, self._answer, finished)
            with self._changed:
                self._busy -= 1

    def _finish(self, requests: Sequence[PendingRequest]) -> Iterator[_FinishedRun]:
        """Run requests, except cancelled ones; expired ones fail."""
        now = time.monotonic()
        expired = [
            request
            for request in requests
            if request.deadline is not None and request.deadline <= now
        ]
        if expired:
            error = RequestError(ErrorKind.EXPIRED, "the deadline passed in the queue")
            yield _FinishedRun(expired, [error] * len(expired))
        running = [
            request for request in requests if request not in expired and not request.is_cancelled
        ]
        if running:
            yield from self._run(running)

    def _next_requests(self) -> list[PendingRequest]:
        """Wait for the requests of the next run; none if there will be no more."""
        with self._changed:
            while True:
                while self._queue and self._queue[0].is_cancelled:
                    self._queue.popleft()
                if not self._queue:
                    if self._is_closed:
                        return []
                    self._changed.wait()
                    continue
                remaining = self._remaining_delay()
                if remaining <= 0:
                    return self._take()
                self._changed.wait(remaining)

    def _remaining_delay(self) -> float:
        """The seconds that the oldest request is still to wait for others."""
        if not self._options.delay or self._is_closed or not self._graph.max_batch_size:
            return 0.0
        rows = sum(
            request.rows for request in self._queue if request.bucket is self._queue[0].bucket
        )
        if rows >= self._most_rows(self._queue[0].bucket):
            return 0.0
        return self._options.delay - (time.perf_counter_ns() - self._queue[0].received) / 1e9

    def _most_rows(self, bucket: Bucket) -> int:
        """The rows that requests are joined to."""
        return min(self._graph.max_batch_size, bucket.best_rows)

    def _take(self) -> list[PendingRequest]:
        """Take the oldest request, and as many of those after it as fit into one run."""
        self._busy += 1
        first = self._queue.popleft()
        taken = [first]
        left = self._most_rows(first.bucket) - first.rows
        others: deque[PendingRequest] = deque()
        while self._queue and left > 0:
            request = self._queue.popleft()
            if request.is_cancelled:
                continue
            if request.bucket is first.bucket and request.rows <= left:
                taken.append(request)
                left -= request.rows
            else:
                others.append(request)
        self._queue.extendleft(reversed(others))
        if self._queue:
            self._changed.notify()
        return taken

    def _run(self, requests: Sequence[PendingRequest]) -> Iterator[_FinishedRun]:
        """Run requests together; if that fails, each alone, so that each has its own error."""
        started = time.perf_counter_ns()
        for request in requests:
            request.started = started
        try:
            finished = self._run_batch(requests)
        except Exception as error:
            if len(requests) > 1:
                for request in requests:
                    yield from self._run([request])
                return
            failure = run_error(error)
            if failure.kind is ErrorKind.FAILED:
                logger.error("a run failed", exc_info=error)
            finished = _FinishedRun(requests, [failure])
        yield finished

    def _run_batch(self, requests: Sequence[PendingRequest]) -> _FinishedRun:
        clock = time.perf_counter_ns
        bucket = requests[0].bucket
        rows = sum(request.rows for request in requests)
        size = bucket.size_for(rows)
        begin = clock()
        arrays = join([request.arrays for request in requests], size)
        joined = clock()
        outputs = self._graph.run(bucket, size, arrays)
        computed = clock()
        bucket.note_time(size, (computed - joined) / 1e9)
        results = split(outputs, [request.rows for request in requests])
        times = RunTimes(joined - begin, computed - joined, clock() - computed)
        return _FinishedRun(requests, results, rows, times)

    # --- the thread of the event loop

    def _is_inline(self) -> bool:
        """True if the only request in the queue is to run in this thread."""
        if self._busy or self._options.delay or len(self._queue) != 1:
            return False
        (request,) = self._queue
        seconds = request.bucket.seconds.get(request.bucket.size_for(request.rows))
        return seconds is not None and seconds <= _MAX_INLINE_SECONDS

    def _run_inline(self) -> None:
        """Run the request that is alone in the queue; leave several to the instances."""
        with self._changed:
            if not self._is_inline():
                self._changed.notify()
                return
            requests = self._take()
        for finished in self._finish(requests):
            self._answer(finished)
        with self._changed:
            self._busy -= 1

    def _answer(self, finished: _FinishedRun) -> None:
        now = time.perf_counter_ns()
        if finished.times is not None:
            self._statistics.add_run(finished.rows, finished.times)
        for request, result in zip(finished.requests, finished.results, strict=True):
            if request.future.done():
                continue
            if isinstance(result, RequestError):
                request.future.set_exception(result)
                continue
            assert finished.times is not None
            self._statistics.add_success(
                max(request.rows, 1),
                now - request.received,
                request.started - request.received,
                finished.times,
            )
            request.future.set_result(result)
