"""``functorch.experimental``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.func import hessian as hessian, jacfwd as jacfwd, jvp as jvp, vmap
from oneflow.mock_torch.pytorch.func import (
    functionalize as functionalize,
    replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_,
)


def chunk_vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    chunks: int = 2,
) -> Callable[..., Any]:
    """`vmap`; the calls for the elements of the batch are separate anyway, whatever `chunks` is.

    Args:
        func: takes and returns tensors or structures of tensors.
        in_dims: the same as for `vmap`.
        out_dims: the same as for `vmap`.
        randomness: the same as for `vmap`.
        chunks: the number of parts; accepted.

    Raises:
        ValueError: `chunks` is not positive.
    """
    if chunks < 1:
        raise ValueError(f"chunk_vmap: `chunks` must be positive, got {chunks}")
    return vmap(func, in_dims, out_dims, randomness)


__all__ = [
    "chunk_vmap",
    "functionalize",
    "hessian",
    "jacfwd",
    "jvp",
    "replace_all_batch_norm_modules_",
]
