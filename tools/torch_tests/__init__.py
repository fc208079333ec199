"""PyTorch's own tests, run on PyTorch and on this package in its place.

The files are fetched into a cache folder at a fixed commit. In place of PyTorch's private package
``torch.testing._internal`` they find the modules of `substitutes`: test cases, instantiation for
devices and parameters, and decorators. A test counts if it passes on PyTorch under them.
"""
