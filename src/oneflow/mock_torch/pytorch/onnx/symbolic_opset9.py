"""Names of ``torch.onnx.symbolic_opset9``: none, since TorchScript's exporter is not here."""
