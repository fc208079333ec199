"""JAX's settings that OneFlow depends on; JAX names that change between versions."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import jax

from oneflow.base.environment import cache_folder
from oneflow.compiler.cache import own_folder, prepare, tidy_daily
from oneflow.control_plane.rendezvous import join


def _configure_jax() -> None:
    """Set what the package relies on: real 64-bit types and the persistent compilation cache."""
    jax.config.update("jax_enable_x64", True)
    folder = cache_folder()
    # JAX adds its options to the class while it is imported.
    configured = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    if folder is None or configured is not None:
        return
    programs = own_folder(folder)
    if not prepare(programs):
        return
    jax.config.update("jax_compilation_cache_dir", str(programs))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    tidy_daily(programs)


def direct_call(compiled: Any) -> Callable[..., Any] | None:
    """What a compiled program that has run once calls in C++, without any Python in between.

    None where this version of JAX has no such thing.
    """
    call = getattr(compiled, "_call", None)
    return call if type(call).__name__ == "PjitFunction" else None


# JAX's import leaves some 90,000 objects that stay. A full garbage collection took 50 ms to look at
# them and came during this package's own import; from here on collections pass them by.
gc.freeze()
_configure_jax()
join()
