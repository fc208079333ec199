"""Handlers of users for ONNX operators: classes with one method per version.

    @onnx_op("Scale")
    @domain("my.company")
    @flow_func(lambda x, *, factor=1.0: x * factor)
    class Scale(BackendHandler):
        @classmethod
        def version_1(cls, node, tensor_dict, **kwargs):
            return cls.run_onnx_node(node, tensor_dict, **kwargs)

A handler takes the place of a built-in one of the same name and version.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oneflow_onnx.x2oneflow.registry import Evaluation, Operator, add_operator
from oneflow_onnx.x2oneflow.values import Value


@dataclass(frozen=True)
class HandlerNode:
    """A call of an operator: its attributes, and the names of its inputs in the tensor table."""

    op_type: str
    input_tensor_names: list[str]
    attrs: dict[str, Any]


class BackendHandler:
    """Base class of handlers: classmethods ``version_N(cls, node, tensor_dict, **kwargs)``.

    `node` is a `HandlerNode`, `tensor_dict` maps the names of its inputs to values. A version
    serves all operator sets from N to the next one.
    """

    DOMAIN = ""
    FLOW_FUNC: Callable[..., Any] | None = None

    @classmethod
    def run_onnx_node(
        cls,
        node: HandlerNode,
        tensor_dict: Mapping[str, Value],
        flow_func: Callable[..., Any] | None = None,
        inputs: Sequence[Value] | None = None,
        attrs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Call the function of `flow_func` with the inputs and the attributes of `node`."""
        function = flow_func or cls.FLOW_FUNC
        if function is None:
            raise TypeError(f"`{cls.__name__}` has no function: decorate it with `flow_func`")
        if inputs is None:
            inputs = [tensor_dict[name] if name else None for name in node.input_tensor_names]
        return function(*inputs, **(node.attrs if attrs is None else attrs))


def flow_func(function: Callable[..., Any]) -> Callable[[type], type]:
    """Name the function that a handler's `run_onnx_node` calls."""

    def decorate(handler: type) -> type:
        handler.FLOW_FUNC = staticmethod(function)
        return handler

    return decorate


def domain(name: str) -> Callable[[type], type]:
    """Name the domain of a handler's operator; write it below `onnx_op`."""

    def decorate(handler: type) -> type:
        handler.DOMAIN = name
        return handler

    return decorate


def onnx_op(name: str) -> Callable[[type[BackendHandler]], type[BackendHandler]]:
    """Register a handler class for the ONNX operator `name`."""

    def register(handler: type[BackendHandler]) -> type[BackendHandler]:
        versions = sorted(
            int(match[1]) for n in dir(handler) if (match := re.fullmatch(r"version_(\d+)", n))
        )
        if not versions:
            raise TypeError(f"handler `{handler.__name__}` has no method version_N")
        for version in versions:
            function = _function(name, getattr(handler, f"version_{version}"))
            no_positions: frozenset[int] = frozenset()
            record = Operator(
                handler.DOMAIN,
                name,
                version,
                function,
                no_positions,
                Evaluation.TENSORS,
                no_positions,
            )
            add_operator(record, replace=True)
        return handler

    return register


def _function(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a handler's method as a function of operands and attributes."""

    def call(*operands: Value, **attributes: Any) -> Any:
        names = [f"input_{i}" if value is not None else "" for i, value in enumerate(operands)]
        tensors = {n: value for n, value in zip(names, operands, strict=True) if n}
        result = method(HandlerNode(name, names, attributes), tensors)
        return tuple(result) if isinstance(result, list) else result

    return call
