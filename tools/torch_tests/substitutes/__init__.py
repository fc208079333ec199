"""Modules that PyTorch's tests find in place of ``torch.testing._internal``.

Written for whichever library the name `torch` means: a process imports this package after that has
been decided.
"""
