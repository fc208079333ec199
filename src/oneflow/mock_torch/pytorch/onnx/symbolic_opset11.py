"""Names of ``torch.onnx.symbolic_opset11``: none, since TorchScript's exporter is not here."""
