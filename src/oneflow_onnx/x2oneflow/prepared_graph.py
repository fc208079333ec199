"""ONNX's graphs prepared for execution, with each node's operator looked up."""

from __future__ import annotations

import graphlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from oneflow_onnx.declared_buffers import declared_buffers
from oneflow_onnx.x2oneflow.attribute_types import check_attribute_types
from oneflow_onnx.x2oneflow.files import MOST_LEVELS
from oneflow_onnx.x2oneflow.function_bodies import (
    FunctionExpansion,
    bind_attributes,
    check_expansion,
)
from oneflow_onnx.x2oneflow.registry import Operator, find_operator
from oneflow_onnx.x2oneflow.values import check_size


@dataclass(eq=False)
class NodeCall:
    """A node with its operator, or with the function it stands for.

    Attributes:
        operator: what computes the results; None for a function.
        body: the graph of a function of the model.
        expansion: the bodies of an operator that ONNX defines by a function.
    """

    node: onnx.NodeProto
    opsets: Mapping[str, int]
    attributes: dict[str, Any]
    operator: Operator | None = None
    body: PreparedGraph | None = None
    expansion: FunctionExpansion | None = None

    @property
    def opset(self) -> int:
        """The version of the node's operator set."""
        return self.opsets.get(self.node.domain, 1)

    @property
    def label(self) -> str:
        """The operator and the name of the node, for messages."""
        name = self.node.name or ", ".join(self.node.output)
        return f"{self.node.op_type} ({name})"

    @cached_property
    def context(self) -> frozenset[str]:
        """The facts about the call that the operator's function asks for."""
        return self.operator.context if self.operator else frozenset()

    def inner_graphs(self) -> Iterator[PreparedGraph]:
        """The graphs inside this call."""
        if self.body is not None:
            yield self.body
        for value in self.attributes.values():
            if isinstance(value, PreparedGraph):
                yield value

    def reads(self) -> set[str]:
        """The names of the values that this call reads, also in its subgraphs."""
        names = {name for name in self.node.input if name}
        for value in self.attributes.values():
            if isinstance(value, PreparedGraph):
                names |= value.free_names()
        return names


@dataclass(eq=False)
class PreparedGraph:
    """A graph or a function: inputs, calls in an order that can be executed, outputs, constants.

    Attributes:
        graph: a subgraph in ONNX; None for a model or a function.
        opsets: versions of operator sets by domain.
        literals: the names of constants that nodes give, and not initializers.
        buffers: the names of initializers that are not trained; None if the model does not say.
    """

    name: str
    inputs: list[str]
    outputs: list[str]
    calls: list[NodeCall]
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    graph: onnx.GraphProto | None = None
    opsets: Mapping[str, int] = field(default_factory=dict)
    literals: set[str] = field(default_factory=set)
    buffers: frozenset[str] | None = None

    def free_names(self) -> set[str]:
        """The names of values that come from around this graph."""
        read = set().union(*(call.reads() for call in self.calls)) | set(self.outputs)
        computed = {name for call in self.calls for name in call.node.output}
        return read - computed - set(self.inputs) - self.constants.keys() - {""}

    def copies_from_around(self, inputs: Collection[int] = ()) -> bool:
        """True if the first output is a value from around this graph, a constant, or in `inputs`.

        The nodes in between may copy or cast it.
        """
        nodes = {name: call.node for call in self.calls for name in call.node.output}
        name = self.outputs[0]
        while name in nodes and nodes[name].op_type in ("Identity", "Cast"):
            name = nodes[name].input[0]
        others = {source for place, source in enumerate(self.inputs) if place not in inputs}
        return name not in nodes and name not in others

    @cached_property
    def dead_after(self) -> list[list[str]]:
        """The names, by call, of the values that no later call reads."""
        needed = set(self.outputs)
        dead: list[list[str]] = []
        for call in reversed(self.calls):
            seen = call.reads() | {name for name in call.node.output if name}
            dead.append(sorted(seen - needed))
            needed |= seen
        return dead[::-1]

    def walk(self) -> Iterator[tuple[PreparedGraph, NodeCall]]:
        """Every call, also of subgraphs and functions, with the graph it is in."""
        for call in self.calls:
            yield self, call
            for prepared in call.inner_graphs():
                yield from prepared.walk()


class GraphPreparer:
    """Prepares the graphs of one model, and collects the unsupported operators."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._functions = {(f.domain, f.name): f for f in model.functions}
        self._opsets = opset_versions(model.opset_import)
        self._graph = model.graph
        self._by_pytorch = model.producer_name == "pytorch"
        self._buffers = declared_buffers(model)
        self.unsupported: list[str] = []

    def prepare_model(self) -> PreparedGraph:
        """Return a model's graph, prepared.

        Raises:
            NotImplementedError: operators are not supported; the message lists all of them.
            ValueError: the graph has a cycle, reads what nothing makes, or is nested too deeply.
        """
        check_expansion(self._graph.node, self._functions)
        prepared = self.prepare_graph(self._graph, self._opsets, 0)
        prepared.buffers = self._buffers
        self._check_supported()
        if unknown := sorted(prepared.free_names()):
            raise ValueError(f"the graph reads values that nothing makes: {unknown}")
        return prepared

    def prepare_body(
        self, function: onnx.FunctionProto, node: onnx.NodeProto, level: int
    ) -> PreparedGraph:
        """Return the body that ONNX gives an operator, prepared once it is needed."""
        prepared = self.prepare_function(function, node, level)
        self._check_supported()
        return prepared

    def prepare_call(self, node: onnx.NodeProto) -> NodeCall:
        """Return the call of a node that stands alone.

        Raises:
            NotImplementedError: its operator is not supported.
        """
        call = self._prepare_node(node, self._opsets, 0)
        self._check_supported()
        assert call is not None
        return call

    def _check_supported(self) -> None:
        if self.unsupported:
            raise NotImplementedError(
                f"{len(self.unsupported)} nodes are not supported:\n  "
                + "\n  ".join(self.unsupported)
                + "\nRegister handlers with `oneflow_onnx.x2oneflow.handler.onnx_op`, or export the"
                " model with operators that are supported (docs/onnx_import.md)."
            )

    def prepare_graph(
        self, graph: onnx.GraphProto, opsets: Mapping[str, int], level: int
    ) -> PreparedGraph:
        """Prepare `graph`, which is `level` levels inside the model."""
        inputs, outputs = ([value.name for value in x] for x in (graph.input, graph.output))
        prepared = PreparedGraph(
            graph.name, inputs, outputs, [], graph=graph if level else None, opsets=opsets
        )
        for tensor in graph.initializer:
            prepared.constants[tensor.name] = _host_array(tensor)
        for sparse in graph.sparse_initializer:
            prepared.constants[sparse.values.name] = _dense_array(sparse)
        self._add_nodes(prepared, graph.node, opsets, level)
        return prepared

    def prepare_function(
        self, function: onnx.FunctionProto, node: onnx.NodeProto, level: int
    ) -> PreparedGraph:
        """Prepare `function` with the attributes of `node`, a call of it."""
        prepared = PreparedGraph(function.name, list(function.input), list(function.output), [])
        opsets = {**self._opsets, **opset_versions(function.opset_import)}
        self._add_nodes(prepared, bind_attributes(function, node), opsets, level)
        return prepared

    def _add_nodes(
        self,
        prepared: PreparedGraph,
        nodes: Iterable[onnx.NodeProto],
        opsets: Mapping[str, int],
        level: int,
    ) -> None:
        if level > MOST_LEVELS:
            raise ValueError(
                f"subgraphs and functions are more than {MOST_LEVELS} levels deep, or a function"
                " calls itself"
            )
        for node in _in_order(list(nodes)):
            call = self._prepare_node(node, opsets, level)
            if call is None:
                continue
            if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
                prepared.constants[node.output[0]] = _constant(call.attributes)
                prepared.literals.add(node.output[0])
            elif node.op_type == "Identity" and self._repeats_a_weight(node, prepared):
                prepared.constants[node.output[0]] = prepared.constants[node.input[0]].copy()
            else:
                prepared.calls.append(call)

    def _repeats_a_weight(self, node: onnx.NodeProto, prepared: PreparedGraph) -> bool:
        """Return True for an Identity that stands for an initializer of its own.

        Exporters merge initializers with equal values, so that a bias of zeros and a mean of zeros
        are one tensor, and so are the layers of an encoder that nobody trained yet. These are no
        tied weights: they part once the model trains. PyTorch names what it adds without a scope.
        """
        array = prepared.constants.get(node.input[0])
        if array is None or not array.size:
            return False
        added = self._by_pytorch and node.name.startswith("Identity_")
        return added or bool((array == array.reshape(-1)[0]).all())

    def _prepare_node(
        self, node: onnx.NodeProto, opsets: Mapping[str, int], level: int
    ) -> NodeCall | None:
        attributes = {a.name: self._attribute(a, opsets, level) for a in node.attribute}
        call = NodeCall(node, opsets, attributes)
        if function := self._functions.get((node.domain, node.op_type)):
            call.attributes = {}
            call.body = self.prepare_function(function, node, level + 1)
            return call
        check_attribute_types(node, call.opset)
        call.operator = find_operator(node.domain, node.op_type, call.opset)
        if call.operator is not None:
            try:
                call.attributes = call.operator.check_attributes(attributes)
            except NotImplementedError as error:
                return self._mark_unsupported(call, str(error))
            return call
        call.expansion = FunctionExpansion.find(node, call.opset, self.prepare_body)
        if call.expansion is None and (node.op_type != "Constant" or node.domain):
            return self._mark_unsupported(call, "no handler")
        return call

    def _mark_unsupported(self, call: NodeCall, reason: str) -> None:
        domain = call.node.domain or "ai.onnx"
        self.unsupported.append(f"{call.label}, operator set {domain} {call.opset}: {reason}")

    def _attribute(
        self, attribute: onnx.AttributeProto, opsets: Mapping[str, int], level: int
    ) -> Any:
        if attribute.type == onnx.AttributeProto.GRAPH:
            return self.prepare_graph(attribute.g, opsets, level + 1)
        if attribute.type == onnx.AttributeProto.TENSOR:
            return _host_array(attribute.t)
        if attribute.type == onnx.AttributeProto.SPARSE_TENSOR:
            return _dense_array(attribute.sparse_tensor)
        value = helper.get_attribute_value(attribute)
        if attribute.type == onnx.AttributeProto.STRING:
            return _text(value)
        if attribute.type == onnx.AttributeProto.STRINGS:
            return [_text(text) for text in value]
        return list(value) if isinstance(value, Iterable) else value


def opset_versions(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """Return the versions of operator sets by domain, ONNX's own under the empty name."""
    return {"" if o.domain == "ai.onnx" else o.domain: o.version for o in imports}


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _host_array(tensor: onnx.TensorProto) -> np.ndarray:
    array = numpy_helper.to_array(tensor)
    return array.astype(object) if array.dtype.kind in "SU" else array


def _dense_array(sparse: onnx.SparseTensorProto) -> np.ndarray:
    values = numpy_helper.to_array(sparse.values)
    indices = numpy_helper.to_array(sparse.indices)
    check_size(sparse.dims)
    dense = np.zeros(tuple(sparse.dims), values.dtype)
    limits = dense.size if indices.ndim == 1 else dense.shape
    if (indices < 0).any() or (indices >= limits).any():
        raise ValueError(
            f"sparse tensor `{sparse.values.name}` has indices outside its shape {dense.shape}"
        )
    if indices.ndim == 1:
        dense.reshape(-1)[indices] = values
    else:
        dense[tuple(indices.T)] = values
    return dense


def _constant(attributes: dict[str, Any]) -> np.ndarray:
    """Return the value of a Constant node, which has exactly one attribute."""
    (name, value), *others = attributes.items()
    if others:
        raise ValueError(f"a Constant node has several values: {sorted(attributes)}")
    if name in ("value", "sparse_value"):
        return value
    kinds = {"float": np.float32, "int": np.int64, "string": object}
    return np.asarray(value, kinds[name.removeprefix("value_").removesuffix("s")])


def _in_order(nodes: list[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """Return `nodes` sorted so that each comes after those whose results it reads."""
    producer: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in node.output:
            if name and producer.setdefault(name, index) != index:
                raise ValueError(f"two nodes have an output named `{name}`")
    edges = {
        index: {producer[name] for name in _names_read(node) if name in producer}
        for index, node in enumerate(nodes)
    }
    if all(before < index for index, sources in edges.items() for before in sources):
        return nodes
    try:
        return [nodes[index] for index in graphlib.TopologicalSorter(edges).static_order()]
    except graphlib.CycleError as error:
        cycle = ", ".join(nodes[index].name or nodes[index].op_type for index in error.args[1])
        raise ValueError(f"the graph has a cycle: {cycle}") from None


def _names_read(node: onnx.NodeProto) -> set[str]:
    names = set(node.input)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            inner = attribute.g
            computed = {name for n in inner.node for name in n.output} | {
                i.name for i in inner.input
            }
            names |= set().union(*(_names_read(n) for n in inner.node)) - computed
            names |= {output.name for output in inner.output} - computed
    return names
