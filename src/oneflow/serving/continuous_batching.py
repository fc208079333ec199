"""Continuous batching: sequences join and leave a running batch token by token.

One thread runs a graph again and again, as long as there is a sequence. New ones wait until there
is a place for them. Their prompts are read in chunks, a chunk between two steps of those that are
running, then they join them; each answer is the next token that is fed. If the graph has no
programs for chunks they join at once, and their prompts are fed token by token.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable

import numpy as np

from oneflow.serving.concat import run_error
from oneflow.serving.daemon_thread import call_in_loop, run_in_daemon_thread
from oneflow.serving.errors import ErrorKind, RequestError
from oneflow.serving.generated_sequence import GeneratedSequence
from oneflow.serving.generation import GenerationRequest, TokenSampler
from oneflow.serving.generator_graph import GeneratorGraph
from oneflow.serving.prompt_reader import PromptReader
from oneflow.serving.running_batch import RunningBatch
from oneflow.serving.statistics import RunTimes, Statistics

logger = logging.getLogger("oneflow.serving")


class ContinuousBatcher:
    """The queue of a graph that generates, with the thread that runs it.

    Everything but the thread's own work is called by the thread of the event loop.

    Args:
        name: the name of the thread.
        graph: the graph.
        max_length: the tokens that a sequence may have, with those it begins with.
        queue_size: the sequences that may wait for a place.
        statistics: where runs and sequences are counted.
    """

    def __init__(
        self,
        name: str,
        graph: GeneratorGraph,
        max_length: int,
        queue_size: int,
        statistics: Statistics,
    ) -> None:
        self._graph = graph
        self._max_length = max_length
        self._queue_size = queue_size
        self._statistics = statistics
        self._loop = asyncio.get_running_loop()
        self._queue: deque[GeneratedSequence] = deque()
        self._reader = PromptReader(graph)
        self._running = RunningBatch(graph)
        self._admitted: list[GeneratedSequence] = []  # that are in neither of them yet
        self._calls: list[tuple[Callable[..., None], tuple]] = []  # for the event loop's thread
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """The number of sequences that wait for a place."""
        return len(self._queue)

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[int]:
        """Return the tokens that continue a sequence.

        Raises:
            RequestError: it is too long, has tokens that there are not, or too many wait already.
        """
        sequence = GeneratedSequence(self._checked(request), TokenSampler(request))
        with self._changed:
            if self._is_closed:
                raise RequestError(ErrorKind.SHUTDOWN, "the model is being unloaded")
            # A sequence that is about to get a free place does not count as waiting.
            if len(self._queue) >= self._queue_size + self._graph.sequences - self._count():
                raise RequestError(
                    ErrorKind.QUEUE_FULL,
                    f"{len(self._queue)} sequences are waiting, no more may; try again later",
                )
            self._queue.append(sequence)
            self._changed.notify()
        try:
            while (answer := await sequence.outputs.get()) is not None:
                if isinstance(answer, RequestError):
                    raise answer
                yield answer
        finally:
            sequence.is_cancelled = True

    def _checked(self, request: GenerationRequest) -> GenerationRequest:
        """Return a request with its number of tokens; raises the error of a wrong one."""
        token_count = self._graph.vocabulary
        wrong = [token for token in request.tokens if not 0 <= token < token_count]
        if wrong:
            raise RequestError(
                ErrorKind.INVALID, f"token {wrong[0]} is none of 0 to {token_count - 1}"
            )
        remaining = self._max_length - len(request.tokens)
        if remaining < max(request.max_tokens, 1):
            raise RequestError(
                ErrorKind.INVALID,
                f"{len(request.tokens)} tokens and {max(request.max_tokens, 1)} more are longer "
                f"than {self._max_length}, which a sequence may have",
            )
        return request._replace(max_tokens=request.max_tokens or remaining)

    async def close(self) -> None:
        """End the thread after the sequences that are there."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        await run_in_daemon_thread(self._thread.join)

    # --- the thread

    def _serve(self) -> None:
        while self._wait():
            try:
                self._admit()
                if self._reader.sequences:
                    self._read_chunk()
                    self._send_tokens()
                if self._running.sequences:
                    self._advance()
            except Exception as error:
                self._fail(error)
            self._send_tokens()

    def _count(self) -> int:
        """The number of sequences that have a place, or are about to have one."""
        return len(self._reader.sequences) + len(self._running.sequences)

    def _wait(self) -> bool:
        """Wait until there is a sequence; false if there will be nobody any more."""
        with self._changed:
            while True:
                self._reader.drop(
                    waiting for waiting in self._reader.sequences if waiting.is_cancelled
                )
                for sequence in self._running.sequences:
                    if sequence.is_cancelled:
                        self._running.leave(sequence)
                self._queue = deque(
                    sequence for sequence in self._queue if not sequence.is_cancelled
                )
                if self._queue or self._count():
                    return True
                if self._is_closed:
                    return False
                self._changed.wait()

    def _admit(self) -> None:
        """Take sequences from the queue, as many as there are places for."""
        graph = self._graph
        if self._reader.sequences:
            return
        free = graph.sequences - len(self._running.sequences)
        with self._changed:
            count = min(free, len(self._queue), graph.prompt_places or free)
            taken = [self._queue.popleft() for _ in range(count)]
        for sequence in taken:
            sequence.started = time.perf_counter_ns()
        self._admitted = taken
        if graph.prompt_places and taken:
            self._reader.begin(taken)
        elif taken:
            self._running.resize(len(taken))
            for sequence in taken:
                self._running.join(sequence)
        self._admitted = []

    def _expected(self) -> int:
        """The number of sequences that join as soon as their prompts are read."""
        left = self._graph.sequences - self._count()
        return len(self._reader.sequences) + min(left, len(self._queue))

    def _read_chunk(self) -> None:
        """Read a chunk of the prompts; sequences whose prompts are complete join the others."""
        begin, count = time.perf_counter_ns(), len(self._reader.sequences)
        read = self._reader.advance()
        self._note_run(count, begin)
        ready = [prompt for prompt in read if self._answer(prompt.sequence, prompt.logits)]
        joined = {id(prompt.sequence) for prompt in ready}
        self._reader.drop(prompt.sequence for prompt in read if id(prompt.sequence) not in joined)
        if not ready:
            return
        position = max(prompt.sequence.position for prompt in ready)
        self._running.resize(self._expected(), position)
        for prompt in ready:
            self._running.join(prompt.sequence, self._reader.state, prompt.row)
        self._reader.drop(prompt.sequence for prompt in ready)

    def _advance(self) -> None:
        """Run the graph on the next token of all running sequences."""
        self._running.resize(self._expected())
        begin = time.perf_counter_ns()
        results = self._running.advance()
        self._note_run(len(results), begin)
        for sequence, logits in results:
            has_output = sequence.position >= len(sequence.request.tokens)
            if has_output and not self._answer(sequence, logits):
                self._running.leave(sequence)

    def _note_run(self, count: int, begin: int) -> None:
        times = RunTimes(0, time.perf_counter_ns() - begin, 0)
        self._call(self._statistics.add_run, count, times)

    def _answer(self, sequence: GeneratedSequence, logits: np.ndarray) -> bool:
        """Send the next token; returns false after the last one."""
        sequence.token = token = sequence.sampler.draw(logits)
        sequence.generated += 1
        self._call(sequence.outputs.put_nowait, token)
        request = sequence.request
        if sequence.generated < request.max_tokens and token != request.stop_token:
            return True
        now = time.perf_counter_ns()
        times = RunTimes(0, now - sequence.started, 0)
        total, queue_time = now - sequence.received, sequence.started - sequence.received
        self._call(self._statistics.add_success, sequence.generated, total, queue_time, times)
        self._call(sequence.outputs.put_nowait, None)
        return False

    def _fail(self, error: Exception) -> None:
        """Answer all sequences with an error, and begin anew."""
        logger.error("a run failed", exc_info=error)
        failure = run_error(error)
        sequences = (*self._admitted, *self._reader.sequences, *self._running.sequences)
        for sequence in {id(sequence): sequence for sequence in sequences}.values():
            self._call(sequence.outputs.put_nowait, failure)
        self._admitted = []
        self._reader.clear()
        self._running.clear()

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        self._calls.append((function, arguments))

    def _send_tokens(self) -> None:
        """Have the calls since the last time made; to wake the event loop for each takes longer."""
        calls, self._calls = self._calls, []

        def run() -> None:
            for function, arguments in calls:
                function(*arguments)

        call_in_loop(self._loop, run)
