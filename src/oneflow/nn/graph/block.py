"""Modules as graphs show them, under their older names."""

from oneflow.graph.block import (
    Block as Block,
    Block as ModuleBlock,
    GraphTensor as TensorBlock,
)

__all__ = ["Block", "ModuleBlock", "TensorBlock"]
