"""Names of ``torch._functorch.vmap``, beneath ``torch.vmap``, that libraries import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.mock_torch.pytorch._C._functorch import (
    _add_batch_dim,
    _remove_batch_dim,
    is_batchedtensor,
)
from oneflow.mock_torch.pytorch.utils._pytree import (
    _broadcast_to_and_flatten,
    tree_flatten,
    tree_map_,
    tree_unflatten,
)
from oneflow.tensor.tensor import Tensor


def _get_name(func: Callable[..., Any]) -> str:
    """Return the name of a function; the text of what has none."""
    return getattr(func, "__name__", repr(func))


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None
) -> Any:
    """Return a result as it is if `out_dim` is None; there is no wrapper to take a batch out of.

    Raises:
        NotImplementedError: `out_dim` is given.
    """
    if out_dim is None:
        return batched_output
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


__all__ = [
    "Tensor",
    "_add_batch_dim",
    "_broadcast_to_and_flatten",
    "_get_name",
    "_maybe_remove_batch_dim",
    "_remove_batch_dim",
    "is_batchedtensor",
    "tree_flatten",
    "tree_map_",
    "tree_unflatten",
]
