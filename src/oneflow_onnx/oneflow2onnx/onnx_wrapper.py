"""`Graph` and `Node`: an ONNX model that handlers and users change node by node.

They stand on onnx-ir, whose model `Graph.model` is, and have the names of upstream's converter.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper
from onnx_ir.passes.common import ShapeInferencePass

import oneflow as flow
from oneflow.version import __version__
from oneflow_onnx.oneflow2onnx.files import write_model
from oneflow_onnx.oneflow2onnx.reference import onnx_type


class Node:
    """A node of a `Graph`.

    Attributes:
        ir_node: the node in onnx-ir.
        attrs: its attributes, as Python values; `UpdateProto` writes them.
        skip_conversion: leave the node as it is when operators are converted.
    """

    def __init__(self, ir_node: ir.Node) -> None:
        self.ir_node = ir_node
        self.attrs = {
            name: attribute.as_tensor().numpy()
            if attribute.type is ir.AttributeType.TENSOR
            else attribute.value
            for name, attribute in ir_node.attributes.items()
        }
        self.skip_conversion = False

    @property
    def name(self) -> str:
        """Its name."""
        return self.ir_node.name or ""

    @property
    def op_type(self) -> str:
        """Its operator; may be set."""
        return self.ir_node.op_type

    @op_type.setter
    def op_type(self, operator: str) -> None:
        self.ir_node.op_type = operator

    @property
    def domain(self) -> str:
        """The domain of its operator; may be set."""
        return self.ir_node.domain

    @domain.setter
    def domain(self, domain: str) -> None:
        self.ir_node.domain = domain

    @property
    def inputs(self) -> list[ir.Value | None]:
        """The values that it reads, None for one that is left out; may be set."""
        return list(self.ir_node.inputs)

    @inputs.setter
    def inputs(self, values: Sequence[ir.Value | None]) -> None:
        self.ir_node.resize_inputs(len(values))
        for place, value in enumerate(values):
            self.ir_node.replace_input_with(place, value)

    @property
    def output(self) -> ir.Value:
        """Its first result."""
        return self.ir_node.outputs[0]

    @property
    def input_tensor_names(self) -> list[str]:
        """The names of its inputs; empty for one that is left out."""
        return ["" if input_ is None else _name(input_) for input_ in self.ir_node.inputs]

    @property
    def output_tensor_names(self) -> list[str]:
        """The names of its outputs."""
        return [_name(output) for output in self.ir_node.outputs]

    @property
    def proto(self) -> onnx.NodeProto:
        """The node as ONNX writes it, with the attributes of the last `UpdateProto`."""
        return ir.to_proto(self.ir_node)

    def UpdateProto(self) -> onnx.NodeProto:
        """Write `attrs` to the node, and return it as ONNX writes it."""
        self.ir_node.attributes.clear()
        attributes = {name: value for name, value in self.attrs.items() if value is not None}
        tensors = {
            n: ir.Tensor(v) if isinstance(v, np.ndarray) else v for n, v in attributes.items()
        }
        for attribute in ir.convenience.convert_attributes(tensors):
            self.ir_node.attributes.add(attribute)
        return self.proto


class Graph:
    """An ONNX graph that is changed node by node.

    Values that no node makes are its inputs, or weights if `model_save_dir` has them; those that
    no node reads are its outputs.

    Args:
        nodes: its nodes, in any order.
        model_save_dir: a folder that ``flow.checkpoint.save(folder)`` or
            ``flow.save(graph.state_dict(), folder)`` made; its weights become initializers.
        output_shapes: the shapes of values, by name.
        dtypes: the ONNX element types of values, by name; default: float.
        opset: the opset; None: the newest that the installed onnx knows.
        extra_opset: further domains, as `onnx.helper.make_opsetid` gives them.

    Raises:
        ValueError: two nodes make values of the same name.

    Example:
        >>> from onnx import helper
        >>> from oneflow_onnx.onnx_wrapper import Graph
        >>> nodes = [helper.make_node("Exp", ["x"], ["y"], name="first")]
        >>> graph = Graph(nodes, None, {"x": [2]})
        >>> graph.InsertNewNodeOnOutput("Neg", "y").op_type
        'Neg'
        >>> [node.op_type for node in graph.get_nodes()]
        ['Exp', 'Neg']
    """

    def __init__(
        self,
        nodes: Sequence[onnx.NodeProto],
        model_save_dir: str | os.PathLike[str] | None = None,
        output_shapes: Mapping[str, Sequence[int]] | None = None,
        dtypes: Mapping[str, int] | None = None,
        opset: int | None = None,
        extra_opset: Sequence[onnx.OperatorSetIdProto] | None = None,
    ) -> None:
        computed = [name for node in nodes for name in node.output if name]
        if len(set(computed)) < len(computed):
            raise ValueError("two nodes make values of the same name")
        read = dict.fromkeys(name for node in nodes for name in node.input if name)
        shapes, types = output_shapes or {}, dtypes or {}

        def defined(name: str) -> onnx.ValueInfoProto:
            kind = types.get(name, onnx.TensorProto.FLOAT)
            return helper.make_tensor_value_info(name, kind, shapes.get(name))

        weights = {} if model_save_dir is None else saved_weights(model_save_dir)
        proto = helper.make_graph(
            list(nodes),
            "graph",
            [defined(name) for name in read if name not in {*computed, *weights}],
            [defined(name) for name in computed if name not in read],
            [
                helper.make_tensor(name, onnx_type(array.dtype), array.shape, array.tobytes(), True)
                for name, array in weights.items()
                if name in read
            ],
            value_info=[defined(name) for name in computed if name in read and name in shapes],
        )
        domains = {opset.domain: opset.version for opset in extra_opset or ()}
        version = opset or onnx.defs.onnx_opset_version()
        imports = {**dict.fromkeys((node.domain for node in nodes), 1), **domains, "": version}
        opsets = [
            helper.make_opsetid(*domain_and_version) for domain_and_version in imports.items()
        ]
        model = helper.make_model(
            proto,
            opset_imports=opsets,
            ir_version=helper.find_min_ir_version_for(opsets, ignore_unknown=True),
            producer_name="oneflow_onnx",
            producer_version=__version__,
        )
        self._wrap(ir.from_proto(model))

    @classmethod
    def of(cls, model: ir.Model) -> Graph:
        """The graph of a model; changes of the one are changes of the other."""
        graph = cls.__new__(cls)
        graph._wrap(model)
        return graph

    def _wrap(self, model: ir.Model) -> None:
        self.model = model
        self._nodes: dict[ir.Node, Node] = {}

    @property
    def opset(self) -> int:
        """The opset that it is written in."""
        return self.model.graph.opset_imports[""]

    # --- nodes and values

    def get_nodes(self) -> list[Node]:
        """Return its nodes, in order."""
        return [self._wrapped(node) for node in self.model.graph]

    def get_node_by_name(self, name: str) -> Node:
        """Return the node of this name.

        Raises:
            KeyError: there is none.
        """
        nodes = [node for node in self.model.graph if node.name == name]
        if not nodes:
            raise KeyError(f"no node is named `{name}`")
        return self._wrapped(nodes[0])

    def get_node_by_output(self, output: str | ir.Value) -> Node | None:
        """Return the node that makes a value; None for inputs and weights."""
        producer = self._value(output).producer()
        return None if producer is None else self._wrapped(producer)

    def FindOutputConsumers(self, output: str | ir.Value) -> list[Node]:
        """Return the nodes that read a value."""
        return [self._wrapped(consumer) for consumer in self._value(output).consumers()]

    def get_shape(self, value: str | ir.Value) -> tuple[Any, ...] | None:
        """Return the sizes of a value, names for symbolic ones; None if they are not known."""
        shape = self._value(value).shape
        if shape is None:
            return None
        return tuple(dim if isinstance(dim, int) else dim.value for dim in shape)

    def get_dtype(self, value: str | ir.Value) -> np.dtype | None:
        """Return the element type of a value; None if it is not known."""
        dtype = self._value(value).dtype
        return None if dtype is None else dtype.numpy()

    # --- changes

    def MakeConst(self, value: Any) -> ir.Value:
        """Add an initializer and return it."""
        array = np.asarray(value)
        name = self._free_name("constant")
        constant = ir.Value(
            name=name,
            const_value=ir.Tensor(array, name=name),
            shape=ir.Shape(array.shape),
            type=ir.TensorType(onnx_type(array.dtype)),
        )
        self.model.graph.register_initializer(constant)
        return constant

    def MakeNode(
        self,
        op_type: str,
        inputs: Sequence[str | ir.Value | None],
        attr: Mapping[str, Any] | None = None,
        shape: Sequence[int] | None = None,
        dtype: Any = None,
        name: str | None = None,
        domain: str = "",
    ) -> Node:
        """Add a node with one result and return it.

        Args:
            op_type: its operator.
            inputs: its inputs, values or their names; None leaves one out.
            attr: its attributes.
            shape: the shape of its result, where known.
            dtype: the NumPy dtype of its result, where known.
            name: its name; None: made of the operator's.
            domain: the domain of the operator.

        Raises:
            KeyError: there is no value of such a name.
        """
        name = name or self._free_name(op_type)
        result = ir.Value(
            name=f"{name}:0",
            shape=None if shape is None else ir.Shape(shape),
            type=None if dtype is None else ir.TensorType(onnx_type(np.dtype(dtype))),
        )
        read = [None if input_name is None else self._value(input_name) for input_name in inputs]
        new_node = ir.Node(domain, op_type, read, outputs=[result], name=name)
        self._insert(new_node)
        node = self._wrapped(new_node)
        node.attrs = dict(attr or {})
        node.UpdateProto()
        return node

    def InsertNewNodeOnInput(
        self, node: Node, op_type: str, input_name: str, **attributes: Any
    ) -> Node:
        """Put a node of one operand between a value and one node that reads it."""
        new_node = self.MakeNode(op_type, [input_name], attributes)
        self.ReplaceInput(node, input_name, new_node.output)
        self.TopologicalSort()
        return new_node

    def InsertNewNodeOnOutput(self, op_type: str, output_name: str, **attributes: Any) -> Node:
        """Put a node of one operand between a value and all that reads it, outputs included."""
        value = self._value(output_name)
        new_node = self.MakeNode(op_type, [value], attributes)
        new_node.output.type, new_node.output.shape = value.type, value.shape
        self.ReplaceAllInputs(value, new_node.output)
        new_node.ir_node.replace_input_with(0, value)
        self.TopologicalSort()
        return new_node

    def ReplaceInput(self, node: Node, old: str | ir.Value, new: str | ir.Value) -> None:
        """Let a node read another value in place of one that it reads."""
        before, after = self._value(old), self._value(new)
        for place, input_ in enumerate(node.ir_node.inputs):
            if input_ is before:
                node.ir_node.replace_input_with(place, after)

    def ReplaceAllInputs(self, old: str | ir.Value, new: str | ir.Value) -> None:
        """Let all that reads a value read another one; an output keeps its name."""
        before, after = self._value(old), self._value(new)
        if before.is_graph_output():
            name = before.name
            before.name, after.name = self._free_name(f"{name}_before"), name
            after.type, after.shape = after.type or before.type, after.shape or before.shape
        before.replace_all_uses_with(after, replace_graph_outputs=True)

    def ReplaceNode(self, old: Node, new: Node) -> None:
        """Remove a node, whose readers read the results of another one from then on."""
        for before, after in zip(old.ir_node.outputs, new.ir_node.outputs, strict=True):
            self.ReplaceAllInputs(before, after)
        self.RemoveNode(old)
        self.TopologicalSort()

    def RemoveNode(self, node: Node | str) -> None:
        """Remove a node, given itself or by its name.

        Raises:
            ValueError: something still reads what it makes.
            KeyError: there is no node of this name.
        """
        wrapped = self.get_node_by_name(node) if isinstance(node, str) else node
        self.model.graph.remove(wrapped.ir_node, safe=True)
        self._nodes.pop(wrapped.ir_node, None)

    def TopologicalSort(self, continue_on_error: bool = False) -> None:
        """Bring the nodes into an order in which each comes after those that it reads.

        Args:
            continue_on_error: leave a cycle as it is, and warn, instead of raising.

        Raises:
            ValueError: there is a cycle.
        """
        try:
            self.model.graph.sort()
        except ValueError as error:
            if not continue_on_error:
                raise
            text = f"the nodes of `{self.model.graph.name}` stay as they are: {error}"
            warnings.warn(text, stacklevel=2)

    # --- results

    def UpdateProto(self) -> None:
        """Write the attributes of all wrapped nodes to the model."""
        for node in self._nodes.values():
            node.UpdateProto()

    def MakeModel(
        self,
        job_name: str,
        onnx_filename: str | os.PathLike[str] | None = None,
        external_data: bool = False,
    ) -> onnx.ModelProto:
        """Return the model with its weights, having written it if a file is given.

        Args:
            job_name: the name of the graph.
            onnx_filename: the file; None: none is written.
            external_data: store the weights in a file of their own.

        Raises:
            onnx.checker.ValidationError: it is no valid model.
        """
        self.UpdateProto()
        self.model.graph.name = job_name
        # The checker asks for the shapes of outputs.
        ShapeInferencePass()(self.model)
        proto = ir.to_proto(self.model)
        onnx.checker.check_model(proto)
        if onnx_filename is not None:
            write_model(self.model, onnx_filename, external_data or None)
        return proto

    # --- details

    def _wrapped(self, node: ir.Node) -> Node:
        if node not in self._nodes:
            self._nodes[node] = Node(node)
        return self._nodes[node]

    def _value(self, value: str | ir.Value) -> ir.Value:
        if isinstance(value, ir.Value):
            return value
        ir_value = self._values().get(value)
        if ir_value is None:
            raise KeyError(f"no value is named `{value}`")
        return ir_value

    def _values(self) -> dict[str, ir.Value]:
        graph = self.model.graph
        outputs = [output for node in graph for output in node.outputs]
        return {
            _name(value): value for value in [*graph.inputs, *graph.initializers.values(), *outputs]
        }

    def _free_name(self, stem: str) -> str:
        taken = {*self._values(), *(node.name for node in self.model.graph)}
        taken.update(name.removesuffix(":0") for name in list(self._values()))
        return next(n for n in (f"{stem}_{k}" for k in range(len(taken) + 1)) if n not in taken)

    def _insert(self, node: ir.Node) -> None:
        """Add a node behind the last of the nodes that make its inputs."""
        parents = [input_.producer() for input_ in node.inputs if input_ is not None]
        places = [self.model.graph.index(producer) for producer in parents if producer is not None]
        if places:
            self.model.graph.insert_after(self.model.graph[max(places)], node)
        elif len(self.model.graph):
            self.model.graph.insert_before(self.model.graph[0], node)
        else:
            self.model.graph.append(node)


def saved_weights(folder: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Return the weights of a saved checkpoint or state dict, by name.

    Raises:
        FileNotFoundError: the folder does not exist.
    """
    if not Path(folder).exists():
        raise FileNotFoundError(f"there are no weights at `{folder}`")
    if (Path(folder) / "snapshot_done").exists():
        return {name: tensor.numpy() for name, tensor in flow.checkpoint.get(str(folder)).items()}
    return dict(_flattened(flow.load(str(folder)), ""))


def _flattened(state: Mapping[str, Any], prefix: str) -> list[tuple[str, np.ndarray]]:
    """The tensors of nested state dicts, dots between the names of levels."""
    arrays: list[tuple[str, np.ndarray]] = []
    for name, value in state.items():
        if isinstance(value, flow.Tensor):
            arrays.append((f"{prefix}{name}", value.detach().numpy()))
        elif isinstance(value, Mapping):
            arrays += _flattened(value, f"{prefix}{name}.")
    return arrays


def _name(value: ir.Value) -> str:
    return value.name or ""
