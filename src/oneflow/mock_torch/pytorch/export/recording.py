"""``torch.export.export``: recording a module."""

from __future__ import annotations

from typing import Any

from oneflow import nn
from oneflow.mock_torch.pytorch.export.dynamic_shapes import argument_conditions
from oneflow.mock_torch.pytorch.export.examples import AdditionalInputs
from oneflow.mock_torch.pytorch.export.exported_program import ExportedProgram, make_program
from oneflow.mock_torch.pytorch.utils.data_class_nodes import (
    register_dataclass as register_fields,
)


def export(
    mod: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Record a module called with example arguments as a program.

    The program is that of a copy of the module, in the mode that the module has, with the same
    parameters and buffers. Sizes that may change are not recorded as such: the program is recorded
    again for other ones.

    Args:
        mod: the module.
        args: the arguments of the example.
        kwargs: further ones, by name.
        dynamic_shapes: which sizes of tensors may be others than in the example, by the names of
            the arguments or in their order: for each a dict from dimensions to `Dim`, or None; or
            `AdditionalInputs`, further examples of which it takes the sizes.
        strict: accepted; what Python computes without tensors is a constant either way.
        preserve_module_call_signature: accepted.
        prefer_deferred_runtime_asserts_over_guards: accepted.

    Raises:
        ValueError: `mod` is no module, or `dynamic_shapes` does not fit the arguments.
        TypeError: `args` is no tuple.
    """
    if not isinstance(mod, nn.Module):
        raise ValueError(
            f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod).__name__}"
        )
    if not isinstance(args, tuple):
        raise TypeError(f"`args` must be a tuple of example arguments, got {type(args).__name__}")
    keywords = dict(kwargs or {})
    shapes = dynamic_shapes
    if isinstance(dynamic_shapes, AdditionalInputs):
        shapes = dynamic_shapes.dynamic_shapes(mod, args, keywords)
    conditions = argument_conditions(mod.forward, args, keywords, shapes)
    program = make_program(mod, args, keywords, conditions)
    if isinstance(dynamic_shapes, AdditionalInputs):
        dynamic_shapes.verify(program)
    return program


def draft_export(
    mod: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    **options: Any,
) -> ExportedProgram:
    """Record a module as `export` does: nothing that PyTorch's drafts work around stops it here.

    Args:
        mod: the module.
        args: the arguments of the example.
        kwargs: further ones, by name.
        options: those of `export`.
    """
    return export(mod, args, kwargs, **options)


def register_dataclass(cls: type, *, serialized_type_name: str | None = None) -> None:
    """Let programs take and return the objects of a data class.

    Args:
        cls: the class, whose fields may be None, tensors or containers of them.
        serialized_type_name: accepted.

    Raises:
        ValueError: it is no data class, or registered already.

    Example:
        >>> import dataclasses
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> @dataclasses.dataclass
        ... class Point:
        ...     x: torch.Tensor
        >>> torch.export.register_dataclass(Point)
        >>> torch.utils._pytree.tree_leaves(Point(3))
        [3]
    """
    register_fields(cls, serialized_type_name=serialized_type_name)
