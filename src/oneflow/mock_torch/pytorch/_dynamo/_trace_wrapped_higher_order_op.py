"""Indexing under ``vmap``."""

import contextlib


class TransformGetItemToIndex(contextlib.nullcontext):
    """A context in which ``x[i]`` takes an `i` mapped by ``vmap``, as it does anywhere here."""
