"""Common subexpressions: ``torch.fx.passes.dialect.common.cse_pass``."""

from __future__ import annotations

from typing import Any

from oneflow.mock_torch.pytorch.fx.graph import Graph
from oneflow.mock_torch.pytorch.fx.graph_module import GraphModule
from oneflow.mock_torch.pytorch.fx.node import Argument, Node, map_arg, module_of
from oneflow.mock_torch.pytorch.fx.passes.infra.pass_base import PassBase, PassResult

#: Operators that draw, and that write in place: two calls are not one.
_BANNED = (
    "dropout _fused_dropout _standard_gamma bernoulli multinomial native_dropout normal poisson "
    "binomial rrelu rand_like rand randint randn randperm add_ sub_ mul_ div_ pow_ lerp_ relu_ "
    "sigmoid_ tanh_"
)


def get_CSE_banned_ops() -> set[Any]:
    """Return the operators of ATen whose calls each count: those that draw or write in place."""
    aten = module_of("torch").ops.aten
    operators = (getattr(aten, name, None) for name in _BANNED.split())
    return {operator for operator in operators if operator is not None}


def _key(value: Argument) -> Any:
    """Return something that is equal for equal arguments, and can be a key."""
    if isinstance(value, list | tuple):
        return type(value).__name__, tuple(map(_key, value))
    if isinstance(value, dict):
        return "dict", tuple((name, _key(part)) for name, part in value.items())
    if isinstance(value, slice):
        return "slice", _key((value.start, value.stop, value.step))
    # 1, 1.0 and True are equal, and mean different things.
    return type(value), value


class CSEPass(PassBase):
    """A pass after which equal calls of equal arguments are one node.

    It looks at how nodes are connected alone: for graphs whose operators have no effects.

    Args:
        banned_ops: operators whose calls each count.
    """

    def __init__(self, banned_ops: set[Any] | None = None) -> None:
        self.banned_ops = set() if banned_ops is None else banned_ops

    def call(self, graph_module: Any) -> PassResult:
        """Return the module, or a new one with fewer nodes."""
        graph = Graph()
        copies: dict[Node, Node] = {}
        by_call: dict[Any, Node] = {}
        is_modified = False
        for node in graph_module.graph.nodes:
            operator = getattr(node.target, "overloadpacket", node.target)
            if node.op in ("placeholder", "output", "get_attr") or operator in self.banned_ops:
                copies[node] = graph.node_copy(node, copies.__getitem__)
                continue
            args, kwargs = map_arg((node.args, dict(node.kwargs)), copies.__getitem__)
            key = node.op, node.target, _key(args), _key(kwargs)
            if key in by_call:
                is_modified = True
            else:
                by_call[key] = graph.node_copy(node, copies.__getitem__)
            copies[node] = by_call[key]
        if not is_modified:
            return PassResult(graph_module, False)
        return PassResult(GraphModule(graph_module, graph), True)
