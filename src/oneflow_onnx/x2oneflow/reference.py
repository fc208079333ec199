"""ONNX's reference implementation, for what tensors cannot hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import defs, helper
from onnx.reference import ReferenceEvaluator

from oneflow_onnx.x2oneflow.values import Value, as_host


def reference_evaluator(node: onnx.NodeProto, opsets: Mapping[str, int]) -> ReferenceEvaluator:
    """Return what evaluates `node` as operator sets `opsets` define it."""
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    names = dict.fromkeys(name for name in node.input if name)
    inputs = [onnx.ValueInfoProto(name=name) for name in names]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "node", inputs, outputs)
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=imports))


def run_reference(name: str, *operands: Value, **attributes: Any) -> np.ndarray:
    """Return the first result of an operator of the newest operator set, computed on the host."""
    inputs = [f"x{position}" if v is not None else "" for position, v in enumerate(operands)]
    node = helper.make_node(name, inputs, ["y"], **attributes)
    evaluator = reference_evaluator(node, {"": defs.onnx_opset_version()})
    arrays = {n: as_host(value) for n, value in zip(inputs, operands, strict=True) if n}
    return np.asarray(next(iter(evaluator.run(None, arrays))))
