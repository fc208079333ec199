"""Events of the runtime, while somebody records them: what ran, when, and for how long."""

from __future__ import annotations

import contextlib
import enum
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import jax


class EventKind(enum.Enum):
    """Kinds of events, as the profiler's trace names them."""

    OPERATOR = "operator"
    PROGRAM = "program"
    GRAPH = "graph"
    COMPILATION = "compilation"
    RANGE = "range"


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """Something that ran.

    Attributes:
        name: the name of the operator, program, graph or range.
        kind: what ran.
        start: when it began, in nanoseconds of `perf_counter_ns`.
        end: when its results were there.
        thread: identifier of the thread that it ran on.
        shapes: the shapes of the operands of an operator.
        dtypes: the dtypes of these, by name.
        output_bytes: the bytes of the results of an operator.
        operation: the operator's `Operation`.
        stack: callers outside `oneflow`, the innermost first, if somebody notes them.
    """

    name: str
    kind: EventKind
    start: int
    end: int
    thread: int
    shapes: tuple[tuple[int, ...], ...] = ()
    dtypes: tuple[str, ...] = ()
    output_bytes: int = 0
    operation: Any = None
    stack: tuple[str, ...] = ()


class EventSink:
    """A destination of events.

    Attributes:
        record: is given every event, on the thread that it ran on; None records nothing.
    """

    record: Callable[[TraceEvent], None] | None = None


SINK = EventSink()


@contextlib.contextmanager
def span(
    kind: EventKind, name: str | Callable[[], str], results: Sequence[Any] = (), **details: Any
) -> Iterator[None]:
    """Record what runs inside, if somebody records events.

    Args:
        kind: what runs.
        name: its name, or a function that makes it.
        results: a list that holds the results at the end; they are waited for.
        details: further attributes of the event.
    """
    record = SINK.record
    if record is None:
        yield
        return
    start = perf_counter_ns()
    try:
        yield
    finally:
        jax.block_until_ready(list(results))
        end = perf_counter_ns()
        text = name if isinstance(name, str) else name()
        record(TraceEvent(text, kind, start, end, threading.get_ident(), **details))
