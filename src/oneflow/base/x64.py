"""64-bit types in JAX, for this package alone.

Tensors have 64-bit types, which JAX leaves out unless the process asks for them. Other code on JAX
in the same process may rely on that: its `jax.numpy.ones(3)` has 32 bits. So JAX's setting stays as
it is, and whatever this package has JAX trace, compile, place or run happens within `x64`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import ParamSpec, TypeVar

import jax

P = ParamSpec("P")
T = TypeVar("T")


def x64() -> AbstractContextManager[None]:
    """Let JAX have 64-bit types on this thread, until the context is left."""
    return jax.enable_x64(True)


def has_x64() -> bool:
    """Return whether JAX has 64-bit types here: in the process, or within `x64` on this thread."""
    return jax.enable_x64.value


def in_x64(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function, called within `x64`."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with x64():
            return function(*args, **kwargs)

    return call


def without_x64(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function, called where JAX has no 64-bit types, which some kernels do not know."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with jax.enable_x64(False):
            return function(*args, **kwargs)

    return call
