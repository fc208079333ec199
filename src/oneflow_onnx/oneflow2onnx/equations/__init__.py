"""The primitives of JAX written in ONNX, one file per family."""

from oneflow_onnx.oneflow2onnx.equations import (
    arithmetic as arithmetic,
    elimination as elimination,
    indexing as indexing,
    structure as structure,
)
from oneflow_onnx.oneflow2onnx.equations.table import (
    Equation as Equation,
    find_equation as find_equation,
)

__all__ = ["Equation", "find_equation"]
