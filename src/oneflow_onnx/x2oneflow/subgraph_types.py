"""The types of a subgraph's results, for loops that never run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from oneflow_onnx.x2oneflow.values import Value, element_type_of, has_shape


def example_outputs(
    graph: onnx.GraphProto, opsets: Mapping[str, int], values: Mapping[str, Value]
) -> list[np.ndarray]:
    """Arrays of zeros with the shapes and types that ONNX infers of a subgraph's outputs.

    Args:
        graph: the subgraph.
        opsets: versions of operator sets by domain.
        values: what it reads, its inputs and values around it, by name.

    Returns:
        An array for each output; where a size cannot be inferred, it is 0.
    """
    inputs = [_type_of(name, value) for name, value in values.items() if has_shape(value)]
    arrays = {n: v for n, v in values.items() if isinstance(v, np.ndarray) and v.dtype != object}
    constants = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    inner = helper.make_graph(
        graph.node,
        graph.name,
        inputs,
        graph.output,
        [*graph.initializer, *constants],
        value_info=graph.value_info,
        sparse_initializer=graph.sparse_initializer,
    )
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    model = helper.make_model(inner, opset_imports=imports)
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    return [_zeros(output.type.tensor_type) for output in inferred.graph.output]


def _type_of(name: str, value: Value) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element_type_of(value), list(value.shape))


def _zeros(kind: onnx.TypeProto.Tensor) -> np.ndarray:
    sizes: Sequence[int] = [dim.dim_value for dim in kind.shape.dim]
    dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type or onnx.TensorProto.FLOAT)
    return np.zeros(sizes, dtype)
