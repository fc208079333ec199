"""The errors of an export."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow_onnx.oneflow2onnx.emission import Failure

_HINT = (
    "What to do: call `model.eval()` if only training needs them; ask for a later opset; write "
    "that part of the model with other operators; or register a handler of your own with "
    "`oneflow_onnx.oneflow2onnx.handler.flow_op`"
)


class UnsupportedOperatorsError(RuntimeError):
    """Some operators of a model cannot be written in ONNX; the message lists all of them.

    Attributes:
        failures: what could not be written.
        opset: the opset that was tried.
    """

    def __init__(self, failures: Sequence[Failure], opset: int) -> None:
        rows = [
            f"  {failure.scope or '(model)'}: `{failure.primitive}`: {failure.reason}"
            for failure in failures
        ]
        super().__init__(
            f"{len(failures)} operators cannot be exported in opset {opset}:\n"
            + "\n".join(rows)
            + f"\n{_HINT}"
        )
        self.failures = tuple(failures)
        self.opset = opset


class OpsetError(ValueError):
    """A model needs a later opset than the requested one."""
