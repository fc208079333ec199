"""Names that ``torch.utils`` has beside `oneflow.utils`."""
