"""Functions and methods replaced while a tracer runs, so that their calls are recorded."""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable
from typing import Any

from oneflow import nn
from oneflow.mock_torch.pytorch.fx.node import map_aggregate
from oneflow.mock_torch.pytorch.fx.proxy import Proxy

#: The methods by which modules are called and read when no tracer runs.
_orig_module_call: Callable[..., Any] = vars(nn.Module)["__call__"]
_orig_module_getattr: Callable[..., Any] = nn.Module.__getattr__
#: Functions that are recorded as they are: dictionaries of names, and names in them.
_wrapped: list[tuple[dict[str, Any], str]] = []
_MARK = "_is_patched"


def wrap(fn_or_name: Any) -> Any:
    """Record the calls of a function of the calling module, in place of what it does.

    Args:
        fn_or_name: the function, or its name.
    """
    name = fn_or_name if isinstance(fn_or_name, str) else getattr(fn_or_name, "__name__", None)
    if not isinstance(name, str):
        raise RuntimeError(f"`fn_or_name` must be a function or its name, got {fn_or_name!r}")
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped.append((frame.f_globals, name))
    return fn_or_name


class _Patcher:
    """A context manager that puts back the functions that it has replaced."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._visited: set[int] = set()

    def patch(
        self,
        frame_dict: dict[str, Any],
        name: str,
        new_fn: Callable[..., Any],
        deduplicate: bool = True,
    ) -> None:
        """Replace a function of a dictionary of names; a builtin one is put there.

        Args:
            frame_dict: the dictionary.
            name: the function's name.
            new_fn: what is there meanwhile.
            deduplicate: leave it to the first who replaces it.
        """
        if not _mark(new_fn, frame_dict.get(name), deduplicate):
            return
        if name not in frame_dict and hasattr(builtins, name):
            self._undo.append(functools.partial(frame_dict.pop, name))
        else:
            self._undo.append(functools.partial(frame_dict.__setitem__, name, frame_dict[name]))
        frame_dict[name] = new_fn

    def patch_method(
        self, cls: type, name: str, new_fn: Callable[..., Any], deduplicate: bool = True
    ) -> None:
        """Replace the method `name` of a class; arguments as for `patch`."""
        before = getattr(cls, name)
        if not _mark(new_fn, before, deduplicate):
            return
        is_defined = name in vars(cls)
        put_back = functools.partial(setattr, cls, name, before)
        self._undo.append(put_back if is_defined else functools.partial(delattr, cls, name))
        setattr(cls, name, new_fn)

    def visit_once(self, thing: Any) -> bool:
        """Return whether an object is seen for the first time."""
        is_new = id(thing) not in self._visited
        self._visited.add(id(thing))
        return is_new

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *error: object) -> None:
        while self._undo:
            self._undo.pop()()
        self._visited.clear()


def _mark(new_fn: Callable[..., Any], before: Any, deduplicate: bool) -> bool:
    """Mark a function that replaces another; returns False if that is a marked one itself."""
    if getattr(before, _MARK, False):
        return False
    setattr(new_fn, _MARK, deduplicate)
    return True


def _create_wrapped_func(orig_fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose calls with symbolic values are recorded."""

    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxies: list[Proxy] = []
        map_aggregate([args, kwargs], lambda x: proxies.append(x) if isinstance(x, Proxy) else x)
        if not proxies:
            return orig_fn(*args, **kwargs)
        return proxies[0].tracer.create_proxy("call_function", orig_fn, args, kwargs)

    return wrapped


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Replace the functions of which `wrap` was told."""
    for frame_dict, name in _wrapped:
        function = getattr(builtins, name) if name not in frame_dict else frame_dict[name]
        patcher.patch(frame_dict, name, _create_wrapped_func(function))


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: set[int]) -> None:
    """Replace the functions of a dictionary of names that are among some, by their identities."""
    if not patcher.visit_once(frame_dict):
        return
    for name, value in list(frame_dict.items()):
        if name[:1] != "_" and callable(value) and id(value) in function_ids:
            patcher.patch(frame_dict, name, _create_wrapped_func(value))


__all__ = ["wrap"]
