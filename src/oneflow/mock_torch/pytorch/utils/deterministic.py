"""``torch.utils.deterministic``: memory that nobody has written is filled in any case.

Arrays have values from the beginning, so that ``False`` changes nothing.
"""

fill_uninitialized_memory = True

__all__ = ["fill_uninitialized_memory"]
