"""Names that ``torch.amp`` has beside `oneflow.amp`."""
