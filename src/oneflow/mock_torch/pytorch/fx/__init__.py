"""``torch.fx``: types without objects, since functions are not traced symbolically."""

from oneflow.mock_torch.missing import raise_tracing as map_arg
from oneflow.mock_torch.pytorch.fx.symbolic import (
    Graph as Graph,
    GraphModule as GraphModule,
    Interpreter as Interpreter,
    Node as Node,
    Proxy as Proxy,
    Tracer as Tracer,
    Transformer as Transformer,
    symbolic_trace as symbolic_trace,
    wrap as wrap,
)

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "map_arg",
    "symbolic_trace",
    "wrap",
]
