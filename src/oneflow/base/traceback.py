"""Short tracebacks: errors of bad calls show the user's lines, not ours."""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np

from oneflow.base import environment

_PACKAGE = str(Path(__file__).parents[1])
_LIBRARIES = (_PACKAGE, *(str(Path(library.__file__ or "").parent) for library in (jax, np)))


def hide_internal_frames(error: Exception) -> None:
    """Remove the frames of this package from an error's traceback, unless all are shown.

    A function that users call does so before it raises the error again::

        try:
            return body(*args)
        except Exception as error:
            hide_internal_frames(error)
            raise

    Frames of the user that lie between, of a layer's `forward` for instance, stay. The error of JAX
    or NumPy that ours explains in its own words goes, too, with its many frames.
    """
    if environment.TRACEBACK.read() == "full":
        return
    user_entries = [entry for entry in _entries(error) if not _file(entry).startswith(_PACKAGE)]
    traceback = None
    for entry in reversed(user_entries):
        traceback = types.TracebackType(traceback, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    error.__traceback__ = traceback
    cause = error.__cause__
    # A cause without frames came from elsewhere, another process for instance.
    frames = [] if cause is None else [_file(entry) for entry in _entries(cause)]
    if frames and all(frame.startswith(_LIBRARIES) for frame in frames):
        error.__cause__ = None


def _entries(error: BaseException) -> Iterator[types.TracebackType]:
    entry = error.__traceback__
    while entry is not None:
        yield entry
        entry = entry.tb_next


def _file(entry: types.TracebackType) -> str:
    return entry.tb_frame.f_code.co_filename
