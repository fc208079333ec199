"""`function`: a function of tensors, or a module, as a pure function of JAX arrays.

The program that it records for the shapes of a call runs in its place, so that JAX can transform
it like any other function. Its derivatives are those that the tape records, not those of JAX. JAX
sees the derivative of the results as one linear map, whose transpose gives gradients. Backwards one
program computes results and gradients; the part that does not depend on the gradients of the
results runs first, and the rest when these exist. The rest is a function with derivatives, too.
Forwards another program, the gradient of gradients, computes the changes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero
from jax.experimental import checkify
from jax.sharding import PartitionSpec

from oneflow.autograd.gradients import derivatives
from oneflow.base.spec import TensorSpec
from oneflow.base.x64 import has_x64, in_x64, x64
from oneflow.jax.arrays import check_no_tensors_within, is_key, wide_integer_error
from oneflow.jax.explicit_axes import run_with_automatic_axes
from oneflow.jax.linear_map import LinearMap
from oneflow.jax.recording import ListFunction, record, specs_of
from oneflow.module.module import Module
from oneflow.nn.utils.stateless import functional_call
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


def function(target: Callable[..., Any], *, checks: bool = False) -> Callable[..., Any]:
    """Return a function of tensors, or a module, as a pure function of JAX arrays.

    `jax.jit`, `jax.grad`, `jax.vmap`, `jax.shard_map` and `jax.checkpoint` take it as any other.
    Derivatives of any order are those of this package, in forward and in reverse mode.

    Args:
        target: a function of tensors, nested in lists, tuples and dicts, and of anything else; or
            a module.
        checks: check values, such as indices, by `jax.experimental.checkify`: at once in a plain
            call; otherwise transform what calls the result by ``checkify.checkify`` first.

    Returns:
        For a function one with the same arguments, arrays in place of tensors, and arrays as
        results. For a module one that takes dicts of its parameters and of its buffers, then its
        arguments, and returns its result and the buffers after the call. Both take `seed`, an
        integer, array or key, from which random numbers are drawn, and are recorded anew in each
        call: use `jax.jit`. Types of 64 bits come out as JAX's setting says.

    Raises:
        RuntimeError: (when called) random numbers are drawn without a seed; values are read; or
            names of parameters or buffers are unknown or missing.
        OverflowError: (when called) an integer of NumPy is beyond 32 bits, and JAX's setting has no
            wider types.
        TypeError: (when called) an argument is a tensor; a size is no integer; tensors are returned
            within an object that is no tree of JAX; or JAX cannot say how a result is sharded on a
            mesh of explicit axes.

    Example:
        >>> import jax
        >>> import oneflow as flow
        >>> square = flow.jax.function(lambda x: (x * x).sum())
        >>> jax.jit(jax.grad(square))(jax.numpy.arange(3.0)).tolist()
        [0.0, 2.0, 4.0]
        >>> layer = flow.nn.Linear(2, 1)
        >>> weights = flow.jax.to_jax(dict(layer.named_parameters()))
        >>> y, buffers = flow.jax.function(layer)(weights, {}, jax.numpy.ones((3, 2)))
        >>> y.shape
        (3, 1)
    """
    name = getattr(target, "__name__", type(target).__name__)
    if not callable(target):
        raise TypeError(f"`function` takes a function of tensors or a module, got {name}")
    called = functools.partial(_call_module, target) if isinstance(target, Module) else target

    def pure(*args: Any, seed: Any = None, **kwargs: Any) -> Any:
        leaves, structure = jax.tree.flatten((args, kwargs))
        return _ArrayCall(called, name, leaves, structure).run(leaves, seed, checks)

    pure.__name__, pure.__doc__ = name, getattr(target, "__doc__", None)
    return pure


def _call_module(module: Module, /, *args: Any, **kwargs: Any) -> tuple[Any, dict[str, Tensor]]:
    dicts, args = args[:2], args[2:]
    if len(dicts) < 2 or not all(isinstance(names, Mapping) for names in dicts):
        types = ", ".join(type(argument).__name__ for argument in dicts)
        raise TypeError(
            f"`{type(module).__name__}` as a function of JAX takes a dict of its parameters by "
            f"name, one of its buffers, `{{}}` if there are none, then its arguments; got ({types})"
        )
    parameters, buffers = dicts
    state = {**parameters, **buffers}
    result = functional_call(module, state, args, kwargs, strict=True)
    return result, {name: state[name] for name in buffers}


class _ArrayCall:
    """One call: which of its arguments are arrays, and the structures of arguments and result."""

    def __init__(
        self, called: Callable[..., Any], name: str, leaves: list[Any], structure: Any
    ) -> None:
        """Initialise it.

        Raises:
            TypeError: there is a tensor or a key among the arguments.
        """
        if any(isinstance(leaf, Tensor) for leaf in leaves):
            raise TypeError(
                f"`{name}` as a function of JAX got a tensor; give arrays, `oneflow.jax.to_jax` "
                "has them"
            )
        if any(map(is_key, leaves)):
            raise TypeError(f"`{name}` as a function of JAX takes a key of `jax.random` as `seed=`")
        self._called, self._name, self._structure = called, name, structure
        self._arrays = [
            index
            for index, leaf in enumerate(leaves)
            if isinstance(leaf, jax.Array | np.ndarray | np.generic)
        ]
        # This object lives as long as JAX's programs with it: traced arrays must not.
        self._leaves = list(leaves)
        for index in self._arrays:
            self._leaves[index] = None
        self._results: list[Any] = []
        self._result_structure: Any = None

    def run(self, leaves: list[Any], seed: Any, checks: bool) -> Any:
        """The result, with arrays in place of tensors."""
        arrays = [_in_jax(leaves[index]) for index in self._arrays]
        seed = _seed_from(seed)
        if checks:
            self._check(arrays, seed)
        run = run_with_automatic_axes
        array_results = iter(run(self._array_results, self._name, arrays, seed))
        results = [next(array_results) if result is None else result for result in self._results]
        return jax.tree.unflatten(self._result_structure, results)

    def _array_results(self, arrays: list[Any], seed: Any) -> list[Any]:
        """The results that are arrays.

        Within `jax.shard_map` those that differ along the same dimensions of a mesh are computed
        together, from arguments that do, too: what depends on shared arguments alone is shared.
        """
        axes = [*map(_mesh_axes_of, arrays)]
        seed_axes = frozenset[str]() if seed is None else _mesh_axes_of(seed)
        if not any([*axes, seed_axes]):
            return _ArrayFunction(self._on_tensors, self._name)(arrays, seed)
        reads = record(self._on_tensors, specs_of(arrays), self._name).reads()
        places: dict[frozenset[str], list[int]] = {}
        for place, (numbers, is_random) in enumerate(reads):
            read_axes = [axes[number] for number in numbers if number < len(axes)]
            read_axes += [seed_axes] if is_random else []
            places.setdefault(frozenset[str]().union(*read_axes), []).append(place)
        results: dict[int, Any] = {}
        for group_axes, group in places.items():
            function = _ArrayFunction(functools.partial(self._some_results, group), self._name)
            results.update(zip(group, function(_varying(arrays, group_axes), seed), strict=True))
        return [results[place] for place in range(len(reads))]

    def _some_results(self, places: Sequence[int], tensors: list[Tensor]) -> list[Tensor]:
        results = self._on_tensors(tensors)
        return [results[place] for place in places]

    def _check(self, arrays: list[Any], seed: Any) -> None:
        # It is no part of the differentiated function.
        arrays = [lax.stop_gradient(array) for array in arrays]
        operators: list[str] = []

        def failures(arrays: list[Any], seed: Any) -> list[tuple[Any, Any]]:
            recording = record(self._on_tensors, specs_of(arrays), self._name)
            rows = recording.failures(arrays, seed)
            operators[:] = [operator for operator, _, _ in rows]
            return [(is_invalid, value) for _, is_invalid, value in rows]

        run = run_with_automatic_axes
        # Every device has these single values.
        pairs = run(failures, self._name, arrays, seed, spec=PartitionSpec())
        for operator, (is_invalid, value) in zip(operators, pairs, strict=True):
            text = f"`{operator}` in `{self._name}` refuses the value {{value}}"
            checkify.check(jnp.logical_not(is_invalid), text, value=value)

    def _on_tensors(self, tensors: list[Tensor]) -> list[Tensor]:
        leaves = list(self._leaves)
        for index, tensor in zip(self._arrays, tensors, strict=True):
            leaves[index] = tensor
        args, kwargs = jax.tree.unflatten(self._structure, leaves)
        result_leaves, self._result_structure = jax.tree.flatten(self._called(*args, **kwargs))
        for leaf in result_leaves:
            check_no_tensors_within(leaf, f"`{self._name}` returns")
        self._results = [None if isinstance(leaf, Tensor) else leaf for leaf in result_leaves]
        return [leaf for leaf in result_leaves if isinstance(leaf, Tensor)]


def _in_jax(array: Any) -> Any:
    """An array of NumPy, or of JAX, as one of JAX.

    Raises:
        OverflowError: JAX's setting has types of 32 bits only, and an integer is beyond them.
    """
    if isinstance(array, jax.Array):
        return array
    is_wide = array.dtype.kind in "iu" and array.dtype.itemsize == 8 and not has_x64()
    if is_wide and array.size:
        limits = np.iinfo(f"{array.dtype.kind}4")
        for extreme in (array.min(), array.max()):
            if not limits.min <= extreme <= limits.max:
                raise wide_integer_error(extreme)
    return jnp.asarray(array)


@in_x64
def _seed_from(seed: Any) -> Any:
    """A seed of 64 bits from an integer, an array or a key of `jax.random`."""
    if seed is None:
        return None
    if is_key(seed):
        seed = jax.random.key_data(seed)
    words = jnp.ravel(jnp.asarray(seed)).astype(jnp.int64)
    total = words[0]
    for position in range(1, words.size):
        total = total * jnp.int64(0x9E3779B97F4A7C15 - (1 << 64)) + words[position]
    return total


class _ArrayFunction:
    """A function of lists of tensors as one of lists of arrays and a seed, with its derivatives."""

    def __init__(self, function: ListFunction, name: str) -> None:
        """Initialise it.

        Args:
            function: the function.
            name: for errors.
        """
        self._function, self._name = function, name
        self._derivatives: dict[tuple, _Derivative] = {}

    def __call__(self, arrays: Sequence[Any], seed: Any) -> list[Any]:
        """Call it; JAX may be tracing.

        Returns:
            Its results, with types of 64 bits as JAX's setting says.
        """

        @jax.custom_jvp
        def run(arrays: Sequence[Any], seed: Any) -> list[Any]:
            results = record(self._function, specs_of(arrays), self._name).run(arrays, seed)
            return _of_setting(results)

        def change(primals: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
            arrays, seed = primals
            derivative = self._derivative(arrays, tangents[0])
            results, residuals = derivative.start(arrays, seed)
            return results, derivative.changes(results, arrays, seed, residuals, tangents[0])

        run.defjvp(change, symbolic_zeros=True)
        return run(arrays, seed)

    def changes(
        self, results: list[Any], arrays: Sequence[Any], seed: Any, tangents: Sequence[Any]
    ) -> list[Any]:
        """The tangents of the results."""
        derivative = self._derivative(arrays, tangents)
        _, residuals = derivative.start(arrays, seed)
        return derivative.changes(results, arrays, seed, residuals, tangents)

    def _derivative(self, arrays: Sequence[Any], tangents: Sequence[Any]) -> _Derivative:
        perturbed = tuple([not isinstance(tangent, SymbolicZero) for tangent in tangents])
        key = specs_of(arrays), perturbed
        if key not in self._derivatives:
            self._derivatives[key] = _Derivative(self, self._function, self._name, *key)
        return self._derivatives[key]


class _Derivative:
    """The derivative of a function by some of its arguments, both ways.

    Backwards it is recorded as two programs. The first one returns the results and the residuals,
    the second one takes these and the cotangents of the results.
    """

    def __init__(
        self,
        array_function: _ArrayFunction,
        function: ListFunction,
        name: str,
        specs: tuple[TensorSpec, ...],
        perturbed: tuple[bool, ...],
    ) -> None:
        self._array_function, self._function, self._name = array_function, function, name
        self._perturbed = perturbed
        plain = record(function, specs, name).program
        table = plain.spec_table()
        self._result_specs = [table[number] for number in plain.outputs]
        self._cotangent_specs = [spec for spec in self._result_specs if _is_inexact(spec)]
        both = record(self._with_gradients, (*specs, *self._cotangent_specs), name)
        unknown = range(len(specs), len(specs) + len(self._cotangent_specs))
        self._known, self._unknown = both.split(unknown, len(self._result_specs))
        # Derivatives of the derivative; nothing is recorded before one is asked for.
        self._forward = _ArrayFunction(self._tangents, name)
        self._backward = _ArrayFunction(self._gradients, name)

    def _leaves(self, tensors: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """The arguments of the function, and the variables by which it is differentiated."""
        arguments, leaves = list(tensors), []
        for index in self._select(range(len(arguments))):
            variable = arguments[index]
            leaf = variable if variable.requires_grad else variable.detach().requires_grad_()
            leaves.append(leaf)
            # The function may write to its arguments.
            arguments[index] = leaf.clone()
        return arguments, leaves

    def _with_gradients(self, tensors: list[Tensor]) -> list[Tensor]:
        count = len(self._perturbed)
        arguments, leaves = self._leaves(tensors[:count])
        results = self._function(arguments)
        return [*results, *derivatives(_inexact(results), leaves, tensors[count:], hooks=True)]

    def _gradients(self, tensors: list[Tensor]) -> list[Tensor]:
        return self._with_gradients(tensors)[len(self._result_specs) :]

    def _tangents(self, tensors: list[Tensor]) -> list[Tensor]:
        """The changes of the results along the directions that follow the arguments.

        The gradient of a weighted result is linear in the weights, which come last and are 0; its
        own gradient is the change.
        """
        count = len(self._perturbed)
        arguments, leaves = self._leaves(tensors[:count])
        results = _inexact(self._function(arguments))
        directions = tensors[count : count + len(leaves)]
        weights = [
            tensor if tensor.requires_grad else tensor.detach().requires_grad_()
            for tensor in tensors[count + len(leaves) :]
        ]
        slopes = derivatives(results, leaves, weights, hooks=True)
        return derivatives(slopes, weights, directions, hooks=False)

    def start(self, arrays: Sequence[Any], seed: Any) -> tuple[list[Any], list[Any]]:
        """The first program: from arguments and seed to the results and the residuals.

        Derivatives of derivatives go through it, too.
        """

        @jax.custom_jvp
        def start(arrays: Any, seed: Any) -> tuple[list[Any], list[Any]]:
            # No instruction of the first program reads the cotangents.
            outputs = self._known.run((*arrays, *[None] * len(self._cotangent_specs)), seed)
            count = len(self._result_specs)
            return _of_setting(outputs[:count]), outputs[count:]

        def change(primals: Any, tangents: Any) -> tuple[Any, Any]:
            arrays, seed = primals
            results, residuals = start(arrays, seed)
            # The derivative of what reads the residuals knows that they depend on the arguments.
            same = [SymbolicZero.from_primal_value(residual) for residual in residuals]
            changes = self._array_function.changes(results, arrays, seed, tangents[0])
            return (results, residuals), (changes, same)

        start.defjvp(change, symbolic_zeros=True)
        results, residuals = start(arrays, seed)
        return results, [lax.stop_gradient(residual) for residual in residuals]

    def changes(
        self,
        results: Sequence[Any],
        arrays: Sequence[Any],
        seed: Any,
        residuals: Sequence[Any],
        tangents: Sequence[Any],
    ) -> list[Any]:
        """The tangents of the results, linear in the tangents of the arguments.

        Args:
            results: the results, for their types.
            arrays: the arguments.
            seed: the seed of random numbers.
            residuals: the residuals that `start` returned.
            tangents: the tangents of the arguments.
        """
        parameters, structure = jax.tree.flatten(([*arrays], seed, [*residuals]))

        def forward(parameters: list[Any], directions: list[Any]) -> list[Any]:
            arrays, seed, _ = jax.tree.unflatten(structure, parameters)
            specs = self._cotangent_specs
            with x64():
                weights = [jnp.zeros(spec.shape, spec.dtype.numpy) for spec in specs]
            weights = _varying(weights, frozenset[str]().union(*map(_mesh_axes_of, directions)))
            return self._forward([*arrays, *directions, *weights], seed)

        def backward(parameters: list[Any], cotangents: list[Any]) -> list[Any]:
            arrays, seed, residuals = jax.tree.unflatten(structure, parameters)
            return self._finish_of_jax(arrays, seed, residuals, cotangents)

        directions = self._select(tangents)
        linear_map = LinearMap(
            forward,
            backward,
            tuple([jax.typeof(result).to_tangent_aval() for result in _inexact_arrays(results)]),
            tuple([jax.typeof(direction) for direction in directions]),
        )
        changes = iter(linear_map(parameters, directions))
        return [
            next(changes) if _is_inexact_array(result) else SymbolicZero.from_primal_value(result)
            for result in results
        ]

    def _select(self, of_arguments: Sequence[Any]) -> list[Any]:
        """Items of the arguments by which the function is differentiated."""
        return [item for item, used in zip(of_arguments, self._perturbed, strict=True) if used]

    def _finish_of_jax(
        self, arrays: Any, seed: Any, residuals: Any, cotangents: Sequence[Any]
    ) -> list[Any]:
        """The gradients of the results times their cotangents, by the second program.

        JAX's are the conjugates of this package's.
        """
        with x64():
            pairs = zip(cotangents, self._cotangent_specs, strict=True)
            conj_grads = [jnp.conj(array.astype(spec.dtype.numpy)) for array, spec in pairs]
            return [*map(jnp.conj, self._finish(arrays, seed, residuals, conj_grads))]

    def _finish(self, arrays: Any, seed: Any, residuals: Any, cotangents: Any) -> list[Any]:
        """The second program; its derivatives know that the residuals depend on `arrays`."""

        @jax.custom_jvp
        def finish(arrays: Any, seed: Any, residuals: Any, cotangents: Any) -> list[Any]:
            return self._unknown.run((*arrays, *cotangents), seed, residuals)

        def change(primals: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
            arrays, seed, _, cotangents = primals
            gradients, all_tangents = finish(*primals), [*tangents[0], *tangents[3]]
            return gradients, self._backward.changes(
                gradients, [*arrays, *cotangents], seed, all_tangents
            )

        finish.defjvp(change, symbolic_zeros=True)
        return finish(arrays, seed, residuals, cotangents)


def _inexact(tensors: Sequence[Tensor]) -> list[Tensor]:
    return [tensor for tensor in tensors if _is_inexact(unwrap(tensor).spec)]


def _is_inexact_array(array: Any) -> bool:
    return jnp.issubdtype(array.dtype, jnp.inexact)


def _inexact_arrays(arrays: Sequence[Any]) -> list[Any]:
    return [array for array in arrays if _is_inexact_array(array)]


def _of_setting(arrays: Sequence[Any]) -> list[Any]:
    """Arrays with the types that JAX's setting for 64 bits allows."""
    return [array.astype(jax.dtypes.canonicalize_dtype(array.dtype)) for array in arrays]


def _is_inexact(spec: TensorSpec) -> bool:
    return spec.dtype.is_floating_point or spec.dtype.is_complex


def _varying(arrays: Sequence[Any], axes: frozenset[str]) -> list[Any]:
    """Arrays of numbers that differ along these dimensions of a mesh.

    Within `jax.shard_map` what every device has of a gradient is then a part, throughout a program;
    JAX adds the parts up along the dimensions along which an argument was the same before. Arrays
    that differ along others are not read, and nothing depends on how they change.
    """
    return [
        lax.pcast(array, tuple(axes - own), to="varying")
        if (own := _mesh_axes_of(array)) <= axes and _is_inexact_array(array)
        else lax.stop_gradient(array)
        for array in arrays
    ]


def _mesh_axes_of(array: Any) -> frozenset[str]:
    """The names of the dimensions of a mesh along which the shards of an array differ."""
    kind = jax.typeof(array)
    # Releases of JAX before and after 0.10 say it in different places.
    return kind.mat.varying if hasattr(kind, "mat") else getattr(kind, "vma", frozenset())
