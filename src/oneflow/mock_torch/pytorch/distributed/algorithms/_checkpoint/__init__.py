"""``torch.distributed.algorithms._checkpoint``: modules that run again in the backward pass."""
