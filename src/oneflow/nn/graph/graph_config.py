"""Options of a graph."""

from oneflow.graph.graph_config import GraphConfig as GraphConfig

__all__ = ["GraphConfig"]
