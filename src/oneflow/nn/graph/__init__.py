"""Static graphs, under the names that OneFlow gives them."""

from oneflow.graph.block import Block as GraphModule
from oneflow.graph.graph import Graph as Graph
from oneflow.nn.graph import (
    block as block,
    block_config as block_config,
    graph_block as graph_block,
    graph_config as graph_config,
)

__all__ = ["Graph", "GraphModule", "block", "block_config", "graph_block", "graph_config"]
