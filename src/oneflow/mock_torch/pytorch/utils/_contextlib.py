"""Names of ``torch.utils._contextlib``."""

from __future__ import annotations

import contextlib
from typing import Self


class _DecoratorContextManager(contextlib.ContextDecorator):
    """The base of contexts that decorate functions, which run with one of their own each time.

    Derived classes with arguments override `clone`.
    """

    def __enter__(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} defines no `__enter__`")

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        raise NotImplementedError(f"{type(self).__name__} defines no `__exit__`")

    def clone(self) -> Self:
        """Return another context like this one."""
        return type(self)()

    def _recreate_cm(self) -> Self:
        return self.clone()


__all__ = ["_DecoratorContextManager"]
