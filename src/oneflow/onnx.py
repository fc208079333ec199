"""Export to ONNX, by the package `oneflow_onnx`."""

from oneflow.graph.onnx_export import export as export

__all__ = ["export"]
