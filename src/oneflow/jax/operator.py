"""`call`: a JAX function as an operator."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any

import jax
import jax.numpy as jnp

from oneflow.base.x64 import has_x64, x64
from oneflow.jax.arrays import from_jax
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
        args: tensors and arrays, nested; anything else is a constant of the program and must be
            hashable.
        kwargs: likewise.

    Returns:
        What the function returns, with tensors in place of arrays.

    Raises:
        TypeError: there is no tensor among the arguments, or a constant is not hashable.
        RuntimeError: JAX cannot trace the function; the message says why.

    Example:
        >>> import jax
        >>> import oneflow as flow
        >>> x = flow.tensor([0.0, 1.0], requires_grad=True)
        >>> flow.jax.call(jax.nn.softmax, x, axis=0)[1].backward()
        >>> x.grad
        tensor([-0.1966,  0.1966], dtype=oneflow.float32)
    """
    leaves, structure = jax.tree.flatten((args, kwargs))
    tensors, constants = [], []
    for leaf in leaves:
        is_tensor = isinstance(leaf, Tensor | jax.Array)
        if is_tensor:
            tensors.append(leaf if isinstance(leaf, Tensor) else from_jax(leaf))
        elif not isinstance(leaf, Hashable):
            raise TypeError(
                f"`call` takes tensors, arrays of JAX and constants, got {type(leaf).__name__}"
            )
        constants.append(_TENSOR if is_tensor else (type(leaf), leaf))
    if not tensors:
        raise TypeError("`call` needs a tensor among its arguments; call the function itself")
    operator = _operator(jax_function)
    attributes = {
        "structure": structure,
        "constants": tuple(constants),
        "is_64_bit": has_x64(),
    }
    results = call_primitive(operator.primitive, *tensors, **attributes)
    results = results if isinstance(results, tuple) else (results,)
    return jax.tree.unflatten(operator.structure_of_results(tensors, attributes), results)


_TENSOR = ()


class _Operator:
    """A function of JAX as a primitive.

    Attributes:
        primitive: its attributes are the structure of the arguments, the constants among them, and
            the setting of JAX for types of 64 bits.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        name = getattr(function, "__name__", type(function).__name__)
        # It runs as JAX runs it, also in a program that is seen for the first time.
        self.primitive = Primitive(
            f"jax_{name.strip('<>')}", self._flat, operands="*arrays", interpret=False
        )
        self._structures: dict[Hashable, Any] = {}

    def _results(
        self, arrays: tuple, structure: Any, constants: tuple, is_64_bit: bool
    ) -> tuple[list[Any], Any]:
        remaining = iter(arrays)
        with jax.enable_x64(is_64_bit), jax.disable_jit(False):
            of_setting = jax.dtypes.canonicalize_dtype
            leaves = []
            for constant in constants:
                if constant == _TENSOR:
                    array = next(remaining)
                    leaves.append(array.astype(of_setting(array.dtype)))
                else:
                    leaves.append(constant[1])
            args, kwargs = jax.tree.unflatten(structure, leaves)
            results, structure_of_results = jax.tree.flatten(self._function(*args, **kwargs))
            return [jnp.asarray(result) for result in results], structure_of_results

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
            structures = []

            def keep_structure(*arrays: Any) -> Any:
                results, structure = self._results(arrays, **attributes)
                structures.append(structure)
                return results

            with x64():
                jax.eval_shape(keep_structure, *shapes)
            result_structure = self._structures[key] = structures[0]
        return result_structure


@functools.lru_cache(maxsize=1024)
def _operator(function: Callable[..., Any]) -> _Operator:
    return _Operator(function)
