"""Names of ``torch.overrides``: functions do not ask their arguments how to be computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from oneflow.mock_torch.missing import Missing


class TorchFunctionMode(Missing):
    """The type of contexts that compute functions in other ways."""

    _reason = (
        "`__torch_function__` is never called; subclasses of modules can replace what they call"
    )


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return False: no argument is asked how to compute a function."""
    return False


def is_tensor_like(inp: Any) -> bool:
    """Return whether something is a tensor, or says that functions ask it."""
    return hasattr(type(inp), "__torch_function__") or type(inp).__name__ == "Tensor"


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Any, *args: Any, **kwargs: Any
) -> Any:
    """Call a function."""
    return public_api(*args, **kwargs)


__all__ = ["TorchFunctionMode", "handle_torch_function", "has_torch_function", "is_tensor_like"]
