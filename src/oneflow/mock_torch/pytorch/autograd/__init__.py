"""What ``torch.autograd`` has beside `oneflow.autograd`."""
