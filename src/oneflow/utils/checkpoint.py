"""Activation checkpointing."""

from oneflow.autograd.checkpointing import (
    CheckpointError as CheckpointError,
    checkpoint as checkpoint,
    checkpoint_sequential as checkpoint_sequential,
    set_checkpoint_early_stop as set_checkpoint_early_stop,
)
