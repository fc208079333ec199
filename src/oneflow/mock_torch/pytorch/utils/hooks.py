"""Names that ``torch.utils.hooks`` has beside `oneflow.utils.hooks`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Hook = TypeVar("_Hook", bound=Callable[..., Any])


def unserializable_hook(f: _Hook) -> _Hook:
    """Mark a hook of tensors, so that sending a tensor with it warns.

    Args:
        f: the hook.
    """
    setattr(f, "__torch_unserializable__", True)  # noqa: B010
    return f
