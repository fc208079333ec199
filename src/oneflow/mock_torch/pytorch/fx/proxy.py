"""Symbolic values: ``torch.fx.proxy``."""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.layout import Layout, MemoryFormat
from oneflow.base.shape import Size
from oneflow.mock_torch.pytorch.fx.graph import Graph
from oneflow.mock_torch.pytorch.fx.node import Argument, Node, Target, map_aggregate
from oneflow.nn import Parameter
from oneflow.tensor.subclasses import enable_overrides
from oneflow.tensor.tensor import Tensor


class TraceError(ValueError):
    """The error of symbolic tracing where a function asks for a value."""


class TracerBase:
    """Recorder of operations on symbolic values as nodes of a graph."""

    graph: Graph
    #: The class of a symbolic value may be another one.
    proxy_buffer_attributes = False
    trace_asserts = False

    def create_node(
        self,
        kind: str,
        target: Target,
        args: Sequence[Argument],
        kwargs: Mapping[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node to the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """Return the symbolic value of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: Any,
        kwargs: Any,
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Add a node for an operation on values, symbolic ones among them; returns its value."""
        node = self.create_node(
            kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr
        )
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Argument:
        """Return a value as the argument of a node.

        Raises:
            NotImplementedError: a node cannot hold it.
        """
        return map_aggregate(a, self._create_single)

    def _create_single(self, value: Any) -> Argument:
        if isinstance(value, Proxy):
            return value.node
        if value is None or value is ... or isinstance(value, _PLAIN) or callable(value):
            return value
        if hasattr(value, "__fx_create_arg__"):
            return value.__fx_create_arg__(self)
        raise NotImplementedError(
            f"a node's argument cannot be a {type(value).__name__}: {value!r}"
        )

    def to_bool(self, obj: Proxy) -> bool:
        """Refuse to say whether a symbolic value is true.

        Raises:
            TraceError: always.
        """
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Proxy]:
        """Return the members of a symbolic value, where the program says how many there are.

        Raises:
            TraceError: it does not.
        """
        frame = sys._getframe(2)
        for member in dis.get_instructions(frame.f_code):
            if member.offset > frame.f_lasti:
                break
            if member.offset == frame.f_lasti and member.opname == "UNPACK_SEQUENCE":
                members = range(member.argval)
                return (self._member(obj, number) for number in members)
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a "
            "loop or as a *args or **kwargs function argument."
        )

    def _member(self, obj: Proxy, number: int) -> Proxy:
        return self.create_proxy("call_function", operator.getitem, (obj, number), {})

    def keys(self, obj: Proxy) -> Any:
        """Return the keys of a symbolic value."""
        return Attribute(obj, "keys")()


_PLAIN = (str, int, float, bool, complex, bytes, Node, DType, Device, range, Layout, MemoryFormat)


class GraphAppendingTracer(TracerBase):
    """Recorder into a graph that is there.

    Args:
        graph: the graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """A symbolic value: operations on it become nodes of a graph.

    Args:
        node: the node that gives the value.
        tracer: what adds nodes; default: to the node's graph.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> graph = torch.fx.Graph()
        >>> x = torch.fx.Proxy(graph.placeholder("x"))
        >>> torch.relu(x * 2).node.args
        (mul,)
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        enable_overrides()
        self.node = node
        self.tracer = tracer or GraphAppendingTracer(node.graph)

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k.startswith("__") and k.endswith("__"):  # Python asks for its own protocols
            raise AttributeError(k)
        return Attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        """Add the call of the value."""
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Proxy]:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be "
            "recorded, please call torch.fx.wrap('len') at module scope"
        )

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", abs, (self,), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("'Proxy' object does not support item assignment")

    def keys(self) -> Any:
        """Return the keys."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(
        cls, orig_method: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Add the call of a function or method of tensors to the graph."""
        kwargs = kwargs or {}
        tracers: list[TracerBase] = []
        map_aggregate(
            (args, kwargs), lambda x: tracers.append(x.tracer) if isinstance(x, Proxy) else x
        )
        name = orig_method.__name__
        if vars(Tensor).get(name) is orig_method:
            return tracers[0].create_proxy("call_method", name, args, kwargs)
        return tracers[0].create_proxy("call_function", orig_method, args, kwargs)


class ParameterProxy(Proxy):
    """A symbolic parameter whose sizes are numbers, so that conditions may depend on them.

    Args:
        tracer: what records.
        node: its node.
        name: its path.
        param: the parameter.
    """

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Parameter) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, Parameter):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Size:
        """The sizes."""
        return self.param.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.param.ndim

    def size(self) -> Size:
        """Return the sizes."""
        return self.param.shape

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self.param.ndim

    def numel(self) -> int:
        """Return the number of elements."""
        return self.param.numel()

    nelement = numel


class Attribute(Proxy):
    """An attribute of a symbolic value; if it is called, a method.

    Args:
        root: the value.
        attr: the name.
    """

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        """The node that reads the attribute; it is created at first use."""
        if self._node is None:
            args = (self.root, self.attr)
            self._node = self.tracer.create_proxy("call_function", getattr, args, {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        """Add the call of a method."""
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _method(function: Callable[..., Any], *, is_reverse: bool = False) -> Callable[..., Any]:
    def method(*args: Any) -> Any:
        values = args[::-1] if is_reverse else args
        return args[0].tracer.create_proxy("call_function", function, values, {})

    return method


_BINARY = "add sub mul truediv floordiv mod pow matmul lshift rshift and_ or_ xor"
for _name in (
    *_BINARY.split(),
    *["eq", "ne", "lt", "gt", "le", "ge", "getitem", "neg", "pos", "invert"],
):
    _function = getattr(operator, _name)
    _stem = _name.rstrip("_")
    setattr(Proxy, f"__{_stem}__", _method(_function))
    if _name in _BINARY.split():
        setattr(Proxy, f"__r{_stem}__", _method(_function, is_reverse=True))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]


__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]
