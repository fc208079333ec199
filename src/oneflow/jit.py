"""Names of TorchScript, which return their argument: hot programs are compiled anyway."""

from oneflow.module.scripting import (
    Final as Final,
    annotate as annotate,
    freeze as freeze,
    ignore as ignore,
    is_scripting as is_scripting,
    is_scripting as is_tracing,
    optimize_for_inference as optimize_for_inference,
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
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "optimize_for_inference",
    "script",
    "script_if_tracing",
    "trace",
    "unused",
]
