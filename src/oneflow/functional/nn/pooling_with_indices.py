"""Maxima over windows together with their places: other names of `return_indices=True`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from oneflow.functional.nn import adaptive_pooling, fractional_pooling, pooling
from oneflow.functional.registry import register_public


def _with_indices(pool: Callable, arguments: str, *paths: str) -> Callable:
    """The function that calls `pool` for indices, too; `arguments` of an example for two planes.

    `paths` are its further names.
    """
    name = pool.__name__
    count = int(name[-2])

    @functools.wraps(pool)
    def pool_with_indices(*args: Any, **kwargs: Any) -> Any:
        return pool(*args, **{**kwargs, "return_indices": True})

    pool_with_indices.__name__ = pool_with_indices.__qualname__ = f"{name}_with_indices"
    pool_with_indices.__module__ = __name__
    pool_with_indices.__doc__ = f"""`nn.functional.{name}` with ``return_indices=True``.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2, {", ".join(["4"] * count)})
        >>> values, indices = flow.nn.functional.{name}_with_indices(x, {arguments})
        >>> indices.shape == values.shape, indices.dtype
        (True, oneflow.int64)
    """
    for path in (f"nn.functional.{pool_with_indices.__name__}", *paths):
        register_public(path, pool_with_indices)
    return pool_with_indices


max_pool1d_with_indices = _with_indices(pooling.max_pool1d, "2", "max_pool1d_with_indices")
max_pool2d_with_indices = _with_indices(pooling.max_pool2d, "2")
max_pool3d_with_indices = _with_indices(pooling.max_pool3d, "2")
adaptive_max_pool1d_with_indices = _with_indices(
    adaptive_pooling.adaptive_max_pool1d, "2", "adaptive_max_pool1d"
)
adaptive_max_pool2d_with_indices = _with_indices(adaptive_pooling.adaptive_max_pool2d, "2")
adaptive_max_pool3d_with_indices = _with_indices(adaptive_pooling.adaptive_max_pool3d, "2")
fractional_max_pool2d_with_indices = _with_indices(fractional_pooling.fractional_max_pool2d, "2, 3")
fractional_max_pool3d_with_indices = _with_indices(fractional_pooling.fractional_max_pool3d, "2, 3")
