"""Export: OneFlow graphs, modules and functions as ONNX models."""
