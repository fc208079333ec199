"""Functions on meshes whose axes are explicit, which is what `jax.make_mesh` makes.

There the sharding of an array is part of its type, and JAX asks each operation for that of its
result. Programs say nothing of shardings: they run with automatic axes, and only their results have
the shardings that JAX infers for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.sharding import NamedSharding, PartitionSpec


def run_with_automatic_axes(
    function: Callable[..., Any], name: str, *args: Any, spec: PartitionSpec | None = None
) -> Any:
    """Call a function; where arrays are on a mesh of explicit axes, those are automatic within.

    Args:
        function: a function of arrays, nested in trees.
        name: for errors.
        args: its arguments.
        spec: how the results are sharded; None for what JAX infers.

    Raises:
        TypeError: JAX cannot say how a result is sharded.
    """
    mesh = _explicit_mesh(jax.tree.leaves(args))
    if mesh is None:
        return function(*args)
    if spec is not None:
        sharding = NamedSharding(mesh, spec)
        return jax.sharding.auto_axes(function, out_sharding=sharding)(*args)
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


def _explicit_mesh(arrays: Sequence[Any]) -> Any:
    """The mesh of explicit axes that an array is on; None if there is none."""
    meshes = [jax.typeof(array).sharding.mesh for array in arrays if isinstance(array, jax.Array)]
    return next((mesh for mesh in meshes if mesh.explicit_axes), None)
