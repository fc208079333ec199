"""Files that change at once: written beside their place, and put there when they are on disk."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of `target` when the block ends without an error.

    Whatever stops the block, `target` stays what it was. What killed processes left beside it is
    removed; the file of a process that is still writing is locked, and stays. A link is followed,
    and a device or a pipe is written to as it is.

    Raises:
        FileNotFoundError: the folder around `target` does not exist.
        IsADirectoryError: `target` is a folder.
        OSError: the disk is full, or anything else the file system says; names `target`.
    """
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot save to `{target}`: the folder does not exist")
    if target.is_dir():
        raise IsADirectoryError(f"cannot save to `{target}`: it is a folder")
    is_special = target.exists() and not target.is_file()
    place = target.open("wb") if is_special else _beside(Path(os.path.realpath(target)))
    with naming(target), place as file:
        yield file


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let the errors of the file system name `path`; that of a full disk names nothing."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextlib.contextmanager
def _beside(target: Path) -> Iterator[BinaryIO]:
    """The new file of `replacing`."""
    _remove_stale(target)
    partial, file = _new_locked_file(target)
    try:
        with file:
            if target.exists():
                # A file that was closed to others stays closed.
                with contextlib.suppress(PermissionError):
                    os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            # Before the lock ends, or another process might take the file for stale.
            partial.replace(target)
        flush_folder(target.parent)
    finally:
        partial.unlink(missing_ok=True)


def _new_locked_file(target: Path) -> tuple[Path, BinaryIO]:
    while True:
        partial = target.with_name(f".{target.name}.{secrets.token_hex(6)}.partial")
        file = partial.open("xb")
        if lock(file):
            return partial, file
        file.close()


def lock(file: BinaryIO) -> bool:
    """Lock a new file until it is closed; whether it is still there then.

    Between making and locking it, another process may have taken it for stale.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks: there nobody can lock it and remove it, either.
        return True
    return os.fstat(file.fileno()).st_nlink > 0


@contextlib.contextmanager
def locked_if_stale(path: Path) -> Iterator[bool]:
    """Whether nobody holds the lock of a file; then it stays locked while the block runs."""
    with contextlib.ExitStack() as stack:
        stale = False
        with contextlib.suppress(OSError):
            file = stack.enter_context(path.open("r+b"))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            stale = True
        yield stale


def _remove_stale(target: Path) -> None:
    """Remove what killed processes left of files for the place of `target`."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{12}}\.partial")
    with contextlib.suppress(OSError):
        for path in [each for each in target.parent.iterdir() if name.fullmatch(each.name)]:
            with locked_if_stale(path) as stale:
                if stale:
                    path.unlink()


def flush_folder(folder: Path) -> None:
    """Make sure that a folder's entries are on disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
