"""``torch._functorch``, beneath ``torch.func``."""
