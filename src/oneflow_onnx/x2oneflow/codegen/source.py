"""`Source`: what the templates of lines want to know about a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from oneflow_onnx.x2oneflow.codegen.folding import Partial, Shapes, fold
from oneflow_onnx.x2oneflow.codegen.host_values import host_names, inner_host_names
from oneflow_onnx.x2oneflow.codegen.lines import Layer, LiteralSlot
from oneflow_onnx.x2oneflow.codegen.literals import is_number, number_literal
from oneflow_onnx.x2oneflow.prepared_graph import NodeCall, PreparedGraph
from oneflow_onnx.x2oneflow.trainable import InitializerKind, classify


@dataclass(frozen=True)
class Source:
    """A model's graph with facts about its values.

    Attributes:
        state: parameters and buffers by name.
        kinds: whether they are parameters or buffers.
        constants: constants by name.
        uses: how often every value is read.
        host: the names of values that stay on the host.
        partial: shapes of which some sizes are known.
        shapes: the shapes of values, as far as ONNX infers them.
    """

    prepared: PreparedGraph
    state: Mapping[str, np.ndarray]
    kinds: Mapping[str, InitializerKind]
    constants: Mapping[str, np.ndarray]
    uses: Counter[str]
    host: frozenset[str]
    partial: Mapping[str, Partial]
    shapes: Mapping[str, list[int | None]]

    @classmethod
    def of(cls, model: onnx.ModelProto, prepared: PreparedGraph) -> Source:
        """Return the source of a model and its prepared graph."""
        kinds = classify(prepared)
        constants = {
            n: a for n, a in prepared.constants.items() if kinds[n] is InitializerKind.CONSTANT
        }
        state = {n: a for n, a in prepared.constants.items() if n not in constants}
        shapes = Shapes(model)
        folded, partial = fold(prepared, constants, shapes)
        uses = _uses(prepared)
        host = host_names(prepared, folded)
        for call in prepared.calls:
            _transpose_weight(call, state, kinds, uses)
        return cls(prepared, state, kinds, folded, uses, host, partial, shapes.known)

    def inside(self, call: NodeCall, prepared: PreparedGraph) -> Source:
        """Return the source of a subgraph of a call, or of its function.

        State from around it is among its inputs; constants are known in it.
        """
        kinds = classify(prepared)
        state = {
            n: a for n, a in prepared.constants.items() if kinds[n] is not InitializerKind.CONSTANT
        }
        inner = {n: a for n, a in prepared.constants.items() if n not in state}
        host = inner_host_names(call, prepared, self.host)
        constants = {**self.constants, **inner}
        return Source(prepared, state, kinds, constants, _uses(prepared), host, {}, self.shapes)

    @property
    def done(self) -> set[str]:
        """The names of values that need no line: constants, and weights that were transposed."""
        return self.constants.keys() | self.state.keys()

    def rank(self, name: str) -> int:
        """Return the number of dimensions of a value, 0 if it is not known."""
        return len(self.shapes.get(name, ()))

    def is_exclusive(self, name: str) -> bool:
        """Return True for state that one node reads, once."""
        return name in self.state and self.uses[name] == 1

    def stored(self, name: str, array: np.ndarray | None = None) -> Layer:
        """Return a parameter or buffer that is read by itself."""
        value = self.state[name] if array is None else array
        slots = (LiteralSlot("shape", tuple(value.shape)),)
        if self.kinds[name] is InitializerKind.PARAMETER:
            construction = "nn.Parameter(flow.empty({}" + _dtype_argument(value) + "))"
            return Layer("weight", construction, slots, {"": value})
        return Layer("buffer", "flow.empty({}" + _dtype_argument(value) + ")", slots, {"": value})

    def scalar(self, name: str) -> str | None:
        """Return the literal of a constant that is one number, or None."""
        array = self.constants.get(name)
        if array is None or array.size != 1 or not is_number(array):
            return None
        return number_literal(array)


def _uses(prepared: PreparedGraph) -> Counter[str]:
    """The number of times that every value is read; all reads inside a call count as one."""
    uses = Counter(name for call in prepared.calls for name in call.node.input if name)
    for call in prepared.calls:
        uses.update(call.reads() - set(call.node.input))
    uses.update(prepared.outputs)
    return uses


def _transpose_weight(
    call: NodeCall,
    state: dict[str, np.ndarray],
    kinds: dict[str, InitializerKind],
    uses: Counter[str],
) -> None:
    """Store the weight that a Transpose alone reads in its result's layout."""
    name = call.node.input[0] if call.node.op_type == "Transpose" else ""
    if name in state and uses[name] == 1 and call.node.output[0] not in call.node.input:
        transposed = call.node.output[0]
        state[transposed] = state.pop(name).transpose(call.attributes.get("perm"))
        kinds[transposed] = kinds[name]


def _dtype_argument(array: np.ndarray) -> str:
    return "" if array.dtype == np.float32 else f", dtype=flow.{array.dtype.name}"
