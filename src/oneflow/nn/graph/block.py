"""Modules as graphs show them, under their older names."""

from oneflow.graph.block import Block as Block, Block as ModuleBlock

__all__ = ["Block", "ModuleBlock"]
