"""Atomic writes: a file is written under a temporary name and renamed once it is on disk."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from oneflow.base.file_lock import lock_file


@contextlib.contextmanager
def atomic_write(target: Path) -> Iterator[BinaryIO]:
    """Open a new file that replaces `target` when the block ends without an error.

    Whatever stops the block, `target` stays unchanged. Temporary files of killed processes are
    removed; the file of a process that is still writing is locked, and stays. A link is followed,
    and a device or a pipe is written to directly.

    Raises:
        FileNotFoundError: the folder around `target` does not exist.
        IsADirectoryError: `target` is a folder.
        OSError: the disk is full, or another error of the file system; names `target`.
    """
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot save to `{target}`: the folder does not exist")
    if target.is_dir():
        raise IsADirectoryError(f"cannot save to `{target}`: it is a folder")
    is_special = target.exists() and not target.is_file()
    context = target.open("wb") if is_special else _temporary_file(Path(os.path.realpath(target)))
    with name_in_errors(target), context as file:
        yield file


@contextlib.contextmanager
def name_in_errors(path: Path) -> Iterator[None]:
    """Context manager: add `path` to errors that name no file, such as a full disk's."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextlib.contextmanager
def _temporary_file(target: Path) -> Iterator[BinaryIO]:
    """Open the new file of `atomic_write` and rename it at the end."""
    _remove_stale(target)
    partial, file = _create_exclusive(target)
    try:
        with file:
            if target.exists():
                # A file that others may not read stays so.
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


def _create_exclusive(target: Path) -> tuple[Path, BinaryIO]:
    while True:
        partial = target.with_name(f".{target.name}.{secrets.token_hex(6)}.partial")
        file = partial.open("xb")
        if lock_new_file(file):
            return partial, file
        file.close()


def lock_new_file(file: BinaryIO) -> bool:
    """Lock a new file until it is closed; return whether it still exists then.

    Between creating and locking it, another process may have removed it as stale.
    """
    try:
        lock_file(file, wait=False)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks: no other process can lock and remove it, either.
        return True
    return os.fstat(file.fileno()).st_nlink > 0


@contextlib.contextmanager
def lock_if_stale(path: Path) -> Iterator[bool]:
    """Yield whether no process holds the lock of a file; then lock it while the block runs."""
    with contextlib.ExitStack() as stack:
        stale = False
        with contextlib.suppress(OSError):
            file = stack.enter_context(path.open("r+b"))
            lock_file(file, wait=False)
            stale = True
        yield stale


def remove_if_stale(path: Path) -> None:
    """Remove a file of which no process holds the lock."""
    with lock_if_stale(path) as stale:
        if stale:
            path.unlink(missing_ok=True)


def _remove_stale(target: Path) -> None:
    """Remove the temporary files of `target` that killed processes have left."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{12}}\.partial")
    with contextlib.suppress(OSError):
        for path in [path for path in target.parent.iterdir() if name.fullmatch(path.name)]:
            remove_if_stale(path)


def flush_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows opens none
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
