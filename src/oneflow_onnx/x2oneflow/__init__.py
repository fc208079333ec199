"""Models of other frameworks to OneFlow, by way of ONNX."""
