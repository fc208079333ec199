"""The common error of all files that cannot be loaded."""

from __future__ import annotations

import contextlib
import errno
import pickle
from collections.abc import Iterator
from typing import Any

_FORMATS = (
    "it is damaged, incomplete, or not a file that `oneflow.save`, safetensors or PyTorch wrote"
)
# Errors of the file system for paths that only a damaged file, or part of a folder, contains.
_INVALID_PATH_ERRORS = {
    None,
    errno.EINVAL,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENAMETOOLONG,
}


class LoadError(RuntimeError, ValueError):
    """A file cannot be loaded; the message names it and the reason.

    PyTorch's programs catch it as a `RuntimeError`, OneFlow's as a `ValueError`.
    """


class UnsafePickleError(LoadError, pickle.UnpicklingError):
    """A pickle asks for something that is never done."""


@contextlib.contextmanager
def load_errors(label: Any, what: str = _FORMATS) -> Iterator[None]:
    """Turn whatever reading a bad file raises into one error that names the file.

    Errors of the machine stay what they are: a disk that fails, a missing permission, or too little
    memory, of which no file may ask for more than its size allows.

    Args:
        label: the label of what is loaded.
        what: says what is wrong with it.

    Raises:
        LoadError: anything was wrong with the content.
    """
    try:
        yield
    except UnsafePickleError as error:
        raise UnsafePickleError(f"cannot load `{label}`: {error}") from error
    except (LoadError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in _INVALID_PATH_ERRORS:
            raise
        reason = f"{error}" if _has_reason(error) else f"{what} ({_text(error)})"
        raise LoadError(f"cannot load `{label}`: {reason}") from error


def _has_reason(error: Exception) -> bool:
    """Return whether an error explains itself, such as the one of a missing device."""
    return isinstance(error, RuntimeError) and not isinstance(
        error, NotImplementedError | RecursionError
    )


def _text(error: Exception) -> str:
    return str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
