"""`transfer`: the same global tensor on another placement.

Only graphs record it. It is no part of any compiled program: programs are cut where it stands, and
what runs them carries the array over.
"""

from __future__ import annotations

import jax

from oneflow.base.spec import TensorSpec
from oneflow.primitives.registry import primitive
from oneflow.primitives.traits import Kind


def _transfer(x: jax.Array, *, target: TensorSpec) -> jax.Array:
    """The same values; `target` says where."""
    return x


transfer = primitive("transfer", _transfer, differentiable=False, kind=Kind.TRANSFER)
