"""Settings of PyTorch's top level, and its functions of numbers that a compiler does not know."""

from __future__ import annotations

import builtins
from typing import Any

import oneflow as flow

_DEBUG_MODES = ("default", "warn", "error")
_state = {"warn always": False}


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return False: operators that are not deterministic raise, and do not only warn."""
    return False


def get_deterministic_debug_mode() -> int:
    """Return 2 if algorithms must be deterministic, else 0."""
    return 2 if flow.are_deterministic_algorithms_enabled() else 0


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Ask for deterministic algorithms, by any mode but the first: they are always there.

    Args:
        debug_mode: ``"default"``, ``"warn"`` or ``"error"``, or its number.

    Raises:
        RuntimeError: there is no such mode.
    """
    number = _DEBUG_MODES.index(debug_mode) if debug_mode in _DEBUG_MODES else debug_mode
    if number not in (0, 1, 2):
        raise RuntimeError(f"`debug_mode` must be one of {_DEBUG_MODES}, got {debug_mode!r}")
    flow.use_deterministic_algorithms(number != 0)


def set_warn_always(b: bool, /) -> None:
    """Keep a setting; each warning is given where it is due."""
    _state["warn always"] = b


def is_warn_always_enabled() -> bool:
    """Return what `set_warn_always` was given last."""
    return _state["warn always"]


def is_storage(obj: Any, /) -> bool:
    """Return whether something is the memory of a tensor."""
    return isinstance(obj, flow.UntypedStorage | flow.TypedStorage)


def is_inference(input: flow.Tensor) -> bool:
    """Return whether a tensor was made in inference mode."""
    return input.is_inference()


def sym_int(a: Any) -> int:
    """Return a number rounded towards 0."""
    return int(a)


def sym_float(a: Any) -> float:
    """Return a number as a float."""
    return float(a)


def sym_not(a: Any) -> bool:
    """Return whether something is false."""
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """Return the larger of two numbers, a float if either is."""
    return builtins.max(float(a), float(b)) if float in (type(a), type(b)) else builtins.max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers, a float if either is."""
    return builtins.min(float(a), float(b)) if float in (type(a), type(b)) else builtins.min(a, b)


def sym_sum(args: Any) -> Any:
    """Return the sum of numbers."""
    return builtins.sum(args)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """Return one value if a condition holds, another if not."""
    return t if b else f
