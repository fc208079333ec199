"""``torch.backends.quantized``: engines for quantized tensors; there are none."""

engine = "none"
supported_engines = ["none"]

__all__ = ["engine", "supported_engines"]
