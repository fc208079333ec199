"""Matrix decompositions and special functions of JAX; importing it fills the table of equations."""

from oneflow_onnx.oneflow2onnx.decompositions.real import (
    jacobi as jacobi,
    reflections as reflections,
    special as special,
)
