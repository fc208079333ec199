"""`Graph` and `Node`: an ONNX model that is changed node by node."""

from oneflow_onnx.oneflow2onnx.onnx_wrapper import Graph as Graph, Node as Node

__all__ = ["Graph", "Node"]
