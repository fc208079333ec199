"""Static graphs."""

from oneflow.graph.graph import Graph as Graph

__all__ = ["Graph"]
