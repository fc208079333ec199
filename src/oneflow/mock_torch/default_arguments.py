"""A class decorator for layers and optimizers whose defaults are not OneFlow's."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from oneflow.base.keywords import set_extra_keywords


def with_defaults(**defaults: Any) -> Any:
    """Return a class decorator that gives arguments of the inherited `__init__` other defaults."""

    def decorate(kind: Any) -> Any:
        original = kind.__init__
        parameters = list(inspect.signature(original).parameters)

        @functools.wraps(original)
        def make(self: Any, *args: Any, **kwargs: Any) -> None:
            names = {*parameters[: 1 + len(args)], *kwargs}
            missing = {name: default for name, default in defaults.items() if name not in names}
            original(self, *args, **kwargs, **missing)

        set_extra_keywords(make, ())
        kind.__init__ = make
        return kind

    return decorate
