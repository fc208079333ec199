"""Short tracebacks: errors of bad calls show the user's lines, not ours."""

from __future__ import annotations

import types
from pathlib import Path

from oneflow.base import environment

_PACKAGE = str(Path(__file__).parents[1])


def hide_internal_frames(error: Exception) -> None:
    """Take the frames of this package out of an error's traceback, unless all are asked for.

    A function that users call does so before it raises the error again::

        try:
            return body(*args)
        except Exception as error:
            hide_internal_frames(error)
            raise

    Frames of the user that lie between, of a layer's `forward` for instance, stay.
    """
    if environment.TRACEBACKS.read() == "full":
        return
    kept = []
    entry = error.__traceback__
    while entry is not None:
        if not entry.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            kept.append(entry)
        entry = entry.tb_next
    traceback = None
    for entry in reversed(kept):
        traceback = types.TracebackType(traceback, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    error.__traceback__ = traceback
