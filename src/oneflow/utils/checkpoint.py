"""Activation checkpointing."""

from oneflow.functional.recompute import (
    checkpoint as checkpoint,
    checkpoint_sequential as checkpoint_sequential,
)
