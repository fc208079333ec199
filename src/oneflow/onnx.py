"""Export to ONNX, by the package `oneflow_onnx`."""

from oneflow.graph.onnx_export import export as export
from oneflow.tensor.positions import is_in_onnx_export as is_in_onnx_export

__all__ = ["export", "is_in_onnx_export"]
