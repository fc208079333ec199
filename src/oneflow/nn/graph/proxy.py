"""Modules as attributes of a graph, by their name in OneFlow 0.9."""

from oneflow.graph.block import Block as Proxy, Block as ProxyModule

__all__ = ["Proxy", "ProxyModule"]
