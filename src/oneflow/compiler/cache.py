"""The persistent compilation cache: where it is, and keeping it from growing without end.

JAX can do the latter itself, but then locks the folder and looks at every file for each program.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path

LIMIT = 4 * 2**30
_DAY = 24 * 3600.0


def own_folder(root: Path) -> Path:
    """The part of the cache for processes with as many cores as this one.

    XLA divides the work of a program for the CPU among the cores there are when it compiles it, and
    JAX finds the program again whatever their number. A small GPT compiled for one core took 1.2
    times as long on two.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return root / f"xla-{cores}-cores"


def prepare(folder: Path) -> bool:
    """Make the folder of the cache, for this user alone; whether programs may be kept there.

    Whoever can write in it can make this process run their code. So one that is there already must
    be this user's; it is left as it is, as are the folders around it.
    """
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder.stat().st_uid == os.geteuid()
    except OSError:
        return False


def tidy_daily(folder: Path) -> None:
    """Start to `tidy` the cache in the background, unless somebody has done so within a day."""
    stamp = folder / ".tidied"
    with contextlib.suppress(OSError):
        if stamp.exists() and time.time() - stamp.stat().st_mtime < _DAY:
            return
        folder.mkdir(parents=True, exist_ok=True)
        stamp.touch()
        threading.Thread(target=tidy, args=(folder, LIMIT), daemon=True).start()


def tidy(folder: Path, limit: int) -> None:
    """Delete files of `folder`, first those not used for longest, until `limit` bytes are left."""
    files = []
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):
            status = entry.stat()
            files.append((status.st_atime, status.st_size, entry.path))
    excess = sum(size for _, size, _ in files) - limit
    for _, size, path in sorted(files):
        if excess <= 0:
            return
        with contextlib.suppress(OSError):
            Path(path).unlink()
        excess -= size
