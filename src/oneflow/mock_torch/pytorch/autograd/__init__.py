"""Names that ``torch.autograd`` has beside `oneflow.autograd`."""
