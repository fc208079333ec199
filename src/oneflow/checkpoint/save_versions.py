"""Folders that hold one save after the other.

    root/<manifest>         names the folder that counts; replaced at once
    root/parts-<number>     what one save wrote
    root/.parts-<number>.lock   while that save runs

A save fills a new folder inside `root`. When all of it is on disk, the manifest is replaced by one
that names it; then the folder of the save before goes. So whatever stops a save, the manifest names
a complete folder. The lock tells other processes that a folder without a name is still filled; it
exists before the folder does, and until the manifest names it.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from oneflow.checkpoint.atomic_file import (
    flush_folder,
    lock_if_stale,
    lock_new_file,
    remove_if_stale,
)


@contextlib.contextmanager
def make_folder(folder: Path) -> Iterator[None]:
    """Make a new folder inside an existing one, locked while the block runs."""
    with contextlib.ExitStack() as stack:
        path = _lock_of(folder)
        stack.callback(path.unlink, missing_ok=True)
        while not lock_new_file(file := path.open("ab")):
            file.close()
        stack.enter_context(file)
        folder.mkdir()
        flush_folder(folder.parent)
        yield


def remove_old_versions(root: Path, pattern: str, named: Callable[[], str | None]) -> None:
    """Remove the folders of earlier saves, and the files that killed saves left.

    Args:
        root: the folder around them.
        pattern: the pattern of their names, as `Path.glob` takes it.
        named: says which of them the manifest names now. Raises a RuntimeError if it is damaged;
            then everything stays.
    """
    with contextlib.suppress(OSError, RuntimeError):
        for folder in list(root.glob(pattern)):
            _remove_unless_named(folder, named)
        for path in list(root.glob(f".{pattern}.lock")):
            remove_if_stale(path)


def _remove_unless_named(folder: Path, named: Callable[[], str | None]) -> None:
    if folder.name == named():
        return
    with lock_if_stale(_lock_of(folder)) as stale:
        # This is asked again: its save may have ended just now.
        if (stale or not _lock_of(folder).exists()) and folder.name != named():
            shutil.rmtree(folder, ignore_errors=True)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.lock")
