"""Packages that only some users need, and that an extra of this distribution installs."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_DISTRIBUTION = "oneflow-xla"


@contextmanager
def extra(name: str, purpose: str) -> Iterator[None]:
    """Import packages of an extra within this block; one that is missing is an error that says so.

    Args:
        name: the extra.
        purpose: what needs it, the subject of the error's sentence.

    Raises:
        ModuleNotFoundError: a package of the extra is not installed; says how to install it.

    Example:
        >>> from oneflow.base.extras import extra
        >>> with extra("vision", "drawing boxes"):
        ...     import nothing_like_pillow
        Traceback (most recent call last):
        ...
        ModuleNotFoundError: drawing boxes needs the package `nothing_like_pillow`: pip install \
'oneflow-xla[vision]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        raise ModuleNotFoundError(
            f"{purpose} needs the package `{package}`: pip install '{_DISTRIBUTION}[{name}]'",
            name=package,
        ) from None


class DeferredModule:
    """A module of an extra that is imported when something of it is first read.

    Args:
        module: its name.
        extra_name: the extra that installs it.
        purpose: what needs it, the subject of the error's sentence.
    """

    def __init__(self, module: str, extra_name: str, purpose: str) -> None:
        self._module = module
        self._extra_name = extra_name
        self._purpose = purpose

    def __getattr__(self, name: str) -> Any:
        with extra(self._extra_name, self._purpose):
            module = importlib.import_module(self._module)
        value = getattr(module, name)
        # The next time Python finds it by itself.
        return vars(self).setdefault(name, value)
