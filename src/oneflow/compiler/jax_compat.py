"""JAX's settings that OneFlow depends on; JAX names that change between versions."""

from __future__ import annotations

import jax

from oneflow.base.environment import cache_folder


def _configure_jax() -> None:
    """Set what the package relies on: real 64-bit types and the persistent compilation cache."""
    jax.config.update("jax_enable_x64", True)
    folder = cache_folder()
    if folder is None or jax.config.jax_compilation_cache_dir is not None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Whoever can write here can make this process run their code.
        folder.chmod(0o700)
    except OSError:
        return
    jax.config.update("jax_compilation_cache_dir", str(folder / "xla"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    jax.config.update("jax_compilation_cache_max_size", 4 * 2**30)


_configure_jax()
