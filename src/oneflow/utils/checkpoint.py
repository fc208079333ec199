"""Activation checkpointing."""

from oneflow.functional.recompute import checkpoint as checkpoint
from oneflow.functional.recompute import checkpoint_sequential as checkpoint_sequential
