"""Names of ``torch.jit`` for sources of TorchScript, and for its settings of fused operators."""

from __future__ import annotations

import textwrap
import typing
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from oneflow.mock_torch.missing import raise_missing
from oneflow.mock_torch.modules import MODULE_IN_PLACE

_KINDS = ("STATIC", "DYNAMIC")
_state: dict[str, Any] = {"fusion": [("STATIC", 2), ("DYNAMIC", 10)], "oneDNN": False}


class CompilationUnit:
    """Functions of a source in TorchScript, which is Python.

    Args:
        source: definitions of functions.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.jit.compilation_unit import CompilationUnit
        >>> unit = CompilationUnit("def double(x: Tensor): return 2 * x")
        >>> unit.double(flow.ones(1)).item()
        2.0
    """

    def __init__(self, source: str = "") -> None:
        torch = MODULE_IN_PLACE.value("torch")
        self._names: dict[str, Any] = {"torch": torch, "Tensor": torch.Tensor}
        self._names.update({name: getattr(typing, name) for name in typing.__all__})
        self._functions: dict[str, Callable[..., Any]] = {}
        self.define(source)

    def define(self, source: str) -> None:
        """Add the functions of a source."""
        before = dict(self._names)
        exec(compile(textwrap.dedent(source), "<TorchScript>", "exec"), self._names)
        for name, value in self._names.items():
            if name != "__builtins__" and value is not before.get(name):
                self._functions[name] = value

    def find_function(self, name: str) -> Callable[..., Any] | None:
        """Return the function of a name, or None."""
        return self._functions.get(name)

    def get_functions(self) -> list[Callable[..., Any]]:
        """Return all functions."""
        return list(self._functions.values())

    def __getattr__(self, attr: str) -> Callable[..., Any]:
        function = vars(self).get("_functions", {}).get(attr)
        if function is None:
            raise AttributeError(f"'CompilationUnit' has no attribute '{attr}'")
        return function


def set_fusion_strategy(strategy: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the strategy before this one; XLA fuses operators by its own.

    Args:
        strategy: pairs of ``"STATIC"`` or ``"DYNAMIC"`` and a number.

    Raises:
        ValueError: there is no such kind.
    """
    warnings.warn(
        "`torch.jit.set_fusion_strategy` is deprecated. Please use `torch.compile` instead.",
        DeprecationWarning,
        stacklevel=2,
    )
    pairs = [(kind, int(depth)) for kind, depth in strategy]
    for kind, _ in pairs:
        if kind not in _KINDS:
            raise ValueError(f"`strategy` must hold pairs of one of {_KINDS}, got {kind!r}")
    before, _state["fusion"] = _state["fusion"], pairs
    return before


def enable_onednn_fusion(enabled: bool) -> None:
    """Keep a setting: oneDNN fuses nothing here."""
    _state["oneDNN"] = bool(enabled)


def onednn_fusion_enabled() -> bool:
    """Return what `enable_onednn_fusion` was given last."""
    return _state["oneDNN"]


class strict_fusion:
    """A block whose operators TorchScript must fuse; in Python it warns, as PyTorch's does."""

    def __init__(self) -> None:
        warnings.warn("Only works in script mode", stacklevel=2)

    def __enter__(self) -> None:
        """The operators of the block are called one by one."""

    def __exit__(self, *exception: object) -> None:
        """Nothing was switched."""


def export_opnames(m: Any) -> NoReturn:
    """Refuse to name the operators of TorchScript's bytecode.

    Raises:
        NotImplementedError: always.
    """
    raise_missing(
        "torch.jit.export_opnames",
        "there is no bytecode of TorchScript; `torch.export.export(...).graph` shows the operators",
    )
