"""Errors of ``torch.onnx``."""

from __future__ import annotations

from typing import Any


class OnnxExporterWarning(UserWarning):
    """The class of warnings about exports."""


class OnnxExporterError(RuntimeError):
    """The base of errors of exports."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operator cannot be exported.

    Args:
        name: of the operator.
        version: the version of ONNX's operators.
        supported_version: the first one that has it, if any.
    """

    def __init__(self, name: str, version: int, supported_version: int | None) -> None:
        since = f"; version {supported_version} has it" if supported_version is not None else ""
        super().__init__(f"the operator '{name}' has no counterpart in version {version}{since}")


class SymbolicValueError(OnnxExporterError):
    """A value cannot be exported.

    Args:
        msg: what is wrong.
        value: the value.
    """

    def __init__(self, msg: str, value: Any) -> None:
        super().__init__(f"{msg} (the value is {value})")
