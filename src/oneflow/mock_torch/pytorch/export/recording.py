"""``torch.export.export``: recording a module."""

from __future__ import annotations

from typing import Any

from oneflow import nn
from oneflow.mock_torch.pytorch.export.dynamic_shapes import argument_conditions
from oneflow.mock_torch.pytorch.export.exported_program import ExportedProgram, make_program


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
            the arguments or in their order: for each a dict from dimensions to `Dim`, or None.
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
    conditions = argument_conditions(mod.forward, args, keywords, dynamic_shapes)
    return make_program(mod, args, keywords, conditions)
