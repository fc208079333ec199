"""Functions, files and streams of pipes."""

from __future__ import annotations

import fnmatch
import functools
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from io import IOBase
from typing import Any, ClassVar, NoReturn


def call_with_columns(function: Callable[..., Any], sample: Any, columns: Any) -> Any:
    """Call a function with parts of a sample.

    Args:
        function: the function.
        sample: the sample.
        columns: the position or key of a part, or a list of them; None: the whole sample.
    """
    if columns is None:
        return function(sample)
    if isinstance(columns, list | tuple):
        return function(*(sample[column] for column in columns))
    return function(sample[columns])


def validate_input_col(fn: Callable[..., Any], input_col: Any) -> None:
    """Check that a function can be called with as many arguments as there are columns.

    Args:
        fn: the function.
        input_col: the columns, see `call_with_columns`.

    Raises:
        ValueError: it cannot.
    """
    try:
        parameters = inspect.signature(fn).parameters.values()
    except ValueError:  # a function in C that does not say
        return
    count = len(input_col) if isinstance(input_col, list | tuple) else 1
    function = fn.func if isinstance(fn, functools.partial) else fn
    name = getattr(function, "__name__", repr(function))
    by_kind: dict[Any, list[inspect.Parameter]] = {}
    for parameter in parameters:
        by_kind.setdefault(parameter.kind, []).append(parameter)
    by_name = [p for p in by_kind.get(inspect.Parameter.KEYWORD_ONLY, ()) if p.default is p.empty]
    if by_name:
        raise ValueError(
            f"The function {name} takes {len(by_name)} non-default keyword-only parameters, "
            "which is not allowed."
        )
    positional = [
        *by_kind.get(inspect.Parameter.POSITIONAL_ONLY, ()),
        *by_kind.get(inspect.Parameter.POSITIONAL_OR_KEYWORD, ()),
    ]
    takes_any = inspect.Parameter.VAR_POSITIONAL in by_kind
    is_short = len(positional) < count and not takes_any
    if is_short or any(p.default is p.empty for p in positional[count:]):
        raise ValueError(
            f"The function {name} takes {len(positional)} parameters, but {count} are required."
        )


def _check_unpickable_fn(fn: Callable[..., Any]) -> None:
    """Warn of functions that workers cannot get by pickle.

    Raises:
        TypeError: what is given cannot be called.
    """
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    if isinstance(fn, functools.partial):
        fn = fn.func
    if hasattr(fn, "__code__"):
        is_local = bool(fn.__code__.co_flags & inspect.CO_NESTED)
    else:
        is_local = "<locals>" in getattr(fn, "__qualname__", type(fn).__qualname__)
    if is_local or getattr(fn, "__name__", "") == "<lambda>":
        kind = "Local" if is_local else "Lambda"
        warnings.warn(
            f"{kind} function is not supported by pickle, please use regular python function or "
            "functools.partial instead.",
            stacklevel=3,
        )


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Return whether a name fits one of the patterns; without any it does."""
    patterns = [masks] if isinstance(masks, str) else masks
    return not masks or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def get_file_pathnames_from_root(
    root: str,
    masks: str | list[str],
    recursive: bool = False,
    abspath: bool = False,
    non_deterministic: bool = False,
) -> Iterator[str]:
    """Yield the files in a folder; see `FileLister`. A file is yielded itself."""

    def fail(error: OSError) -> NoReturn:
        warnings.warn(f"{error.filename} : {error.strerror}", stacklevel=2)
        raise error

    if os.path.isfile(root):
        if match_masks(os.path.basename(root), masks):
            yield os.path.abspath(root) if abspath else root
        return
    for path, dirs, files in os.walk(root, onerror=fail):
        folder = os.path.abspath(path) if abspath else path
        for name in files if non_deterministic else sorted(files):
            if match_masks(name, masks):
                yield os.path.join(folder, name)
        if not recursive:
            break
        if not non_deterministic:
            dirs.sort()  # `os.walk` goes on with them in this order


def get_file_binaries_from_pathnames(
    pathnames: Iterable[str], mode: str, encoding: str | None = None
) -> Iterator[tuple[str, StreamWrapper]]:
    """Yield names with the open files.

    Raises:
        TypeError: a name is no text.
    """
    mode = f"r{mode}" if mode in ("b", "t") else mode
    for pathname in pathnames if isinstance(pathnames, Iterable) else [pathnames]:
        if not isinstance(pathname, str):
            raise TypeError(f"Expected string type for pathname, but got {type(pathname)}")
        yield pathname, StreamWrapper(open(pathname, mode, encoding=encoding))  # noqa: SIM115


def validate_pathname_binary_tuple(data: Any) -> None:
    """Check that something is a pair of a name and a stream.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(data, tuple):
        raise TypeError(f"pathname binary data should be tuple type, but it is type {type(data)}")
    if len(data) != 2:
        raise TypeError(f"pathname binary stream tuple length should be 2, but got {len(data)}")
    if not isinstance(data[0], str):
        raise TypeError(
            "pathname within the tuple should have string type pathname, but it is type "
            f"{type(data[0])}"
        )
    if not isinstance(data[1], IOBase | StreamWrapper):
        raise TypeError(
            "binary stream within the tuple should have IOBase or its subclasses as type, but it "
            f"is type {type(data[1])}"
        )


class StreamWrapper:
    """A stream that is closed when nobody holds it any more.

    Args:
        file_obj: the stream.
        parent_stream: the wrapper of the stream that it is a part of.
        name: what its text shows.

    Attributes:
        debug_unclosed_streams: keep the open ones in `session_streams`.
    """

    session_streams: ClassVar[dict[Any, int]] = {}
    debug_unclosed_streams: ClassVar[bool] = False

    def __init__(self, file_obj: Any, parent_stream: Any = None, name: str | None = None) -> None:
        self.file_obj, self.name, self.parent_stream = file_obj, name, parent_stream
        self.child_counter, self.close_on_last_child, self.closed = 0, False, False
        if parent_stream is not None:
            if not isinstance(parent_stream, StreamWrapper):
                raise RuntimeError(
                    f"Parent stream should be StreamWrapper, {type(parent_stream)} was given"
                )
            parent_stream.child_counter += 1
        if StreamWrapper.debug_unclosed_streams:
            StreamWrapper.session_streams[self] = 1

    @classmethod
    def close_streams(cls, v: Any, depth: int = 0) -> None:
        """Close the wrapped streams in nested lists, tuples and dictionaries."""
        if depth > 10:
            return
        if isinstance(v, StreamWrapper):
            v.close()
        elif isinstance(v, dict | list | tuple):
            for part in v.values() if isinstance(v, dict) else v:
                cls.close_streams(part, depth + 1)

    def __getattr__(self, name: str) -> Any:
        if "file_obj" not in vars(self):  # in a copy that has no attributes yet
            raise AttributeError(name)
        return getattr(self.file_obj, name)

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Close the stream, once, and what it is a part of, if that waits for it."""
        if self.closed:
            return
        StreamWrapper.session_streams.pop(self, None)
        parent = self.parent_stream
        if parent is not None:
            parent.child_counter -= 1
            if not parent.child_counter and parent.close_on_last_child:
                parent.close()
        if hasattr(self.file_obj, "close"):
            self.file_obj.close(*args, **kwargs)
        self.closed = True

    def autoclose(self) -> None:
        """Close the stream as soon as no part of it is open."""
        self.close_on_last_child = True
        if self.child_counter == 0:
            self.close()

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *vars(StreamWrapper), *dir(self.file_obj)})

    def __del__(self) -> None:
        if not vars(self).get("closed", True):
            self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __repr__(self) -> str:
        name = "" if self.name is None else f"{self.name},"
        return f"StreamWrapper<{name}{self.file_obj!r}>"

    def __getstate__(self) -> Any:
        return self.file_obj

    def __setstate__(self, obj: Any) -> None:
        self.__init__(obj)  # type: ignore[misc]
