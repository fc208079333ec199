"""Names of TorchScript, which return what they are given: hot programs are compiled anyway."""

from oneflow.module.scripting import (
    Final as Final,
    annotate as annotate,
    ignore as ignore,
    is_scripting as is_scripting,
    is_scripting as is_tracing,
    script as script,
    script as script_if_tracing,
    trace as trace,
    unused as export,
    unused as interface,
    unused as unused,
)

__all__ = [
    "Final",
    "annotate",
    "export",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "script",
    "script_if_tracing",
    "trace",
    "unused",
]
