"""Programs that several processes run at once, one for each shape of what they exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from oneflow.base.no_interrupt import compiled_without_interrupt
from oneflow.compiler.jit_function import JitFunction


def collective_program(function: Callable[..., Any], devices: Iterable[Any]) -> Callable[..., Any]:
    """Return the compiled program of a function of arrays that lie on XLA's devices."""
    return compiled_without_interrupt(JitFunction(function, devices))
