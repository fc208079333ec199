"""Names that ``torch.nn.attention`` has beside `oneflow.nn.attention`."""
