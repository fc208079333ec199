"""Locks of files, which processes hold until they close the file or end."""

from __future__ import annotations

import errno
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


def lock_file(file: BinaryIO, wait: bool) -> None:
    """Lock an open file for this process alone.

    Raises:
        BlockingIOError: another process has locked it, and `wait` is False.
        OSError: the file system, or the operating system, has no such locks.
    """
    if fcntl is None:
        raise OSError(errno.ENOLCK, "files cannot be locked on this operating system")
    fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
