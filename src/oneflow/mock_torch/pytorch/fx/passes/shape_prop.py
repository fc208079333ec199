"""Shapes of the values of symbolic graphs: ``torch.fx.passes.shape_prop``."""

from __future__ import annotations

from typing import Any, NamedTuple

from oneflow.base.layout import MemoryFormat
from oneflow.mock_torch.pytorch.fx.interpreter import Interpreter
from oneflow.mock_torch.pytorch.fx.node import Node, map_aggregate
from oneflow.tensor.tensor import Tensor

_FORMATS = (
    MemoryFormat.contiguous_format,
    MemoryFormat.channels_last,
    MemoryFormat.channels_last_3d,
)


class TensorMetadata(NamedTuple):
    """Properties of a tensor that are known without its values."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: Any
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(value: Any) -> Any:
    """The properties of a tensor; other values themselves."""
    if not isinstance(value, Tensor):
        return value
    memory_format = next((x for x in _FORMATS if value.is_contiguous(memory_format=x)), None)
    return TensorMetadata(
        value.shape, value.dtype, value.requires_grad, value.stride(), memory_format, False, {}
    )


class ShapeProp(Interpreter):
    """Runs a symbolic graph, and writes the shapes and types of its values into `Node.meta`.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.fx.passes.shape_prop import ShapeProp
        >>> traced = torch.fx.symbolic_trace(lambda x: x.sum(1))
        >>> _ = ShapeProp(traced).propagate(torch.ones(2, 3))
        >>> [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
        [(2, 3), (2,), (2,)]
    """

    def run_node(self, n: Node) -> Any:
        """Run a node, and write down what its value is."""
        result = super().run_node(n)
        has_tensors: list[bool] = []
        map_aggregate(result, lambda member: has_tensors.append(isinstance(member, Tensor)))
        if any(has_tensors):
            n.meta["tensor_meta"] = map_aggregate(result, _extract_tensor_metadata)
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on arguments."""
        return self.run(*args)


__all__ = ["ShapeProp", "TensorMetadata"]
