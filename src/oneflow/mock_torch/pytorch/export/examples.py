"""``torch.export.AdditionalInputs``: examples that show which sizes of arguments change."""

from __future__ import annotations

import inspect
from typing import Any

from oneflow import Tensor, nn
from oneflow.mock_torch.pytorch.export.dynamic_shapes import Dim
from oneflow.mock_torch.pytorch.export.exported_program import ExportedProgram
from oneflow.mock_torch.pytorch.utils._pytree import tree_flatten, tree_unflatten


class AdditionalInputs:
    """Further examples of the arguments of a program, whose sizes may be all that differs.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> examples = torch.export.AdditionalInputs()
        >>> examples.add((torch.ones(7, 2),))
        >>> layer = torch.nn.Linear(2, 1)
        >>> program = torch.export.export(layer, (torch.ones(4, 2),), dynamic_shapes=examples)
        >>> tuple(program.module()(torch.ones(9, 2)).shape)
        (9, 1)
    """

    def __init__(self) -> None:
        self._examples: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        """Add an example.

        Raises:
            AssertionError: `args` is no tuple, or `kwargs` no dict.
        """
        if type(args) is not tuple:
            raise AssertionError(f"`args` must be a tuple, got {args!r}")
        if kwargs is not None and type(kwargs) is not dict:
            raise AssertionError(f"`kwargs` must be a dict, got {kwargs!r}")
        self._examples.append((args, kwargs or {}))

    def dynamic_shapes(
        self, m: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return which sizes differ between the examples, by the names of the arguments.

        Raises:
            ValueError: something else than a size differs.
        """
        signature = inspect.signature(m.forward)
        examples = [(args, kwargs or {}), *self._examples]
        bound = [dict(signature.bind(*a, **k).arguments) for a, k in examples]
        (leaves, structure), *others = [tree_flatten(arguments) for arguments in bound]
        if any(other != structure for _, other in others):
            raise ValueError("the examples must have the same structure")
        rows = zip(leaves, *[other for other, _ in others], strict=True)
        return tree_unflatten([_changes(*row) for row in rows], structure)

    def verify(self, ep: ExportedProgram) -> None:
        """Check that a program takes all examples.

        Raises:
            AssertionError: it does not.
        """
        for args, kwargs in self._examples:
            ep.check_arguments(args, kwargs)


def _changes(first: Any, *others: Any) -> Any:
    """Return the sizes of a tensor, `Dim.DYNAMIC` where they differ; None for what is no tensor."""
    if not isinstance(first, Tensor):
        if any(type(other) is not type(first) or other != first for other in others):
            raise ValueError(f"values that are no tensors must be equal, got {(first, *others)}")
        return None
    if any(not isinstance(other, Tensor) or other.ndim != first.ndim for other in others):
        raise ValueError("tensors of the examples must have as many dimensions")
    sizes = zip(first.shape, *[other.shape for other in others], strict=True)
    return tuple([None if len(set(values)) == 1 else Dim.DYNAMIC for values in sizes])


__all__ = ["AdditionalInputs"]
