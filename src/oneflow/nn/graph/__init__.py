"""Static graphs, under the names that OneFlow gives them."""

from oneflow.graph.block import Block as GraphModule, Block as Proxy, GraphTensor as GraphTensor
from oneflow.graph.graph import Graph as Graph
from oneflow.graph.graph_config import GraphConfig as GraphConfig
from oneflow.nn.graph import (
    block as block,
    block_config as block_config,
    graph as graph,
    graph_block as graph_block,
    graph_config as graph_config,
    proxy as proxy,
)

__all__ = [
    "Graph",
    "GraphConfig",
    "GraphModule",
    "GraphTensor",
    "Proxy",
    "block",
    "block_config",
    "graph",
    "graph_block",
    "graph_config",
    "proxy",
]
