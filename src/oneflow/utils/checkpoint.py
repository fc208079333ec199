"""Activation checkpointing."""

from oneflow.autograd.checkpointing import (
    checkpoint as checkpoint,
    checkpoint_sequential as checkpoint_sequential,
    set_checkpoint_early_stop as set_checkpoint_early_stop,
)
