"""``torch.nn.factory_kwargs``: arguments of layers for the functions that make their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAMES = ("device", "dtype", "memory_format")


def factory_kwargs(kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments for functions that make tensors, out of a layer's.

    Args:
        kwargs: `device`, `dtype`, `memory_format`, or those in one `factory_kwargs`.

    Raises:
        TypeError: there is another one, or one of them twice.

    Example:
        >>> from oneflow.mock_torch.pytorch.nn.factory_arguments import factory_kwargs
        >>> factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": "float32"}})
        {'dtype': 'float32', 'device': 'cpu'}
    """
    if kwargs is None:
        return {}
    unknown = kwargs.keys() - {*_NAMES, "factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    arguments = dict(kwargs.get("factory_kwargs", {}))
    for name in _NAMES:
        if name in kwargs:
            if name in arguments:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            arguments[name] = kwargs[name]
    return arguments
