"""`call`: a JAX function as an operator."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from oneflow.base.dtype import from_numpy_dtype, int64, uint64
from oneflow.base.x64 import has_x64, x64
from oneflow.jax.arrays import from_jax, is_key, wide_integer_error
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call as call_primitive
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


def call(jax_function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of JAX with tensors; it is recorded as one operator.

    Gradients of any order are those of `jax.vjp`. The function must be pure, and is traced once for
    each combination of shapes: define it once, not in every step. It sees types of 32 bits where
    JAX's setting says so. It gets global tensors whole.

    Args:
        jax_function: takes and returns arrays, nested as JAX's trees are.
        args: tensors, arrays of JAX and NumPy, and keys of `jax.random`, nested; anything else is a
            constant of the program and must be hashable.
        kwargs: likewise.

    Returns:
        What the function returns, with tensors in place of arrays; a key is a tensor of its words,
        which `jax.random` takes as well.

    Raises:
        TypeError: it is no function, there is no tensor among the arguments, an array is not
            one of numbers, or a constant is not hashable.
        RuntimeError: JAX cannot trace the function; the message says why.
        OverflowError: the function sees types of 32 bits, and an integer is beyond them.

    Example:
        >>> import jax
        >>> import oneflow as flow
        >>> x = flow.tensor([0.0, 1.0], requires_grad=True)
        >>> flow.jax.call(jax.nn.softmax, x, axis=0)[1].backward()
        >>> x.grad
        tensor([-0.1966,  0.1966], dtype=oneflow.float32)
    """
    if not callable(jax_function):
        raise TypeError(f"`call` takes a function of JAX, got {type(jax_function).__name__}")
    leaves, structure = jax.tree.flatten((args, kwargs))
    tensors, constants = [], []
    has_tensor = False
    for leaf in leaves:
        if isinstance(leaf, Tensor):
            has_tensor = True
            tensors.append(leaf)
            constants.append(_TENSOR)
        elif is_key(leaf):
            tensors.append(from_jax(jax.random.key_data(leaf)))
            constants.append(_Key(jax.random.key_impl(leaf)))
        elif isinstance(leaf, jax.Array | np.ndarray):
            tensors.append(_tensor_of(leaf))
            constants.append(_TENSOR)
        elif isinstance(leaf, Hashable):
            constants.append((type(leaf), leaf))
        else:
            name = type(leaf).__name__
            raise TypeError(f"`call` takes tensors, arrays and hashable constants, got {name}")
    if not has_tensor:
        raise TypeError("`call` needs a tensor among its arguments; call the function itself")
    is_64_bit = has_x64()
    is_32_bit = not is_64_bit and any(unwrap(tensor).spec.dtype in _WIDE for tensor in tensors)
    operator = _operator(jax_function, is_32_bit)
    attributes = {
        "structure": structure,
        "constants": tuple(constants),
        "is_64_bit": is_64_bit,
    }
    try:
        results = call_primitive(operator.primitive, *tensors, **attributes)
    except RuntimeError as error:
        wide = [leaf for leaf in leaves if type(leaf) is int and leaf.bit_length() > 31]
        if is_64_bit or not wide or not isinstance(error.__cause__, OverflowError):
            raise
        raise wide_integer_error(wide[0]) from error
    results = results if isinstance(results, tuple) else (results,)
    return jax.tree.unflatten(operator.structure_of_results(tensors, attributes), results)


def _tensor_of(array: jax.Array | np.ndarray) -> Tensor:
    """A tensor of an array, all bits of NumPy's numbers included."""
    try:
        from_numpy_dtype(array.dtype)
    except TypeError as error:
        raise TypeError(
            "`call` takes tensors, arrays of numbers and hashable constants, got "
            f"{type(array).__name__} of {array.dtype}; {error}"
        ) from None
    with x64():
        return from_jax(jnp.asarray(array))


_TENSOR = ()
_WIDE = (int64, uint64)


@dataclass(frozen=True)
class _Key:
    """An argument that is a key of `jax.random`; a tensor has its words."""

    impl: Any


class _Operator:
    """A function of JAX as a primitive.

    Attributes:
        primitive: its attributes are the structure of the arguments, the constants among them, and
            the setting of JAX for types of 64 bits.
    """

    def __init__(self, function: Callable[..., Any], is_32_bit: bool) -> None:
        """Initialise it.

        Args:
            function: the function of JAX.
            is_32_bit: integers of 64 bits are made ones of 32, and checked before.
        """
        self._function = function
        name = getattr(function, "__name__", type(function).__name__)
        # It runs as JAX runs it, also in a program that is seen for the first time.
        self.primitive = Primitive(
            f"jax_{name.strip('<>')}", self._flat, operands="*arrays", interpret=False
        )
        if is_32_bit:
            self.primitive.checked(_find_wide_integer, _wide_integer_error)
        self._structures: dict[Hashable, Any] = {}

    def _results(
        self, arrays: tuple, structure: Any, constants: tuple, is_64_bit: bool
    ) -> tuple[list[Any], Any]:
        remaining = iter(arrays)
        with jax.enable_x64(is_64_bit), jax.disable_jit(False):
            of_setting = jax.dtypes.canonicalize_dtype
            leaves = []
            for constant in constants:
                if isinstance(constant, _Key):
                    leaves.append(jax.random.wrap_key_data(next(remaining), impl=constant.impl))
                elif constant == _TENSOR:
                    array = next(remaining)
                    leaves.append(array.astype(of_setting(array.dtype)))
                else:
                    leaves.append(constant[1])
            args, kwargs = jax.tree.unflatten(structure, leaves)
            results, structure_of_results = jax.tree.flatten(self._function(*args, **kwargs))
            return [*map(_array_of_result, results)], structure_of_results

    def _flat(self, *arrays: Any, structure: Any, constants: tuple, is_64_bit: bool) -> Any:
        results, _ = self._results(arrays, structure, constants, is_64_bit)
        return results[0] if len(results) == 1 else tuple(results)

    def structure_of_results(self, tensors: list[Tensor], attributes: dict[str, Any]) -> Any:
        """The structure that the function returns for such arguments."""
        specs = tuple([unwrap(tensor).spec for tensor in tensors])
        key = (specs, *attributes.values())
        result_structure = self._structures.get(key)
        if result_structure is None:
            shapes = [jax.ShapeDtypeStruct(spec.shape, spec.dtype.numpy) for spec in specs]
            specs = []

            def keep_structure(*arrays: Any) -> Any:
                results, structure = self._results(arrays, **attributes)
                specs.append(structure)
                return results

            with x64():
                jax.eval_shape(keep_structure, *shapes)
            result_structure = self._structures[key] = specs[0]
        return result_structure


@functools.lru_cache(maxsize=1024)
def _operator(function: Callable[..., Any], is_32_bit: bool) -> _Operator:
    return _Operator(function, is_32_bit)


def _array_of_result(result: Any) -> Any:
    return jax.random.key_data(result) if is_key(result) else jnp.asarray(result)


def _find_wide_integer(*arrays: Any, **_: Any) -> tuple[Any, Any]:
    """An integer that does not fit into 32 bits: if there is one, and which."""
    is_bad, value = jnp.asarray(False), jnp.zeros((), jnp.int64)
    for array in arrays:
        if array.dtype in (jnp.int64, jnp.uint64) and array.size:
            limits = jnp.iinfo(jnp.int32 if array.dtype == jnp.int64 else jnp.uint32)
            for extreme in (array.min(), array.max()):
                is_out_of_range = (extreme < limits.min) | (extreme > limits.max)
                value = jnp.where(is_out_of_range, extreme.astype(jnp.int64), value)
                is_bad |= is_out_of_range
    return is_bad, value


def _wide_integer_error(value: int, attributes: Any, in_specs: Any) -> Exception:
    return wide_integer_error(value)
