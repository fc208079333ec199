"""Modules that PyTorch's compiler returns."""

from __future__ import annotations

from typing import Any

from oneflow import nn


class OptimizedModule(nn.Module):
    """A module that calls another one, as PyTorch's compiler returns it.

    Its state dict has the names of the module behind ``_orig_mod.``; attributes are the module's.

    Args:
        mod: the module.
        dynamo_ctx: accepted; it changes nothing.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.compiled_module import OptimizedModule
        >>> layer = flow.nn.Linear(2, 3)
        >>> compiled = OptimizedModule(layer)
        >>> list(compiled.state_dict()), compiled.in_features, compiled._orig_mod is layer
        (['_orig_mod.weight', '_orig_mod.bias'], 2, True)
    """

    def __init__(self, mod: nn.Module, dynamo_ctx: Any = None) -> None:
        super().__init__()
        self._modules["_orig_mod"] = mod
        vars(self).pop("training", None)  # as all attributes it is the module's

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self._modules["_orig_mod"](*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        original = vars(self)["_modules"]["_orig_mod"]
        return original if name == "_orig_mod" else getattr(original, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(type(self), name) or name in ("_orig_mod", "forward"):
            super().__setattr__(name, value)
        else:
            setattr(self._modules["_orig_mod"], name, value)

    def __delattr__(self, name: str) -> None:
        if name in vars(self):
            super().__delattr__(name)
        else:
            delattr(self._modules["_orig_mod"], name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._modules["_orig_mod"])})

    def __len__(self) -> int:
        return len(self._modules["_orig_mod"])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._modules["_orig_mod"],)
