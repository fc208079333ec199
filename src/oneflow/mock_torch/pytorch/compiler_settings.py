"""Settings of PyTorch's compilers, as modules in which programs set what they like.

Programs are compiled by XLA, for which these settings mean nothing; they are kept, and given back
to who reads them.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any

from oneflow.mock_torch.modules import MODULE_IN_PLACE


class Changes(contextlib.ContextDecorator):
    """Settings with other values inside of a context, or while a function runs.

    Args:
        module: the module with the settings, by its name in PyTorch.
        values: the values by name, which for one of a group is as `triton.cudagraphs`.
    """

    def __init__(self, module: str, values: Mapping[str, Any]) -> None:
        self._module, self._values = module, values
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        places = {name: self._place(name) for name in self._values}
        self._before.append({name: getattr(*place) for name, place in places.items()})
        self._set(self._values)

    def __exit__(self, *exception: object) -> None:
        self._set(self._before.pop())

    def _set(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            setattr(*self._place(name), value)

    def _place(self, name: str) -> tuple[Any, str]:
        """The module or group of settings that has a setting, and its name there."""
        *groups, last = name.split(".")
        return functools.reduce(getattr, groups, MODULE_IN_PLACE.value(self._module)), last


def patching(module: str) -> Callable[..., Changes]:
    """Return the function `patch` of a module with settings, by the module's name in PyTorch."""

    def patch(arg1: Any = None, arg2: Any = None, **kwargs: Any) -> Changes:
        """Give settings other values inside of a ``with`` block, or a decorated function.

        Args:
            arg1: the name of a setting, or values by name.
            arg2: the value of the setting that is named.
            kwargs: values by name.
        """
        if isinstance(arg1, str):
            return Changes(module, {arg1: arg2})
        return Changes(module, {**(arg1 or {}), **kwargs})

    return patch
