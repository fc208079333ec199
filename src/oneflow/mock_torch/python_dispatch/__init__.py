"""Operators for ``__torch_dispatch__``: which a function is, who computes it, and its gradient."""
