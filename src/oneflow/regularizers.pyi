"""Terms that variables of job functions add to the loss."""

# Generated from `base/old_modules.py` by `tools/make_stubs.py` (make stubs).
from oneflow.legacy.regularizers import l1 as l1, l1_l2 as l1_l2, l2 as l2

__all__ = ["l1", "l1_l2", "l2"]
