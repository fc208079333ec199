"""Warnings that PyTorch gives and OneFlow does not."""

from __future__ import annotations

import warnings
from typing import Any

from oneflow.base.location import frames_to_user
from oneflow.base.program_name import PYTORCH, program_name


def warn_in_place_of_pytorch(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn a program that imports the framework as PyTorch, at the user's line."""
    if program_name() == PYTORCH:
        warnings.warn(text, category, frames_to_user())


def warn_of_result_without_grad(node: Any, retains_grad: bool) -> None:
    """Warn a program of PyTorch that reads `grad` of a result, which gets none.

    Args:
        node: the tensor's place in the autograd graph, or None.
        retains_grad: the tensor gets one all the same.
    """
    if node is not None and not node.is_leaf_node and not retains_grad:
        warn_in_place_of_pytorch(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. It won't "
            "be populated during autograd.backward(). If you indeed want the .grad field to be "
            "populated for a non-leaf Tensor, use .retain_grad() on it."
        )
