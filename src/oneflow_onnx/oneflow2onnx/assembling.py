"""The last steps: nodes that nothing needs are dropped, and the graph becomes a model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import onnx_ir as ir

from oneflow.tensor.tensor import Tensor
from oneflow.version import __version__
from oneflow_onnx.declared_buffers import declaration
from oneflow_onnx.oneflow2onnx.builder import UNSUPPORTED_DOMAIN
from oneflow_onnx.oneflow2onnx.complex_numbers import as_stored, stored
from oneflow_onnx.oneflow2onnx.emission import Emission
from oneflow_onnx.oneflow2onnx.errors import UnsupportedOperatorsError
from oneflow_onnx.oneflow2onnx.reference import onnx_type
from oneflow_onnx.oneflow2onnx.sizes import CapturedSize, Shape
from oneflow_onnx.oneflow2onnx.trace import ModelTrace


@dataclass(frozen=True)
class ModelNames:
    """Names of values that users see.

    Attributes:
        graph: the graph.
        outputs: its outputs.
        sizes: the symbolic sizes.
    """

    graph: str
    outputs: Sequence[str]
    sizes: Mapping[CapturedSize, str]


def assemble(
    emission: Emission,
    trace: ModelTrace,
    names: ModelNames,
    domains: Mapping[str, int],
    keep_unsupported: bool = False,
) -> ir.Model:
    """Return the model of an emission.

    Args:
        emission: the graph.
        trace: from which it was made.
        names: names of what is seen from outside.
        domains: versions of further domains, by name.
        keep_unsupported: leave nodes of the domain ``oneflow`` for what is missing, and warn.

    Raises:
        UnsupportedOperatorsError: results depend on what could not be written.
    """
    b = emission.builder
    results = [ref.value for ref in emission.outputs]
    needed, nodes = _needed(b.nodes, results)
    missing = [failure for value, failure in emission.failures.items() if value in needed]
    opsets = {"": b.opset, **domains}
    if missing:
        error = UnsupportedOperatorsError(list(dict.fromkeys(missing)), b.opset)
        if not keep_unsupported:
            raise error
        warnings.warn(f"the file will not run: {error}", stacklevel=4)
        opsets[UNSUPPORTED_DOMAIN] = 1
    inner = [value for node in nodes for value in node.outputs]
    parameters, buffers = _with_weights(emission, trace, needed)
    initializers = parameters + buffers
    nodes = _with_kernels_in_order(nodes, initializers)
    outputs = _outputs(emission, names, nodes)
    for value in inner:
        if value not in outputs:
            # Runtimes infer types within the graph themselves.
            value.type = value.shape = None
    numbers = [n for n, (_, source) in trace.inputs.items() if source.kind == "argument"]
    for number, value in zip(numbers, emission.inputs, strict=True):
        value.shape = _shape(trace.inputs[number][0].shape, names.sizes)
    graph = ir.Graph(
        emission.inputs,
        outputs,
        nodes=nodes,
        initializers=initializers,
        opset_imports=opsets,
        name=names.graph,
    )
    version = onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", b.opset)])
    return ir.Model(
        graph,
        ir_version=version,
        producer_name="oneflow_onnx",
        producer_version=__version__,
        metadata_props=declaration([f"{buffer.name}" for buffer in buffers]),
    )


def _with_weights(
    emission: Emission, trace: ModelTrace, needed: set[ir.Value]
) -> tuple[list[ir.Value], list[ir.Value]]:
    """The needed initializers with their contents: parameters, and all others."""
    parameters, buffers = (
        [],
        [initializer for initializer in emission.builder.initializers if initializer in needed],
    )
    for number, value in emission.parameters.items():
        if value in needed:
            kind, origin = trace.inputs[number]
            value.const_value = _weight(value, origin.source)
            value.shape = _shape(as_stored(kind).shape, {})
            (parameters if origin.kind == "parameter" else buffers).append(value)
    return parameters, buffers


def _outputs(emission: Emission, names: ModelNames, nodes: list[ir.Node]) -> list[ir.Value]:
    """The outputs, each a value of its own: a copy where one is an input, or two are one."""
    computed = {value for node in nodes for value in node.outputs}
    outputs: list[ir.Value] = []
    for place, (ref, name) in enumerate(zip(emission.outputs, names.outputs, strict=True)):
        value = ref.value
        if value not in computed or value in outputs:
            copy = ir.Value(name=f"output_{place}", type=value.type)
            nodes.append(ir.node("Identity", [value], outputs=[copy], name=f"Identity_{place}"))
            value = copy
        value.name, value.shape = name, _shape(ref.shape, names.sizes)
        outputs.append(value)
    return outputs


def _needed(
    nodes: Sequence[ir.Node], results: Sequence[ir.Value]
) -> tuple[set[ir.Value], list[ir.Node]]:
    """All values on which the results depend, and the nodes that make them."""
    needed, read_nodes = set(results), []
    for node in reversed(nodes):
        if needed.isdisjoint(node.outputs):
            continue
        read_nodes.append(node)
        needed.update(_read_by(node))
    return needed, read_nodes[::-1]


def _read_by(node: ir.Node) -> Iterator[ir.Value]:
    """The values that a node reads, and those that nodes of its subgraphs do."""
    yield from (input_ for input_ in node.inputs if input_ is not None)
    for attribute in node.attributes.values():
        if attribute.type is ir.AttributeType.GRAPH:
            graph = attribute.as_graph()
            for inner in graph:
                yield from _read_by(inner)


def _with_kernels_in_order(nodes: list[ir.Node], initializers: list[ir.Value]) -> list[ir.Node]:
    """The nodes without those that transpose kernels of channels-last convolutions.

    These are stored as they are needed. Matrices stay as in the state dict.
    """
    kernels = {
        initializer
        for initializer in initializers
        if initializer.shape is not None and len(initializer.shape) > 3
    }
    new_nodes = []
    for node in nodes:
        (source, *_) = [*node.inputs, None]
        if node.op_type != "Transpose" or source not in kernels or len(source.uses()) > 1:
            new_nodes.append(node)
            continue
        assert source.const_value is not None
        array = source.const_value.numpy().transpose(node.attributes["perm"].as_ints())
        source.const_value = ir.Tensor(array, source.const_value.dtype, name=source.name)
        source.shape = ir.Shape(array.shape)
        for consumer, place in list(node.outputs[0].uses()):
            consumer.replace_input_with(place, source)
        node.replace_input_with(0, None)
    return new_nodes


def _shape(shape: Shape, names: Mapping[CapturedSize, str]) -> ir.Shape:
    return ir.Shape([names.get(dim) if isinstance(dim, CapturedSize) else dim for dim in shape])


def _weight(value: ir.Value, source: Tensor | np.ndarray) -> ir.TensorProtocol:
    """A parameter, buffer or constant as a tensor of the model."""
    array = stored(source.detach().numpy() if isinstance(source, Tensor) else np.asarray(source))
    return ir.Tensor(array, onnx_type(array.dtype), name=value.name)
