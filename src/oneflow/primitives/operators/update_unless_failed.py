"""Updates behind a run-time check: they do not happen if it has failed.

An index out of range is noticed while a program runs, which by then computes with clamped indices.
Its writes to tensors that existed before must not arrive there. `update_unless_failed` says so
within the program; those who run programs choose between its operands. Optimizers' updates need no
such instruction: they are chosen from in the same way.
"""

from __future__ import annotations

from oneflow.primitives.registry import primitive
from oneflow.primitives.traits import UpdateRule

# The new value of a tensor; its old one if one of the program's first `checks` checks has failed.
update_unless_failed = primitive(
    "update_unless_failed",
    lambda old, new, *, checks: new,
    differentiable=False,
    axes="..., ... -> ...",
    linear=("old new",),
    update=UpdateRule(replaced=lambda operation: ((0, 0),)),
)
