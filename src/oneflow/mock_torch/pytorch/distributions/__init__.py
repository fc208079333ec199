"""Names that ``torch.distributions`` has beside `oneflow.distributions`."""
