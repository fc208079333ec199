"""The distribution of a global tensor over a placement: `split`, `broadcast`, `partial_sum`."""

from oneflow.base.sbp import (
    BROADCAST as broadcast,
    PARTIAL_SUM as partial_sum,
    Sbp as sbp,
    split as split,
)

__all__ = ["broadcast", "partial_sum", "sbp", "split"]
