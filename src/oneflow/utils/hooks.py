"""Handles of hooks."""

from oneflow.module.hooks import RemovableHandle as RemovableHandle
