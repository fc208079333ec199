"""Checks of the arguments and results of the functions that transforms call."""

from __future__ import annotations

from typing import Any

from oneflow.graph.pytree import TreeConstant, TreeContainer, tree_flatten
from oneflow.tensor.tensor import Tensor

Argnums = int | tuple[int, ...]


def flat(tree: Any, where: str) -> tuple[list[Tensor], Any]:
    """The tensors of a tree, and its structure; `where` is its name for errors."""
    tensors: list[Tensor] = []
    return tensors, tree_flatten(tree, tensors, where)


def tensors_of(tree: Any, name: str) -> tuple[list[Tensor], Any]:
    """The tensors of a tree that is made of tensors alone, and its structure.

    Raises:
        RuntimeError: there is something else in it.
    """
    tensors, structure = flat(tree, name)
    constant = _constant_in(structure)
    if constant is not None:
        raise RuntimeError(
            f"{name}: expected tensors and structures of tensors, got {constant.value!r}"
        )
    return tensors, structure


def check_argnums(argnums: Any, count: int, name: str) -> None:
    """Check by which of `count` arguments to differentiate.

    Raises:
        RuntimeError: `argnums` is neither a number nor a tuple of different ones, or there are not
            that many arguments.
    """
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if not numbers or not all(isinstance(number, int) for number in numbers):
        raise RuntimeError(
            f"{name}: `argnums` must be int or a tuple of at least one int, got {argnums!r}"
        )
    if outside := [number for number in numbers if not -count <= number < count]:
        raise RuntimeError(f"{name}: `argnums` holds {outside[0]}, but only {count} are given")
    if len({number % count for number in numbers}) < len(numbers):
        raise RuntimeError(f"{name}: `argnums` must be unique, got {argnums}")


def value_and_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    """Return the value of a function's result, and with `has_aux` the auxiliary part, else None.

    Raises:
        RuntimeError: it is no tuple of two, or what is beside the value is not made of tensors.
    """
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(
            f"{name}: with `has_aux=True` the function must return a tuple of its value and "
            f"something else, got a {type(result).__name__}"
        )
    tensors_of(result[1], name)
    return result


def outputs_of(value: Any, name: str) -> tuple[list[Tensor], Any]:
    """The tensors of a function's value, and its structure.

    Raises:
        RuntimeError: it has none, or is not made of tensors alone.
    """
    tensors, structure = tensors_of(value, name)
    if not tensors:
        raise RuntimeError(f"{name}: the function must return at least one tensor, got {value!r}")
    return tensors, structure


def check_form(nested: Any, structure: Any, name: str, what: str) -> list[Tensor]:
    """The tensors of something that must have a structure.

    Raises:
        RuntimeError: it has another one.
    """
    tensors, actual = tensors_of(nested, name)
    if actual != structure:
        raise RuntimeError(f"{name}: {what} must have the same structure, got {nested!r}")
    return tensors


def check_primals(primals: Any) -> None:
    """Check the arguments of the function that `func.jvp` differentiates.

    Raises:
        RuntimeError: they are no tuple of tensors, or of structures of tensors.
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"func.jvp: `primals` must be a tuple, got a {type(primals).__name__}")
    if not tensors_of(primals, "func.jvp")[0]:
        raise RuntimeError(f"func.jvp: `primals` must hold at least one tensor, got {primals!r}")


def _constant_in(structure: Any) -> TreeConstant | None:
    if isinstance(structure, TreeConstant):
        return structure
    items = structure.items if isinstance(structure, TreeContainer) else ()
    return next((constant for item in items if (constant := _constant_in(item)) is not None), None)
