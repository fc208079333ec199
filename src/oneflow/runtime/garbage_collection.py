"""The callbacks of Python's garbage collector that JAX has registered."""

from __future__ import annotations

import functools
import gc
import operator
from collections.abc import Callable

import jax as jax  # so that it has told it


class _GarbageCollection:
    """Makes XLA collect its garbage when an attribute is read that is named as a phase of Python's.

    Args:
        collect: does so.
    """

    def __init__(self, collect: Callable[[], None]) -> None:
        self.collect = collect

    start = stop = property(operator.methodcaller("collect"))


def collect_garbage_without_python() -> None:
    """Make XLA collect its garbage when Python does, without any Python code.

    JAX has a Python function called for that. A signal handler can run within it, and what it
    raises there Python prints and forgets: Ctrl-C would sometimes do nothing.
    """
    for index, callback in enumerate(gc.callbacks):
        names = getattr(callback, "__globals__", {})
        collect = getattr(names.get("_jax"), "collect_garbage", None)
        if getattr(callback, "__name__", "") == "_xla_gc_callback" and collect is not None:
            # It is called with the phase and information about it, and reads the attribute.
            gc.callbacks[index] = functools.partial(getattr, _GarbageCollection(collect))


collect_garbage_without_python()
