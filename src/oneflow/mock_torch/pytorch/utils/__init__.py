"""What ``torch.utils`` has beside `oneflow.utils`."""
