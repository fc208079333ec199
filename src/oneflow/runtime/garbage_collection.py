"""Python's garbage collector beside JAX: what it need not look at, and what it calls."""

from __future__ import annotations

import functools
import gc
import operator
from collections.abc import Callable

import jax as jax  # so that its objects exist

# Somebody else may have set objects aside, who must take them back.
_IS_OURS_TO_FREEZE = not gc.get_freeze_count()


def set_objects_aside() -> None:
    """Keep the collector from looking through the objects that exist until `take_objects_back`.

    Importing this package makes so many that Python looks through all of JAX's, too, for garbage
    that is not there.
    """
    if _IS_OURS_TO_FREEZE:
        gc.freeze()


def take_objects_back() -> None:
    """Let the collector look through all objects again."""
    if _IS_OURS_TO_FREEZE:
        gc.unfreeze()


class _GarbageCollection:
    """Makes XLA collect its garbage when an attribute is read that is named as a phase of Python's.

    Args:
        collect: does so.
    """

    def __init__(self, collect: Callable[[], None]) -> None:
        self.collect = collect

    start = stop = property(operator.methodcaller("collect"))


def collect_garbage_without_python() -> None:
    """Let XLA collect its garbage when Python does, without any Python code.

    JAX has a Python function called for that. A signal handler can run within it, and what it
    raises there Python prints and forgets: Ctrl-C would sometimes do nothing.
    """
    for index, callback in enumerate(gc.callbacks):
        names = getattr(callback, "__globals__", {})
        collect = getattr(names.get("_jax"), "collect_garbage", None)
        if getattr(callback, "__name__", "") == "_xla_gc_callback" and collect is not None:
            # It is called with the phase and information about it, and reads the attribute.
            gc.callbacks[index] = functools.partial(getattr, _GarbageCollection(collect))


set_objects_aside()
collect_garbage_without_python()
