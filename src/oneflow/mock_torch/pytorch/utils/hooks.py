"""Names that ``torch.utils.hooks`` has beside `oneflow.utils.hooks`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from oneflow.base.location import frames_to_user

_Hook = TypeVar("_Hook", bound=Callable[..., Any])


def unserializable_hook(f: _Hook) -> _Hook:
    """Mark a hook of tensors, so that sending a tensor with it warns.

    Args:
        f: the hook.
    """
    setattr(f, "__torch_unserializable__", True)  # noqa: B010
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn that hooks of a tensor are not saved with it, but for those that are marked."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized. If this is expected, "
                "decorate the function with `torch.utils.hooks.unserializable_hook`",
                UserWarning,
                frames_to_user(),
            )
