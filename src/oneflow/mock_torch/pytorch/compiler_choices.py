"""Names of ``torch.compiler`` that choose a compiler, keep its programs, or wrap functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from oneflow.functional.creation.from_data import as_tensor
from oneflow.mock_torch.missing import raise_missing
from oneflow.mock_torch.modules import MODULE_IN_PLACE
from oneflow.tensor.tensor import Tensor

_FIRST_BACKEND = "inductor"
_state: dict[str, Any] = {"backend": _FIRST_BACKEND, "guard collectives": False}


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Choose the compiler that ``torch.compile`` names where it is told none.

    XLA compiles what runs often in any case.

    Args:
        backend: a name, a function, or None for the first choice again.

    Raises:
        TypeError: `backend` is something else.

    Example:
        >>> from oneflow.mock_torch.pytorch.compiler_choices import *
        >>> set_default_backend("eager")
        >>> get_default_backend()
        'eager'
        >>> set_default_backend(None)
    """
    if not (backend is None or isinstance(backend, str) or callable(backend)):
        raise TypeError(f"`backend` must be a name, a function or None, got {backend!r}")
    _state["backend"] = _FIRST_BACKEND if backend is None else backend


def get_default_backend() -> str | Callable[..., Any]:
    """Return what `set_default_backend` was given last."""
    return _state["backend"]


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Return the setting before this one; no guards are evaluated, and processes compare none."""
    before, _state["guard collectives"] = _state["guard collectives"], bool(enabled)
    return before


def load_compiled_function(
    file: Any, *, f_globals: Any = None, external_data: Any = None
) -> NoReturn:
    """Refuse to load machine code of PyTorch's compiler.

    Raises:
        NotImplementedError: always.
    """
    raise_missing(
        "torch.compiler.load_compiled_function",
        "such files hold PyTorch's machine code; `torch.export.load` loads programs",
    )


def save_cache_artifacts() -> None:
    """Return None: there is none of PyTorch's compiler; XLA's programs are in files already."""


def load_cache_artifacts(serialized_artifacts: bytes) -> NoReturn:
    """Refuse to load programs of PyTorch's compiler.

    Raises:
        NotImplementedError: always.
    """
    raise_missing(
        "torch.compiler.load_cache_artifacts",
        "the bytes hold machine code of PyTorch's compiler; XLA's programs are found in files by"
        " themselves",
    )


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function of NumPy arrays one of tensors; no gradient flows through it.

    Args:
        fn: takes and returns arrays, and whatever holds some.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.compiler_choices import wrap_numpy
        >>> wrap_numpy(np.flip)(flow.tensor([1, 2])).tolist()
        [2, 1]
    """

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        tree_map_only = MODULE_IN_PLACE.value("torch.utils._pytree").tree_map_only
        args, kwargs = tree_map_only(Tensor, lambda tensor: tensor.numpy(), (args, kwargs))
        return tree_map_only(np.ndarray, as_tensor, fn(*args, **kwargs))

    return call


__all__ = [
    "get_default_backend",
    "load_cache_artifacts",
    "load_compiled_function",
    "save_cache_artifacts",
    "set_default_backend",
    "set_enable_guard_collectives",
    "wrap_numpy",
]
