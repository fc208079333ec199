"""`LinearMap`: a linear function with a transpose of its own, as an equation of JAX.

JAX finds gradients by transposing how results change with arguments, one equation after the other.
Here both directions are programs of this package, so that the whole map is one equation, and its
transpose the same equation with the directions exchanged. JAX's `linear_call` does the same, but
has no rules for `vmap` and for derivatives by what the map depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.interpreters import ad, batching, mlir
from jax.sharding import PartitionSpec

# Takes what the map depends on, and the arguments; returns the results.
MapFunction = Callable[[list[Any], list[Any]], list[Any]]


@dataclass(frozen=True, eq=False)
class LinearMap:
    """A function of lists of arrays that is linear in the second list.

    Attributes:
        forward: the function. JAX differentiates it by both lists.
        backward: its transpose, from the results' cotangents to those of the arguments.
        results: types of the results.
        arguments: types of the arguments.
    """

    forward: MapFunction
    backward: MapFunction
    results: tuple[Any, ...]
    arguments: tuple[Any, ...]

    def __call__(self, parameters: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        """The results.

        Args:
            parameters: what the map depends on.
            arguments: the arguments in which it is linear.
        """
        return _equation.bind(
            *parameters, *arguments, linear_map=self, parameter_count=len(parameters)
        )

    def transposed(self) -> LinearMap:
        """The transpose."""
        return LinearMap(self.backward, self.forward, self.arguments, self.results)

    def batched(self, dims: list[int | None], size: int) -> LinearMap:
        """The same map for each element of a batch, along axis 0 of arguments and results.

        Args:
            dims: the axes of the batch in the parameters; None: all have the same.
            size: the number of elements.
        """
        return LinearMap(
            jax.vmap(self.forward, in_axes=(dims, 0)),
            jax.vmap(self.backward, in_axes=(dims, 0)),
            tuple([_with_axis(result, size) for result in self.results]),
            tuple([_with_axis(argument, size) for argument in self.arguments]),
        )


def _with_axis(array_type: Any, size: int) -> Any:
    """The type of a batch of arrays, stacked along a new first axis."""
    sharding = array_type.sharding
    return array_type.update(
        shape=(size, *array_type.shape),
        sharding=sharding.update(spec=PartitionSpec(None, *sharding.spec)),
    )


def _run(*operands: Any, linear_map: LinearMap, parameter_count: int) -> list[Any]:
    return linear_map.forward([*operands[:parameter_count]], [*operands[parameter_count:]])


def _tangents(
    primals: Sequence[Any], tangents: Sequence[Any], *, linear_map: LinearMap, parameter_count: int
) -> tuple[list[Any], list[Any]]:
    """The rule of forward mode."""
    parameters, arguments = primals[:parameter_count], primals[parameter_count:]
    results = linear_map(parameters, arguments)
    perturbed = [i for i, tangent in enumerate(tangents) if not isinstance(tangent, ad.Zero)]
    if not perturbed or perturbed[0] >= parameter_count:
        changes = [ad.instantiate_zeros(tangent) for tangent in tangents[parameter_count:]]
        return results, linear_map(parameters, changes)

    def of_perturbed(*values: Any) -> list[Any]:
        operands = list(primals)
        for index, value in zip(perturbed, values, strict=True):
            operands[index] = value
        return _run(*operands, linear_map=linear_map, parameter_count=parameter_count)

    _, changes = jax.jvp(
        of_perturbed, [primals[i] for i in perturbed], [tangents[i] for i in perturbed]
    )
    return results, changes


def _transposed(
    cotangents: Sequence[Any], *operands: Any, linear_map: LinearMap, parameter_count: int
) -> list[Any]:
    """The rule of reverse mode: the operands' cotangents, None for known operands."""
    gradients = linear_map.transposed()(
        operands[:parameter_count], [ad.instantiate_zeros(cotangent) for cotangent in cotangents]
    )
    return [None] * parameter_count + [
        gradient if ad.is_undefined_primal(operand) else None
        for gradient, operand in zip(gradients, operands[parameter_count:], strict=True)
    ]


def _batched(
    operands: Sequence[Any],
    dims: Sequence[int | None],
    *,
    linear_map: LinearMap,
    parameter_count: int,
) -> tuple[list[Any], list[int]]:
    """The rule of `vmap`."""
    sizes = [x.shape[dim] for x, dim in zip(operands, dims, strict=True) if dim is not None]
    arguments = [
        jnp.broadcast_to(x, (sizes[0], *x.shape)) if dim is None else jnp.moveaxis(x, dim, 0)
        for x, dim in zip(operands[parameter_count:], dims[parameter_count:], strict=True)
    ]
    batched = linear_map.batched([*dims[:parameter_count]], sizes[0])
    results = batched(operands[:parameter_count], arguments)
    return results, [0] * len(results)


# See `hidden` in the room of operators for why this is how the class is named.
_equation: Any = type(lax.add_p)("linear_map")
_equation.multiple_results = True
_equation.def_impl(_run)
_equation.def_abstract_eval(lambda *_, linear_map, parameter_count: linear_map.results)
ad.primitive_jvps[_equation] = _tangents
ad.primitive_transposes[_equation] = _transposed
batching.primitive_batchers[_equation] = _batched
mlir.register_lowering(_equation, mlir.lower_fun(_run, multiple_results=True))
