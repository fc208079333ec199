"""Operators that ONNX defines by a function of other operators: their bodies, bound to a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import onnx
from onnx import defs, helper

import oneflow as flow
from oneflow_onnx.x2oneflow.files import MOST_LEVELS
from oneflow_onnx.x2oneflow.values import Value, element_type_of

# A whole model may call functions with this many nodes in all.
_MOST_FUNCTION_NODES = 100_000

# Prepares a function called by a node, some levels inside the model.
PrepareFunction = Callable[[onnx.FunctionProto, onnx.NodeProto, int], Any]


class FunctionExpansion:
    """An operator's body, prepared for each choice of the operands' element types and ranks."""

    def __init__(
        self, schema: Any, node: onnx.NodeProto, opset: int, prepare_function: PrepareFunction
    ) -> None:
        self._schema = schema
        self._node = node
        self._opset = opset
        self._prepare_function = prepare_function
        self._prepared: dict[Any, Any] = {}

    @classmethod
    def find(
        cls, node: onnx.NodeProto, opset: int, prepare_function: PrepareFunction
    ) -> FunctionExpansion | None:
        """Return the expansion of `node`, or None if its operator has no body."""
        try:
            # The stubs of onnx do not know what a schema tells of functions.
            schema: Any = defs.get_schema(node.op_type, opset, node.domain)
        except defs.SchemaError:
            return None
        if schema.has_function or schema.has_context_dependent_function:
            return cls(schema, node, opset, prepare_function)
        return None

    def graph_for(self, operands: Sequence[Value]) -> Any:
        """Return the body prepared for these operands."""
        types = [_type_of(value) for value in operands]
        key = tuple(t.SerializeToString() for t in types)
        if key not in self._prepared:
            function = self._body(types)
            complete = _with_defaults(self._node, self._schema)
            self._prepared[key] = self._prepare_function(function, complete, 1)
        return self._prepared[key]

    def _body(self, types: list[onnx.TypeProto]) -> onnx.FunctionProto:
        schema = self._schema
        if schema.has_function:
            version = _reached(schema.function_opset_versions, self._opset)
            return _parsed(schema.get_function_with_opset_version(version))
        version = _reached(schema.context_dependent_function_opset_versions, self._opset)
        serialized = schema.get_context_dependent_function_with_opset_version(
            version, self._node.SerializeToString(), [t.SerializeToString() for t in types]
        )
        if not serialized:
            raise NotImplementedError(
                f"ONNX gives `{self._node.op_type}` no body for operands of these types"
            )
        return _parsed(serialized)


def check_expansion(
    nodes: Iterable[onnx.NodeProto], functions: Mapping[tuple[str, str], onnx.FunctionProto]
) -> None:
    """Refuse a graph that becomes too long where functions are written out.

    Functions that call others twice double the nodes with each level, so they are counted first.

    Raises:
        ValueError: there are too many nodes, or a function calls itself.
    """
    counts: dict[tuple[str, str], int] = {}

    def count(nodes: Iterable[onnx.NodeProto], level: int) -> int:
        total = 0
        for node in nodes:
            key = (node.domain, node.op_type)
            if key in functions and key not in counts:
                if level >= MOST_LEVELS:
                    raise ValueError(
                        f"functions are more than {MOST_LEVELS} levels deep, or a function calls"
                        " itself"
                    )
                counts[key] = count(functions[key].node, level + 1)
            total += counts.get(key, 0) + (level > 0)
            graphs = (attribute.g for attribute in node.attribute if attribute.HasField("g"))
            total += sum(count(graph.node, level) for graph in graphs)
        return total

    if count(nodes, 0) > _MOST_FUNCTION_NODES:
        raise ValueError(
            f"the functions of the model, written out, have more than {_MOST_FUNCTION_NODES} nodes"
        )


def bind_attributes(function: onnx.FunctionProto, call: onnx.NodeProto) -> list[onnx.NodeProto]:
    """Return the nodes of `function` with the attributes of `call` in place of its own."""
    bound = {a.name: a for a in function.attribute_proto}
    bound.update((a.name, a) for a in call.attribute)
    return [_bind(node, bound) for node in function.node]


def _bind(node: onnx.NodeProto, bound: dict[str, onnx.AttributeProto]) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name and attribute.ref_attr_name not in bound:
            continue
        bound_attribute = copy.attribute.add()
        bound_attribute.CopyFrom(
            bound[attribute.ref_attr_name] if attribute.ref_attr_name else attribute
        )
        bound_attribute.name = attribute.name
        if bound_attribute.type == onnx.AttributeProto.GRAPH:
            inner = [_bind(n, bound) for n in bound_attribute.g.node]
            del bound_attribute.g.node[:]
            bound_attribute.g.node.extend(inner)
    return copy


def _with_defaults(node: onnx.NodeProto, schema: defs.OpSchema) -> onnx.NodeProto:
    """Return `node` with the default values of the attributes that it does not give."""
    complete = onnx.NodeProto()
    complete.CopyFrom(node)
    names = {attribute.name for attribute in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in names and attribute.default_value.type:
            complete.attribute.add().CopyFrom(attribute.default_value)
    return complete


def _parsed(function: bytes | onnx.FunctionProto) -> onnx.FunctionProto:
    if isinstance(function, onnx.FunctionProto):
        return function
    parsed = onnx.FunctionProto()
    parsed.ParseFromString(function)
    return parsed


def _reached(versions: Sequence[int], opset: int) -> int:
    return max((v for v in versions if v <= opset), default=max(versions))


def _type_of(value: Value) -> onnx.TypeProto:
    """Return the type of a value: element type and rank of a tensor."""
    if value is None:
        return onnx.TypeProto()
    if isinstance(value, list):
        element = _type_of(value[0]) if value else onnx.TypeProto()
        return helper.make_sequence_type_proto(element)
    rank = value.ndim
    shape = list(value.shape) if isinstance(value, flow.Tensor) else [None] * rank
    return helper.make_tensor_type_proto(element_type_of(value), shape)
