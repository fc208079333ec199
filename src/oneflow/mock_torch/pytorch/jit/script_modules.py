"""Names that ``torch.jit`` has beside `oneflow.jit`."""

from __future__ import annotations

from oneflow import nn
from oneflow.module.scripting import (
    ignore as _overload_method,
    script as _script_if_tracing,
)


class ScriptModule(nn.Module):
    """The type of compiled modules, of which there are none: scripting returns what it is given."""


class RecursiveScriptModule(ScriptModule):
    """The type of modules compiled with their parts, of which there are none."""


class ScriptFunction:
    """The type of compiled functions, of which there are none."""


__all__ = [
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "_overload_method",
    "_script_if_tracing",
]
