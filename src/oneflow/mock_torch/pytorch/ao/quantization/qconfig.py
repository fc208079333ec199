"""Choices of the modules that watch or round activations and weights."""

from __future__ import annotations

from typing import Any, NamedTuple


class QConfig(NamedTuple):
    """The factories of the modules that watch or round activations and weights.

    Attributes:
        activation: the factory for activations.
        weight: the factory for weights.
    """

    activation: Any
    weight: Any
