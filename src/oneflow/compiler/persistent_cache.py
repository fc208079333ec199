"""The persistent compilation cache: its folder, and the bound on its size.

JAX can bound it itself, but then locks the folder and reads every file's status for each program.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import jax
from jax.experimental.compilation_cache.compilation_cache import reset_cache

from oneflow.base.environment import cache_folder

MAX_BYTES = 4 * 2**30
_CLEANUP_INTERVAL = 24 * 3600.0


def enable() -> None:
    """Let JAX keep compiled programs in the user's cache folder, unless the user chose another.

    JAX looks for a folder when it compiles its first program; where that has happened, it has to
    look again.
    """
    folder = cache_folder()
    if folder is None or is_enabled():
        return
    programs = folder_for_cores(folder)
    if not make_private(programs):
        return
    jax.config.update("jax_compilation_cache_dir", str(programs))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    reset_cache()
    schedule_cleanup(programs)


@contextlib.contextmanager
def without_cache() -> Iterator[None]:
    """Context manager: compiled programs are neither kept on disk nor looked for there."""
    if not is_enabled():
        yield
        return
    folder = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    _set_folder(None)
    try:
        yield
    finally:
        _set_folder(folder)


def _set_folder(folder: str | None) -> None:
    jax.config.update("jax_compilation_cache_dir", folder)
    reset_cache()


def is_enabled() -> bool:
    """Return True if compiled programs are kept on disk."""
    # JAX adds its options to the class while it is imported.
    return jax.config.jax_compilation_cache_dir is not None  # pyright: ignore[reportAttributeAccessIssue]


def folder_for_cores(root: Path) -> Path:
    """The folder of the cache for processes with as many cores as this one.

    XLA divides the work of a program for the CPU among the cores there are when it compiles it, and
    JAX finds the program again whatever their number. A small GPT compiled for one core took 1.2
    times as long on two.
    """
    return root / f"xla-{available_cores()}-cores"


def available_cores() -> int:
    """The number of cores on which this process may run."""
    get_cores = getattr(os, "sched_getaffinity", None)
    return len(get_cores(0)) if get_cores else os.cpu_count() or 1


def make_private(folder: Path) -> bool:
    """Make the folder of the cache, for this user alone; return whether it may hold programs.

    A user who can write in it can make this process run their code. So one that is there already
    must be this user's; it is left as it is, as are the folders around it.
    """
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        # Windows has no such numbers, and keeps what is in a user's home to that user.
        get_user = getattr(os, "geteuid", None)
        return get_user is None or folder.stat().st_uid == get_user()
    except OSError:
        return False


def schedule_cleanup(folder: Path) -> None:
    """Start to `evict` in the background, unless a process has done so within a day."""
    marker = folder / ".tidied"
    with contextlib.suppress(OSError):
        if marker.exists() and time.time() - marker.stat().st_mtime < _CLEANUP_INTERVAL:
            return
        folder.mkdir(parents=True, exist_ok=True)
        marker.touch()
        threading.Thread(target=evict, args=(folder, MAX_BYTES), daemon=True).start()


def evict(folder: Path, max_bytes: int) -> None:
    """Delete files of `folder`, least recently used first, until `max_bytes` are left."""
    files = []
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):
            status = entry.stat()
            files.append((status.st_atime, status.st_size, entry.path))
    overflow = sum(size for _, size, _ in files) - max_bytes
    for _, size, path in sorted(files):
        if overflow <= 0:
            return
        with contextlib.suppress(OSError):
            Path(path).unlink()
        overflow -= size
