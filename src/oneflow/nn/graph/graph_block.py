"""Modules and tensors as graphs show them."""

from oneflow.graph.block import Block as GraphModule, GraphTensor as GraphTensor

__all__ = ["GraphModule", "GraphTensor"]
