"""Filters of guards for the option ``guard_filter_fn`` of ``torch.compile``.

Functions run as Python, and no guard is evaluated: nobody calls a filter here but the program
itself. Each answers for a list of guards which of them stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oneflow.module.parameter import Parameter

_TENSOR, _PORTABLE = "TENSOR_MATCH", ("GLOBAL_STATE", "SHAPE_ENV")


def keep_portable_guards_unsafe(guard_entries: Iterable[Any]) -> list[bool]:
    """Return True for guards of global settings, of sizes, and of tensors that are no globals."""
    return [
        entry.guard_type in _PORTABLE or (entry.guard_type == _TENSOR and not entry.is_global)
        for entry in guard_entries
    ]


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries: Iterable[Any]) -> list[bool]:
    """Return True for guards that look at no layer of ``torch.nn``."""
    return [
        not entry.orig_guard.source.is_unspecialized_builtin_nn_module() for entry in guard_entries
    ]


def skip_guard_on_all_nn_modules_unsafe(guard_entries: Iterable[Any]) -> list[bool]:
    """Return True for guards that look at no module."""
    return [not entry.orig_guard.source.is_unspecialized_nn_module() for entry in guard_entries]


def keep_tensor_guards_unsafe(
    guard_entries: Iterable[Any], keep_parameters: bool = False
) -> list[bool]:
    """Return True for guards of tensors; of parameters only if `keep_parameters`."""
    return [
        entry.guard_type == _TENSOR and (keep_parameters or not isinstance(entry.value, Parameter))
        for entry in guard_entries
    ]


def skip_guard_on_globals_unsafe(guard_entries: Iterable[Any]) -> list[bool]:
    """Return True for guards of what is no global name."""
    return [not entry.is_global for entry in guard_entries]


def skip_all_guards_unsafe(guard_entries: Iterable[Any]) -> list[bool]:
    """Return False for each guard."""
    return [False for _ in guard_entries]
