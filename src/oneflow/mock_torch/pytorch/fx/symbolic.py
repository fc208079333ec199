"""``torch.fx``: types without objects, since functions are not traced symbolically."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from oneflow import nn
from oneflow.mock_torch.missing import MissingTracing, raise_tracing as symbolic_trace

Wrapped = TypeVar("Wrapped", str, Callable[..., Any])


class Graph(MissingTracing):
    """The type of symbolic graphs."""


class Node(MissingTracing):
    """The type of a symbolic graph's nodes."""


class Proxy(MissingTracing):
    """The type of symbolic values."""


class Tracer(MissingTracing):
    """The type of what records functions symbolically."""


class Interpreter(MissingTracing):
    """The type of what runs symbolic graphs."""


class Transformer(Interpreter):
    """The type of what rewrites symbolic graphs."""


class GraphModule(MissingTracing, nn.Module):
    """The type of modules made of symbolic graphs."""


def wrap(fn_or_name: Wrapped) -> Wrapped:
    """Return a function, or its name, as it is: nothing would look into it."""
    return fn_or_name


__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "symbolic_trace",
    "wrap",
]
