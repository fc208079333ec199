"""Functions on meshes whose axes are explicit, which is what `jax.make_mesh` makes.

There the sharding of an array is part of its type, and JAX asks each operation for that of its
result. Programs say nothing of shardings: they run with automatic axes, and only their results have
the shardings that JAX infers for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax


def run_with_automatic_axes(function: Callable[..., Any], name: str, *args: Any) -> Any:
    """Call a function; where arrays are on a mesh of explicit axes, those are automatic within.

    Args:
        function: a function of arrays, nested in trees.
        name: for errors.
        args: its arguments.

    Raises:
        TypeError: JAX cannot say how a result is sharded.
    """
    if not _has_explicit_axes(jax.tree.leaves(args)):
        return function(*args)
    try:
        results = jax.eval_shape(function, *args)
    except Exception as error:
        if type(error).__name__ != "ShardingTypeError":  # JAX does not publish it
            raise
        raise TypeError(
            f"`{name}` has arrays on a mesh of explicit axes, and JAX cannot say how its results "
            "are sharded there: say it by `jax.sharding.auto_axes(function, out_sharding=...)`, or "
            "make the mesh with `axis_types=(jax.sharding.AxisType.Auto, ...)`"
        ) from error
    shardings = jax.tree.map(lambda result: result.sharding, results)
    return jax.sharding.auto_axes(function, out_sharding=shardings)(*args)


def _has_explicit_axes(arrays: Sequence[Any]) -> bool:
    return any(
        jax.typeof(array).sharding.mesh.explicit_axes
        for array in arrays
        if isinstance(array, jax.Array)
    )
