"""The types of attributes, as the schemas of ONNX state them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import onnx
from onnx import AttributeProto, defs

# Exporters write integers where numbers are wanted, which loses nothing.
_NUMBERS = {
    AttributeProto.INT: "a number",
    AttributeProto.FLOAT: "a number",
    AttributeProto.INTS: "several numbers",
    AttributeProto.FLOATS: "several numbers",
}


def check_attribute_types(node: onnx.NodeProto, opset: int) -> None:
    """Refuse an attribute of another type than the operator's schema has.

    Raises:
        ValueError: there is such an attribute.
    """
    types = _types(node.op_type, opset, node.domain)
    for attribute in node.attribute:
        kind = _text(types.get(attribute.name, attribute.type))
        if _text(attribute.type) != kind:
            raise ValueError(
                f"the attribute `{attribute.name}` of `{node.op_type}` must be {kind}, and is"
                f" {_text(attribute.type)}"
            )


def _text(kind: Any) -> str:
    return _NUMBERS.get(kind) or f"of the type {AttributeProto.AttributeType.Name(kind)}"


@functools.lru_cache(maxsize=1024)
def _types(name: str, opset: int, domain: str) -> Mapping[str, int]:
    """The types of an operator's attributes; empty if ONNX does not define the operator."""
    try:
        schema: Any = defs.get_schema(name, opset, "" if domain == "ai.onnx" else domain)
    except defs.SchemaError:
        return {}
    return {key: int(attribute.type.value) for key, attribute in schema.attributes.items()}
