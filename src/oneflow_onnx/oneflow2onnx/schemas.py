"""Questions to ONNX's schemas: from which opset on an operator exists, and takes a type."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx

# The oldest opset that is written.
MIN_OPSET = 9
# Types in which an operator can be computed that does not take the given one.
_WIDER = {
    "bool": ("int32", "float32"),
    "int8": ("int32", "int64", "float32"),
    "uint8": ("int32", "int64", "float32"),
    "int16": ("int32", "int64", "float32"),
    "uint16": ("int32", "int64", "float32"),
    "int32": ("int64", "float64"),
    "uint32": ("int64", "float64"),
    "int64": ("float64",),
    "float16": ("float32",),
    "bfloat16": ("float32",),
}
_ONNX_NAMES = {"float32": "float", "float64": "double"}


#: The opset from which `ScatterND` and `ScatterElements` combine elements in this way.
SCATTER_REDUCTIONS = {"add": 16, "mul": 16, "max": 18, "min": 18}


class NeedsOpset(Exception):
    """An operator can only be written in a later opset.

    Attributes:
        opset: the lowest that has it.
        reason: the operator and the type it is for.
    """

    def __init__(self, opset: int, reason: str) -> None:
        super().__init__(f"{reason} needs opset {opset}")
        self.opset = opset
        self.reason = reason


def latest_opset() -> int:
    """The newest opset that the installed `onnx` knows and has released."""
    return onnx.defs.onnx_opset_version()


def require_operator(name: str, opset: int) -> None:
    """Check that an operator exists in an opset.

    Raises:
        NeedsOpset: it came later.
    """
    versions = [schema.since_version for schema in _history(name)]
    if min(versions) > opset:
        raise NeedsOpset(min(versions), f"`{name}`")


def compute_type(name: str, opset: int, position: int, dtype: np.dtype) -> np.dtype:
    """The type in which an operator takes its input at a position: the given one, or a wider one.

    Raises:
        NeedsOpset: a later opset takes the given one.
        TypeError: it is never taken, and there is no wider one.
    """
    if _takes(name, opset, position, dtype.name):
        return dtype
    for schema in _history(name):
        if schema.since_version > opset and _takes(
            name, schema.since_version, position, dtype.name
        ):
            raise NeedsOpset(schema.since_version, f"`{name}` of {dtype}")
    for wider in _WIDER.get(dtype.name, ()):
        if _takes(name, opset, position, wider):
            return np.dtype(wider)
    raise TypeError(f"ONNX's `{name}` takes no {dtype}")


def require_result(name: str, opset: int, position: int, dtype: np.dtype) -> None:
    """Check that an operator can give a type as its result at a position.

    Raises:
        NeedsOpset: it can in a later opset.
        TypeError: it never can.
    """
    if _can_return(name, opset, position, dtype.name):
        return
    for schema in _history(name):
        later = schema.since_version
        if later > opset and _can_return(name, later, position, dtype.name):
            raise NeedsOpset(later, f"`{name}` to {dtype}")
    raise TypeError(f"ONNX's `{name}` gives no {dtype}")


def type_parameters(name: str, opset: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The type parameters of an operator's inputs and outputs; the last input may repeat."""
    schema = onnx.defs.get_schema(name, opset)
    return (
        tuple(parameter.type_str for parameter in schema.inputs),
        tuple(parameter.type_str for parameter in schema.outputs),
    )


@functools.cache
def _history(name: str) -> tuple[onnx.defs.OpSchema, ...]:
    schemas = [
        schema
        for schema in onnx.defs.get_all_schemas_with_history()
        if schema.name == name and not schema.domain
    ]
    if not schemas:
        raise KeyError(f"ONNX has no operator `{name}`")
    return tuple(sorted(schemas, key=lambda schema: schema.since_version))


@functools.cache
def _takes(name: str, opset: int, position: int, dtype_name: str) -> bool:
    schema = onnx.defs.get_schema(name, opset)
    return _is_allowed(schema, schema.inputs, position, dtype_name)


@functools.cache
def _can_return(name: str, opset: int, position: int, dtype_name: str) -> bool:
    schema = onnx.defs.get_schema(name, opset)
    return _is_allowed(schema, schema.outputs, position, dtype_name)


def _is_allowed(schema: Any, parameters: Sequence[Any], position: int, dtype_name: str) -> bool:
    type_name = parameters[min(position, len(parameters) - 1)].type_str
    allowed = {
        constraint.type_param_str: constraint.allowed_type_strs
        for constraint in schema.type_constraints
    }
    return f"tensor({_ONNX_NAMES.get(dtype_name, dtype_name)})" in allowed.get(
        type_name, [type_name]
    )
