"""`flow_op`: handlers of users for primitives, picked by opset.

A handler is a class with class methods ``Version_N(cls, ctx, node, **kwargs)``. The one with the
largest N up to the opset that is written is called, with the graph `ctx` and the `node` that is to
be replaced. If the decorator names an ONNX operator, the node already is one of that type, and the
handler may change its attributes and inputs; otherwise it builds nodes with ``ctx.MakeNode`` and
returns the last of them.

    @flow_op("relu", "Relu")
    class Relu:
        @classmethod
        def Version_6(cls, ctx, node, **kwargs):
            pass
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np

from oneflow.primitives.registry import PRIMITIVES
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, Lowering
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.schemas import latest_opset

_Operand = TypeVar("_Operand")
# A handler: its function, the ONNX operator that it makes, and further arguments.
HandlerEntry = tuple[Callable[..., Any], "str | None", dict[str, Any]]


class flow_op:
    """Class decorator: a handler for operators of OneFlow.

    Args:
        name: a primitive's name, or a list of them.
        onnx_op: the ONNX operator that it becomes, or a list in parallel; None: the handler builds
            the nodes.
        domain: domain of the ONNX operator.
        flow_ibns: the order in which ONNX takes the operands, by their names in the primitive.
        flow_obns: the order of the results, by place.
        kwargs: given to the handler.

    Raises:
        ValueError: there is no primitive of that name.
        TypeError: the class has no `Version_N`.
    """

    _OPSETS: ClassVar[dict[str, dict[int, dict[str, HandlerEntry]]]] = {}
    ibn4op_type: ClassVar[dict[str, Sequence[str]]] = {}
    obn4op_type: ClassVar[dict[str, Sequence[str]]] = {}

    def __init__(
        self,
        name: str | Sequence[str],
        onnx_op: str | Sequence[str | None] | None = None,
        domain: str = "",
        flow_ibns: Sequence[str] | None = None,
        flow_obns: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        names = [name] if isinstance(name, str) else list(name)
        targets = [onnx_op] * len(names) if isinstance(onnx_op, str | None) else list(onnx_op)
        unknown = [flow_op for flow_op in names if flow_op not in PRIMITIVES]
        if unknown:
            raise ValueError(f"there are no operators {unknown}; their names are those in listings")
        self._pairs = list(zip(names, targets, strict=True))
        self._domain, self._kwargs = domain, kwargs
        for flow_op in names:
            if flow_ibns is not None:
                self.ibn4op_type[flow_op] = flow_ibns
            if flow_obns is not None:
                self.obn4op_type[flow_op] = flow_obns

    def __call__(self, handler: type) -> type:
        """Register the class."""
        matches = [
            (re.fullmatch(r"Version_(\d+)", attribute), attribute) for attribute in dir(handler)
        ]
        versions = [(int(match[1]), name) for match, name in matches if match]
        if not versions:
            raise TypeError(f"{handler.__name__} has no class method `Version_N`")
        opsets = self._OPSETS.setdefault(self._domain, {})
        for version, method in versions:
            for name, target in self._pairs:
                entry = (getattr(handler, method), target, self._kwargs)
                opsets.setdefault(version, {})[name] = entry
        return handler

    @classmethod
    def get_opsets(cls) -> Mapping[str, Mapping[int, Mapping[str, HandlerEntry]]]:
        """All handlers: by domain, opset and operator."""
        return cls._OPSETS

    @classmethod
    def CreateMapping(
        cls, max_onnx_opset_version: int, extra_opsets: Sequence[Any] = ()
    ) -> dict[str, HandlerEntry]:
        """The handler of each operator in an opset: the latest up to it."""
        mapping: dict[str, HandlerEntry] = {}
        for domain in ["", *(opset.domain for opset in extra_opsets)]:
            opsets = cls._OPSETS.get(domain, {})
            for version in sorted(
                version_of_opset
                for version_of_opset in opsets
                if version_of_opset <= max_onnx_opset_version
            ):
                mapping.update(opsets[version])
        return mapping


def registered_handlers(opset: int | None) -> dict[str, Lowering]:
    """The handlers that users have registered, as lowerings."""
    return {name: _lowering_of(name) for name in flow_op.CreateMapping(opset or latest_opset())}


def _lowering_of(name: str) -> Lowering:
    def lower(b: OnnxBuilder, call: Call) -> Any:
        function, target, kwargs = flow_op.CreateMapping(b.opset)[name]
        node = HandledNode(target or name, ordered(name, call.operands), dict(call.attributes))
        if target is not None:
            node.attrs = {}
        ctx = HandlerContext(b, call)
        result = function(ctx, node, **kwargs)
        if result is not None:
            return result.output
        return ctx.MakeNode(node.op_type, node.inputs, attr=node.attrs).output

    return lower


def ordered(name: str, operands: Sequence[_Operand]) -> list[_Operand]:
    """Return the operands of a primitive in the order that its handler declares."""
    order = flow_op.ibn4op_type.get(name)
    if order is None:
        return list(operands)
    places = {operand.lstrip("*"): place for place, operand in enumerate(PRIMITIVES[name].operands)}
    return [operands[places[operand]] for operand in order]


@dataclass
class HandledNode:
    """The node that a handler changes or replaces.

    Attributes:
        op_type: the ONNX operator, or the primitive's name.
        inputs: the values that it reads.
        attrs: its attributes: of the ONNX operator, or of the primitive.
    """

    op_type: str
    inputs: list[Ref]
    attrs: dict[str, Any] = field(default_factory=dict)
    output: Any = None

    @property
    def input_tensor_names(self) -> list[str]:
        """The names of its inputs."""
        return [str(input_.value.name) for input_ in self.inputs]


@dataclass
class HandlerContext:
    """The graph, as a handler sees it."""

    builder: OnnxBuilder
    call: Call

    @property
    def opset(self) -> int:
        """The opset that is written."""
        return self.builder.opset

    def MakeNode(
        self,
        op_type: str,
        inputs: Sequence[Ref],
        attr: Mapping[str, Any] | None = None,
        shape: Sequence[int] | None = None,
        dtype: Any = None,
    ) -> HandledNode:
        """Append a node; its result has the type of the operator's unless that is given."""
        kind = self.call.result
        output = self.builder.op(
            op_type,
            *inputs,
            shape=kind.shape if shape is None else tuple(shape),
            dtype=kind.dtype if dtype is None else np.dtype(dtype),
            **dict(attr or {}),
        )
        return HandledNode(op_type, list(inputs), dict(attr or {}), output)

    def MakeConst(self, value: Any) -> Ref:
        """A constant."""
        return self.builder.constant(np.asarray(value))

    def get_shape(self, value: Ref) -> tuple[Any, ...]:
        """The sizes of a value."""
        return value.shape

    def get_dtype(self, value: Ref) -> np.dtype:
        """The element type of a value."""
        return value.dtype
