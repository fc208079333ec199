"""Functions of `jax.scipy.special`, which is imported when one is first called: few programs do."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def _function(name: str) -> Callable[..., Any]:
    def call(*operands: Any) -> Any:
        return getattr(importlib.import_module("jax.scipy.special"), name)(*operands)

    return call


entr = _function("entr")
i0 = _function("i0")
i0e = _function("i0e")
i1 = _function("i1")
i1e = _function("i1e")
ndtr = _function("ndtr")
ndtri = _function("ndtri")
polygamma = _function("polygamma")
zeta = _function("zeta")
