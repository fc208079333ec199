"""The packages that every module of this one imports; without them the extra is named."""

from oneflow.base.extras import extra

with extra("onnx", "`oneflow_onnx`"):
    import onnx as onnx
    import onnx_ir as onnx_ir
