"""Warnings that PyTorch gives and OneFlow does not."""

from __future__ import annotations

import warnings

from oneflow.base.location import frames_to_user
from oneflow.base.program_name import PYTORCH, program_name


def warn_in_place_of_pytorch(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn a program that imports the framework as PyTorch, at the user's line."""
    if program_name() == PYTORCH:
        warnings.warn(text, category, frames_to_user())
