"""Primitives with complex numbers that are not linear; importing it fills the table."""

from oneflow_onnx.oneflow2onnx.decompositions.complex import (
    eigenvalues as eigenvalues,
    functions as functions,
)
