"""`function`: a function of tensors, or a module, as a pure function of JAX arrays.

The program that it records for the shapes of a call runs in its place, so that JAX can transform
it like any other function. Its derivatives are those that the tape records, not those of JAX: one
program computes results and gradients. The part that does not depend on the gradients of the
results runs first, and the rest when these exist. The rest is a function with derivatives, too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.autograd.gradients import derivatives
from oneflow.base.spec import TensorSpec
from oneflow.base.x64 import in_x64, x64
from oneflow.jax.recording import ListFunction, record, specs_of
from oneflow.module.module import Module
from oneflow.nn.utils.stateless import functional_call
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


def function(target: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of tensors, or a module, as a pure function of JAX arrays.

    `jax.jit`, `jax.grad`, `jax.vmap`, `jax.shard_map` and `jax.checkpoint` take it as any other.
    Derivatives of any order are those of this package, by reverse mode.

    Args:
        target: a function of tensors, nested in lists, tuples and dicts, and of anything else; or
            a module.

    Returns:
        For a function one with the same arguments, arrays in place of tensors, and arrays as
        results. For a module one that takes dicts of its parameters and of its buffers, then its
        arguments, and returns its result and the buffers after the call. Both take `seed`, an
        integer, array or key, from which random numbers are drawn, and are recorded anew in each
        call: use `jax.jit`. Types of 64 bits come out as JAX's setting says.

    Raises:
        RuntimeError: (when called) random numbers are drawn without a seed; or values are read.
        TypeError: (when called) an argument is a tensor.

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
    called = functools.partial(_call_module, target) if isinstance(target, Module) else target
    name = getattr(target, "__name__", type(target).__name__)

    def pure(*args: Any, seed: Any = None, **kwargs: Any) -> Any:
        return _ArrayCall(called, name, args, kwargs).run(seed)

    pure.__name__, pure.__doc__ = name, getattr(target, "__doc__", None)
    return pure


def _call_module(
    module: Module,
    parameters: dict[str, Tensor],
    buffers: dict[str, Tensor],
    /,
    *args: Any,
    **kwargs: Any,
) -> tuple[Any, dict[str, Tensor]]:
    state = {**parameters, **buffers}
    result = functional_call(module, state, args, kwargs, strict=True)
    return result, {name: state[name] for name in buffers}


class _ArrayCall:
    """One call: which of its arguments are arrays, and the structures of arguments and result."""

    def __init__(self, called: Callable[..., Any], name: str, args: tuple, kwargs: dict) -> None:
        self._called, self._name = called, name
        self._leaves, self._structure = jax.tree.flatten((args, kwargs))
        self._arrays = [
            index
            for index, leaf in enumerate(self._leaves)
            if isinstance(leaf, jax.Array | np.ndarray | np.generic)
        ]
        if any(isinstance(leaf, Tensor) for leaf in self._leaves):
            raise TypeError(
                f"`{name}` as a function of JAX got a tensor; give arrays, `oneflow.jax.to_jax` "
                "has them"
            )
        self._results: list[Any] = []
        self._result_structure: Any = None

    def run(self, seed: Any) -> Any:
        """The result, with arrays in place of tensors."""
        arrays = [jnp.asarray(self._leaves[index]) for index in self._arrays]
        differentiable = tuple([jnp.issubdtype(array.dtype, jnp.inexact) for array in arrays])
        array_results = iter(
            _pure(self._on_tensors, differentiable, self._name)(arrays, _seed_from(seed))
        )
        results = [next(array_results) if result is None else result for result in self._results]
        return jax.tree.unflatten(self._result_structure, results)

    def _on_tensors(self, tensors: list[Tensor]) -> list[Tensor]:
        leaves = list(self._leaves)
        for index, tensor in zip(self._arrays, tensors, strict=True):
            leaves[index] = tensor
        args, kwargs = jax.tree.unflatten(self._structure, leaves)
        result_leaves, self._result_structure = jax.tree.flatten(self._called(*args, **kwargs))
        self._results = [None if isinstance(leaf, Tensor) else leaf for leaf in result_leaves]
        return [leaf for leaf in result_leaves if isinstance(leaf, Tensor)]


@in_x64
def _seed_from(seed: Any) -> Any:
    """A seed of 64 bits from an integer, an array or a key of `jax.random`."""
    if seed is None:
        return None
    if isinstance(seed, jax.Array) and jnp.issubdtype(seed.dtype, jax.dtypes.prng_key):
        seed = jax.random.key_data(seed)
    words = jnp.ravel(jnp.asarray(seed)).astype(jnp.int64)
    total = words[0]
    for position in range(1, words.size):
        total = total * jnp.int64(0x9E3779B97F4A7C15 - (1 << 64)) + words[position]
    return total


def _pure(
    function: ListFunction, differentiable: tuple[bool, ...], name: str
) -> Callable[[Sequence[Any], Any], list[Any]]:
    """A function of lists of tensors as one of lists of arrays and a seed, with its derivatives.

    Args:
        function: the function.
        differentiable: by which arguments it can be differentiated.
        name: for errors.
    """
    of_setting = jax.dtypes.canonicalize_dtype

    @functools.cache
    def derivative(specs: tuple[TensorSpec, ...]) -> _Derivative:
        return _Derivative(function, differentiable, name, specs)

    @jax.custom_vjp
    def run(arrays: Sequence[Any], seed: Any) -> list[Any]:
        results = record(function, specs_of(arrays), name).run(arrays, seed)
        return [result.astype(of_setting(result.dtype)) for result in results]

    def forward(arrays: Sequence[Any], seed: Any) -> tuple[list[Any], Any]:
        results, residuals = derivative(specs_of(arrays)).start(arrays, seed)
        return [result.astype(of_setting(result.dtype)) for result in results], (
            arrays,
            seed,
            residuals,
        )

    def backward(saved: Any, cotangents: Sequence[Any]) -> tuple[list[Any], None]:
        return derivative(specs_of(saved[0])).backward(saved, cotangents)

    run.defvjp(forward, backward)
    return run


class _Derivative:
    """A function with its gradients, recorded as two programs.

    The first one returns the results and the residuals, the second one takes these and the
    cotangents of the results.
    """

    def __init__(
        self,
        function: ListFunction,
        differentiable: tuple[bool, ...],
        name: str,
        specs: tuple[TensorSpec, ...],
    ) -> None:
        self._function, self._differentiable, self._name = function, differentiable, name
        plain = record(function, specs, name).program
        table = plain.spec_table()
        self._result_specs = [table[number] for number in plain.outputs]
        self._cotangent_specs = [spec for spec in self._result_specs if _is_inexact(spec)]
        both = record(self._with_gradients, (*specs, *self._cotangent_specs), name)
        unknown = range(len(specs), len(specs) + len(self._cotangent_specs))
        self._known, self._unknown = both.split(unknown, len(self._result_specs))

    def _with_gradients(self, tensors: list[Tensor]) -> list[Tensor]:
        count = len(self._differentiable)
        arguments = tensors[:count]
        leaves = []
        for index, is_differentiable in enumerate(self._differentiable):
            if is_differentiable:
                variable = tensors[index]
                leaf = variable if variable.requires_grad else variable.detach().requires_grad_()
                leaves.append(leaf)
                # The function may write to what it is given.
                arguments[index] = leaf.clone()
        results = self._function(arguments)
        weighted = [result for result in results if _is_inexact(unwrap(result).spec)]
        return [*results, *derivatives(weighted, leaves, tensors[count:], hooks=True)]

    def _gradients(self, tensors: list[Tensor]) -> list[Tensor]:
        return self._with_gradients(tensors)[len(self._result_specs) :]

    @property
    def start(self) -> Callable[..., tuple[list[Any], list[Any]]]:
        """The first program: from arguments and seed to the results and the residuals.

        Derivatives of derivatives go through it, too.
        """

        @jax.custom_vjp
        def start(arrays: Any, seed: Any) -> tuple[list[Any], list[Any]]:
            # No instruction of the first program reads the cotangents.
            outputs = self._known.run((*arrays, *[None] * len(self._cotangent_specs)), seed)
            return outputs[: len(self._result_specs)], outputs[len(self._result_specs) :]

        def forward(arrays: Any, seed: Any) -> tuple[tuple[list[Any], list[Any]], Any]:
            results, residuals = start(arrays, seed)
            return (results, residuals), (arrays, seed, residuals)

        start.defvjp(forward, lambda saved, cotangents: self.backward(saved, cotangents[0]))
        return start

    def backward(self, saved: Any, cotangents: Sequence[Any]) -> tuple[list[Any], None]:
        """The gradients of the results times their cotangents, None where there is none.

        JAX's are the conjugates of this package's.

        Args:
            saved: arguments, seed, and the residuals of `start`.
            cotangents: those of the results.
        """
        arrays, seed, residuals = saved
        pairs = zip(cotangents, self._result_specs, strict=True)
        with x64():
            conj_grads = [
                jnp.conj(cotangent.astype(spec.dtype.numpy))
                for cotangent, spec in pairs
                if _is_inexact(spec)
            ]
            conjugate_gradients = map(jnp.conj, self._finish(arrays, seed, residuals, conj_grads))
            gradients = [
                _over_devices_of(array, next(conjugate_gradients)) if is_differentiable else None
                for array, is_differentiable in zip(arrays, self._differentiable, strict=True)
            ]
        return gradients, None

    @property
    def _finish(self) -> Callable[..., list[Any]]:
        """The second program; its derivatives know that the residuals depend on `arrays`."""

        @jax.custom_vjp
        def finish(arrays: Any, seed: Any, residuals: Any, cotangents: Any) -> list[Any]:
            return self._unknown.run((*arrays, *cotangents), seed, residuals)

        def forward(
            arrays: Any, seed: Any, residuals: Any, cotangents: Any
        ) -> tuple[list[Any], Any]:
            return finish(arrays, seed, residuals, cotangents), (arrays, seed, cotangents)

        def backward(saved: Any, outer: list[Any]) -> tuple[Any, None, None, Any]:
            arrays, seed, cotangents = saved
            all_differentiable = (*self._differentiable, *[True] * len(cotangents))
            gradients = _pure(self._gradients, all_differentiable, self._name)

            def of_differentiable(primals: list[Any], cotangents: list[Any]) -> list[Any]:
                arrays_left = iter(primals)
                full = [
                    next(arrays_left) if is_differentiable else array
                    for array, is_differentiable in zip(arrays, self._differentiable, strict=True)
                ]
                return gradients([*full, *cotangents], seed)

            with x64():
                _, vjp = jax.vjp(
                    of_differentiable,
                    _differentiable(arrays, self._differentiable),
                    list(cotangents),
                )
                of_arrays, of_cotangents = vjp(outer)
            remaining = iter(of_arrays)
            return (
                [
                    next(remaining) if is_differentiable else None
                    for is_differentiable in self._differentiable
                ],
                None,
                None,
                of_cotangents,
            )

        finish.defvjp(forward, backward)
        return finish


def _differentiable(arrays: Sequence[Any], differentiable: Sequence[bool]) -> list[Any]:
    return [
        array
        for array, is_differentiable in zip(arrays, differentiable, strict=True)
        if is_differentiable
    ]


def _is_inexact(spec: TensorSpec) -> bool:
    return spec.dtype.is_floating_point or spec.dtype.is_complex


def _over_devices_of(array: Any, gradient: Any) -> Any:
    """A gradient, summed over the dimensions of a mesh along which the array does not differ.

    Within `jax.shard_map` what every device has of it is a part.
    """
    axes = _mesh_axes_of(gradient) - _mesh_axes_of(array)
    return lax.psum(gradient, tuple(axes)) if axes else gradient


def _mesh_axes_of(array: Any) -> frozenset[str]:
    """The names of the dimensions of a mesh along which what a device has of an array differs."""
    kind = jax.typeof(array)
    # Releases of JAX before and after 0.10 say it in different places.
    return kind.mat.varying if hasattr(kind, "mat") else getattr(kind, "vma", frozenset())
