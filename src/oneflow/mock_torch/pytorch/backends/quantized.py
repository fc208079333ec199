"""``torch.backends.quantized``: kernels of quantized tensors, of which there are none."""

engine = "none"
supported_engines = ["none"]

__all__ = ["engine", "supported_engines"]
