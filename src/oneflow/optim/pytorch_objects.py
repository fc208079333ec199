"""Whole optimizers from PyTorch's files, which hold their options, states and parameters alone."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from oneflow.optim.groups import loaded_options


def complete_attributes(optimizer: Any) -> None:
    """Give an optimizer that a file of PyTorch describes what this package's have.

    Args:
        optimizer: has `defaults`, `state` and `param_groups` as PyTorch has them.
    """
    groups, states = optimizer.param_groups, optimizer.state
    optimizer.param_groups, optimizer.state = [], defaultdict(dict)
    for group in groups:
        optimizer.add_param_group({**loaded_options(group), "params": group["params"]})
    for owner, values in states.items():
        # PyTorch's SGD without momentum keeps None.
        optimizer.state[owner] = {
            name: optimizer._convert_state(name, value, owner)
            for name, value in values.items()
            if value is not None
        }
