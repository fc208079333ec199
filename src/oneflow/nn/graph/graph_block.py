"""Modules as graphs show them."""

from oneflow.graph.block import Block as GraphModule

__all__ = ["GraphModule"]
