"""The primitives that run in the examples of docstrings."""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import os
import tempfile
from collections.abc import Iterable
from typing import Any

from oneflow.runtime.events import SINK, Event, EventKind

RUNNER = doctest.DocTestRunner(verbose=False)


def primitives_of_examples(entries: Iterable[Any]) -> dict[str, tuple[str, ...]]:
    """Run the examples of functions; return the primitives that ran, by path of the function."""
    observed: dict[int, tuple[str, ...]] = {}
    found: dict[str, tuple[str, ...]] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for entry in entries:
            value = entry.value
            if not inspect.isfunction(value) or not entry.module.startswith("oneflow"):
                continue
            if id(value) not in observed:
                observed[id(value)] = _run(value)
            found[entry.path] = observed[id(value)]
    return found


def _run(function: Any) -> tuple[str, ...]:
    names: dict[str, None] = {}

    def note(event: Event) -> None:
        if event.kind is EventKind.OPERATOR:
            names[event.name] = None

    parser = doctest.DocTestParser()
    examples = parser.get_doctest(inspect.getdoc(function) or "", {}, function.__name__, None, None)
    SINK.record = note
    try:
        with contextlib.redirect_stdout(io.StringIO()), open(os.devnull, "w"):
            RUNNER.run(examples, clear_globs=True)
    finally:
        SINK.record = None
    return tuple(names)
