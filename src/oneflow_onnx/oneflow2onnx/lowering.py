"""The table of lowerings: how each primitive is written in ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oneflow.base.function_table import FunctionTable
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.trace import TracedValue


@dataclass(frozen=True, eq=False)
class Call:
    """A primitive that is to be written, with the ONNX values of its operands.

    Attributes:
        primitive: its name.
        attributes: its attributes.
        operands: the values that it reads.
        results: types of what it makes.
        producer_calls: for values so far, the call that made each, and which of its results it is.
    """

    primitive: str
    attributes: Mapping[str, Any]
    operands: Sequence[Ref]
    results: Sequence[TracedValue]
    producer_calls: Mapping[Ref, tuple[Call, int]]

    @property
    def result(self) -> TracedValue:
        """The type of its first result."""
        return self.results[0]

    def __getitem__(self, name: str) -> Any:
        """An attribute."""
        return self.attributes[name]

    def producer_of(self, ref: Ref, primitive: str) -> Call | None:
        """The call that made a value, if it is one of that primitive."""
        entry = self.producer_calls.get(ref)
        return entry[0] if entry is not None and entry[0].primitive == primitive else None


# Writes a call; returns its result, or one value per result: None for those it cannot give.
Lowering = Callable[[OnnxBuilder, Call], "Ref | Sequence[Ref | None]"]

LOWERINGS: FunctionTable[Lowering] = FunctionTable("a lowering of primitive")
lowering = LOWERINGS.register


class Unsupported(Exception):
    """A call cannot be written in ONNX; the message says why."""
