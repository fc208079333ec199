"""Names that ``torch.jit`` has beside `oneflow.jit`."""

from oneflow.mock_torch.pytorch.jit.script_modules import (
    RecursiveScriptModule as RecursiveScriptModule,
    ScriptFunction as ScriptFunction,
    ScriptModule as ScriptModule,
    _overload_method as _overload_method,
    _script_if_tracing as _script_if_tracing,
)

__all__ = [
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "_overload_method",
    "_script_if_tracing",
]
