"""Options of one module of a graph."""

from oneflow.graph.block_config import BlockConfig as BlockConfig

__all__ = ["BlockConfig"]
