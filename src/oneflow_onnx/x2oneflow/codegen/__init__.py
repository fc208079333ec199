"""Code generation: readable Python for an ONNX model."""
