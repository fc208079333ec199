"""``torch.ao.quantization.fx``: what libraries use of it without tracing."""
