"""Continuous batching: sequences join and leave a running batch token by token.

A graph has places for a number of sequences. One thread runs it again and again, as long as there
is a sequence: a new one takes a place as soon as another has ended; with few of them the program
for fewer places runs, if the graph has one. Its tokens are fed one by one,
then each answer is the next token that is fed.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

from oneflow.serving.concat import run_error
from oneflow.serving.errors import ErrorKind, RequestError
from oneflow.serving.generation import GenerationRequest, TokenSampler
from oneflow.serving.generator_graph import GeneratorGraph
from oneflow.serving.statistics import RunTimes, Statistics

logger = logging.getLogger("oneflow.serving")


@dataclass(slots=True, eq=False)
class _Sequence:
    """A sequence that is being continued.

    Attributes:
        request: the request.
        sampler: draws its tokens.
        outputs: gets its tokens, then None, or an error.
        position: the number of tokens that the graph has seen.
        generated: the tokens of the answer.
        token: the one that is fed next.
        received: `time.perf_counter_ns` when it joined the queue.
        started: and when it got a place.
        is_cancelled: nobody waits for it.
    """

    request: GenerationRequest
    sampler: TokenSampler
    outputs: asyncio.Queue[int | RequestError | None] = field(default_factory=asyncio.Queue)
    position: int = 0
    generated: int = 0
    token: int = 0
    received: int = field(default_factory=time.perf_counter_ns)
    started: int = 0
    is_cancelled: bool = False


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
        self._queue: deque[_Sequence] = deque()
        self._places: list[_Sequence | None] = [None] * graph.places
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
        sequence = _Sequence(self._checked(request), TokenSampler(request))
        with self._changed:
            if self._is_closed:
                raise RequestError(ErrorKind.SHUTDOWN, "the model is being unloaded")
            # Whom a free place is about to be given to does not wait.
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
        await asyncio.to_thread(self._thread.join)

    # --- the thread

    def _serve(self) -> None:
        while self._wait():
            try:
                self._fill_places()
                begin = time.perf_counter_ns()
                logits = self._graph.advance(*self._next_tokens())
            except Exception as error:
                self._fail(error)
                continue
            times = RunTimes(0, time.perf_counter_ns() - begin, 0)
            active = [(i, each) for i, each in enumerate(self._places) if each is not None]
            self._call(self._statistics.add_run, len(active), times)
            for place, sequence in active:
                sequence.position += 1
                if sequence.position >= len(sequence.request.tokens):
                    self._answer(place, sequence, sequence.sampler.draw(logits[place]))

    def _count(self) -> int:
        """The number of sequences that have a place."""
        return len(self._places) - self._places.count(None)

    def _wait(self) -> bool:
        """Wait until there is a sequence; false if there will be nobody any more."""
        with self._changed:
            while True:
                self._places = [
                    None if each is None or each.is_cancelled else each for each in self._places
                ]
                self._queue = deque(each for each in self._queue if not each.is_cancelled)
                if self._queue or self._count():
                    return True
                if self._is_closed:
                    return False
                self._changed.wait()

    def _fill_places(self) -> None:
        """Give places to those that wait, as many as there are programs for."""
        kept = None
        with self._changed:
            wanted = min(self._count() + len(self._queue), self._graph.sequences)
            places = self._graph.places_for(wanted)
            if places != self._graph.places:
                kept = [place for place, each in enumerate(self._places) if each is not None]
                running = [self._places[place] for place in kept]
                self._places = running + [None] * (places - len(kept))
            for place, sequence in enumerate(self._places):
                if sequence is None and self._queue:
                    self._places[place] = first = self._queue.popleft()
                    first.started = time.perf_counter_ns()
        if kept is not None:
            self._graph.rearrange(kept, places)

    def _next_tokens(self) -> tuple[list[int], list[int]]:
        """The token and the position of each place; zeros at free ones."""
        tokens, positions = [], []
        for sequence in self._places:
            if sequence is None:
                tokens.append(0)
                positions.append(0)
                continue
            given = sequence.request.tokens
            is_given = sequence.position < len(given)
            tokens.append(given[sequence.position] if is_given else sequence.token)
            positions.append(sequence.position)
        return tokens, positions

    def _answer(self, place: int, sequence: _Sequence, token: int) -> None:
        """Send a token; the last one makes place for another sequence."""
        sequence.token = token
        sequence.generated += 1
        self._call(sequence.outputs.put_nowait, token)
        request = sequence.request
        if sequence.generated >= request.max_tokens or token == request.stop_token:
            self._places[place] = None
            now = time.perf_counter_ns()
            times = RunTimes(0, now - sequence.started, 0)
            total, queue_time = now - sequence.received, sequence.started - sequence.received
            self._call(self._statistics.add_success, sequence.generated, total, queue_time, times)
            self._call(sequence.outputs.put_nowait, None)

    def _fail(self, error: Exception) -> None:
        """Answer all sequences with an error, and begin anew."""
        logger.error("a run failed", exc_info=error)
        failure = run_error(error)
        for sequence in self._places:
            if sequence is not None:
                self._call(sequence.outputs.put_nowait, failure)
        self._places = [None] * self._graph.places
        self._graph.reset()

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        self._loop.call_soon_threadsafe(function, *arguments)
