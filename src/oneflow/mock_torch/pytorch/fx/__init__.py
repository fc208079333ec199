"""``torch.fx``: functions and modules as graphs that programs read and change."""

from oneflow.mock_torch.pytorch.fx._symbolic_trace import (
    Tracer as Tracer,
    symbolic_trace as symbolic_trace,
    wrap as wrap,
)
from oneflow.mock_torch.pytorch.fx.graph import Graph as Graph
from oneflow.mock_torch.pytorch.fx.graph_module import GraphModule as GraphModule
from oneflow.mock_torch.pytorch.fx.interpreter import (
    Interpreter as Interpreter,
    Transformer as Transformer,
)
from oneflow.mock_torch.pytorch.fx.node import (
    Node as Node,
    has_side_effect as has_side_effect,
    map_arg as map_arg,
)
from oneflow.mock_torch.pytorch.fx.proxy import Proxy as Proxy
from oneflow.mock_torch.pytorch.fx.subgraph_rewriter import (
    replace_pattern as replace_pattern,
)
