"""Iterators of pipes, of which each pipe has one that is valid."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any


class SnapshotState(Enum):
    """Progress of a pipe, with a view to going on where another process stopped.

    Example:
        >>> from oneflow.data.pipe_iterators import SnapshotState
        >>> SnapshotState.NotStarted.value
        0
    """

    NotStarted = 0
    #: Set to a place by a snapshot: the next iterator goes on there, and does not reset the pipe.
    Restored = 1
    Iterating = 2


def describe(pipe: Any) -> str:
    """Return the name of a pipe's class and the arguments of its constructor that it has kept."""
    parameters = inspect.signature(type(pipe)).parameters
    values = {name: vars(pipe)[name] for name in sorted(parameters) if name in vars(pipe)}
    texts = [
        f"{name}={value.__name__ if inspect.isfunction(value) else repr(value)}"
        for name, value in values.items()
    ]
    return f"{type(pipe).__name__}({', '.join(texts)})"


def _start(pipe: Any) -> int:
    """Make all earlier iterators of a pipe invalid, and return the number of the new one."""
    if getattr(pipe, "_is_child_datapipe", False):
        return pipe._set_main_datapipe_valid_iterator_id()
    pipe._valid_iterator_id = 0 if pipe._valid_iterator_id is None else pipe._valid_iterator_id + 1
    pipe.reset()
    return pipe._valid_iterator_id


def _check(pipe: Any, number: int) -> None:
    """Raise an error if another iterator has been made since the one with this number."""
    if getattr(pipe, "_is_child_datapipe", False):
        if not pipe._check_valid_iterator_id(number):
            raise RuntimeError(
                "This iterator has been invalidated, because a new iterator has been created from "
                f"one of the ChildDataPipes of {describe(pipe.main_datapipe)}: a single iterator "
                "per IterDataPipe constraint holds"
            )
    elif pipe._valid_iterator_id != number:
        raise RuntimeError(
            "This iterator has been invalidated because another iterator has been created from "
            f"the same IterDataPipe: {describe(pipe)}\nThere is a single iterator per "
            "IterDataPipe constraint; `.fork()` makes several pipes of one"
        )


def _name_source(error: Exception, pipe: Any) -> None:
    """Say in an exception's text which pipe it came from, unless that is said already."""
    text = error.args[0] if error.args else None
    source = f"\nThis exception is thrown by __iter__ of {describe(pipe)}"
    if not isinstance(text, str):
        error.args = (source,)
    elif "thrown by __iter__ of" not in text and "single iterator per" not in text:
        error.args = (text + source, *error.args[1:])


def guard_reset(reset: Callable[..., None]) -> Callable[..., None]:
    """Wrap a pipe's `reset`: it does nothing once after the pipe was set to a place."""

    @functools.wraps(reset)
    def guarded(pipe: Any, *args: Any, **kwargs: Any) -> None:
        if pipe._snapshot_state is not SnapshotState.Restored:
            pipe._number_of_samples_yielded = 0
            pipe._fast_forward_iterator = None
            reset(pipe, *args, **kwargs)
        pipe._snapshot_state = SnapshotState.Iterating

    return guarded


def guard_next(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap the `__next__` of a pipe that is its own iterator: it counts the samples."""

    @functools.wraps(function)
    def guarded(pipe: Any) -> Any:
        sample = function(pipe)
        pipe._number_of_samples_yielded += 1
        return sample

    return guarded


def single_iterator(function: Callable[..., Any], has_next: bool) -> Callable[..., Any]:
    """Wrap a pipe's `__iter__`, so that a new iterator makes those before it invalid.

    Args:
        function: what is wrapped. If it is a generator function its pipe begins anew when the
            first sample is asked for, and else when the iterator is made.
        has_next: the pipe's class defines `__next__`, which counts samples itself.
    """
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generate(pipe: Any) -> Iterator[Any]:
            if (fast_iterator := _take_fast_iterator(pipe)) is not None:
                yield from fast_iterator
                return
            samples = function(pipe)
            number = _start(pipe)
            try:
                for sample in samples:
                    pipe._number_of_samples_yielded += 1
                    yield sample
                    _check(pipe, number)
            except Exception as error:
                _name_source(error, pipe)
                raise
            finally:
                samples.close()

        return generate

    @functools.wraps(function)
    def make(pipe: Any) -> Iterator[Any]:
        samples = function(pipe)
        if (fast_iterator := _take_fast_iterator(pipe)) is not None:
            return fast_iterator
        pipe._snapshot_state = SnapshotState.Iterating
        return _Samples(samples, pipe, _start(pipe), has_next and samples is pipe)

    return make


def _take_fast_iterator(pipe: Any) -> Iterator[Any] | None:
    """Return the iterator that a snapshot has brought to its place, once."""
    fast_iterator = pipe._fast_forward_iterator
    if fast_iterator is not None:
        pipe._fast_forward_iterator = None
        pipe._snapshot_state = SnapshotState.Iterating
    return fast_iterator


class _Samples(Iterator):
    """The iterator of a pipe whose `__iter__` is no generator function."""

    def __init__(self, iterator: Any, pipe: Any, number: int, counts: bool) -> None:
        self._iterator, self._pipe, self._number, self._counts = iterator, pipe, number, counts

    def __next__(self) -> Any:
        _check(self._pipe, self._number)
        sample = next(self._iterator)
        if not self._counts:
            self._pipe._number_of_samples_yielded += 1
        return sample

    def __getattr__(self, name: str) -> Any:
        if name == "_iterator":  # in a copy that has no attributes yet
            raise AttributeError(name)
        return getattr(self._iterator, name)
