"""The primitives of JAX written in ONNX, one file per family."""

from oneflow_onnx.oneflow2onnx.equations import (
    arithmetic as arithmetic,
    elimination as elimination,
    indexing as indexing,
    jacobi as jacobi,
    reflections as reflections,
    special as special,
    structure as structure,
)
from oneflow_onnx.oneflow2onnx.equations.table import (
    EQUATIONS as EQUATIONS,
    IDENTITIES as IDENTITIES,
    Equation as Equation,
)

__all__ = ["EQUATIONS", "IDENTITIES", "Equation"]
