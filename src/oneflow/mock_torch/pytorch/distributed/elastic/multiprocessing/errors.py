"""Errors that end a process of a job, in a file that its launcher has named."""

from __future__ import annotations

import functools
import json
import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_FILE = "TORCHELASTIC_ERROR_FILE"


class ErrorHandler:
    """Writes exceptions to the file that the environment names, if it names one."""

    def initialize(self) -> None:
        """Prepare nothing: the launcher of the job watches its processes."""

    def record_exception(self, e: BaseException) -> None:
        """Write an exception with the time and where it was raised, as JSON.

        Args:
            e: the exception.
        """
        if _FILE not in os.environ:
            return
        lines = traceback.format_exception(type(e), e, e.__traceback__)
        more = {"py_callstack": "".join(lines), "timestamp": str(int(time.time()))}
        message = {"message": f"{type(e).__name__}: {e}", "extraInfo": more}
        Path(os.environ[_FILE]).write_text(json.dumps({"message": message}))


def get_error_handler() -> ErrorHandler:
    """Return what writes exceptions."""
    return ErrorHandler()


def record(fn: Decorated, error_handler: ErrorHandler | None = None) -> Decorated:
    """Decorate the main function of a process: it writes the exception that ends it.

    It returns None where the function ends the process without an error.

    Args:
        fn: the function.
        error_handler: writes the exception; default: to the file that the environment variable
            ``TORCHELASTIC_ERROR_FILE`` names.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.distributed.elastic.multiprocessing.errors import record
        >>> record(max)(3, 5)
        5
    """
    handler = error_handler or get_error_handler()

    @functools.wraps(fn)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as end:
            if end.code == 0:
                return None
            raise
        except BaseException as exception:
            handler.record_exception(exception)
            raise

    return cast("Decorated", recorded)


__all__ = ["ErrorHandler", "get_error_handler", "record"]
