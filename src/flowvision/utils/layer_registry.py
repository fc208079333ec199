"""A list of layers by name."""

from __future__ import annotations

from typing import Any

from flowvision.utils.base_registry import Registry


class Layer_Registry(Registry[Any]):
    """Layers by their names, see `Registry`.

    Args:
        name: the name of the list.

    Example:
        >>> from flowvision.utils.layer_registry import Layer_Registry
        >>> from oneflow import nn
        >>> layers = Layer_Registry("ACTIVATION")
        >>> layers.get_zip_dict()
        []
        >>> layers.register(nn.ReLU).__name__
        'ReLU'
        >>> [name for name, _ in layers.get_zip_dict()]
        ['ReLU']
    """

    def get_zip_dict(self) -> list[tuple[str, Any]]:
        """Return the pairs of a name and a layer, in the order in which they were registered."""
        return list(self)
