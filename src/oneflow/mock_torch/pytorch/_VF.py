"""``torch._VF``: the functions of ``torch``, as PyTorch's layers call them."""

import inspect
from collections.abc import Callable
from typing import Any

from oneflow.mock_torch.modules import MODULE_IN_PLACE


def __getattr__(name: str) -> Callable[..., Any]:
    function = getattr(MODULE_IN_PLACE.value("torch"), name, None)
    if name.startswith("__") or not inspect.isfunction(function):
        raise AttributeError(f"`torch._VF` has no function {name!r}")
    return function
