"""What ``torch.distributions`` has beside `oneflow.distributions`."""
