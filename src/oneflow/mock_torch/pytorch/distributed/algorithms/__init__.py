"""Names of ``torch.distributed.algorithms``."""
