"""Activation checkpointing."""

from oneflow.autograd.checkpointing import (
    checkpoint as checkpoint,
    checkpoint_sequential as checkpoint_sequential,
)
