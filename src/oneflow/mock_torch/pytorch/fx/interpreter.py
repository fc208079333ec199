"""Running and rewriting symbolic graphs node by node: ``torch.fx.interpreter``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from oneflow import nn
from oneflow.mock_torch.pytorch.fx.code import last_uses
from oneflow.mock_torch.pytorch.fx.graph import Graph
from oneflow.mock_torch.pytorch.fx.graph_module import GraphModule
from oneflow.mock_torch.pytorch.fx.node import Argument, Node, Target, map_aggregate, map_arg
from oneflow.mock_torch.pytorch.fx.proxy import GraphAppendingTracer, Proxy


class Interpreter:
    """Runs a symbolic graph; a subclass replaces what nodes of some kind do.

    Args:
        module: the module with the parameters and modules that the graph names.
        garbage_collect_values: let values go after their last use.
        graph: the graph; default: the module's.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
        >>> class Negative(torch.fx.Interpreter):
        ...     def call_function(self, target, args, kwargs):
        ...         return -super().call_function(target, args, kwargs)
        >>> Negative(traced).run(torch.ones(2))
        tensor([0., 0.])
    """

    def __init__(
        self, module: nn.Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module = module
        self.graph: Graph = graph if graph is not None else module.graph
        self.submodules = dict(module.named_modules())
        self.garbage_collect_values = garbage_collect_values
        self.env: dict[Node, Any] = {}
        self.args_iter: Iterator[Any] = iter(())
        self.user_to_last_uses = last_uses(self.graph) if garbage_collect_values else {}

    def run(
        self,
        *args: Any,
        initial_env: Mapping[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """Run the graph, and return what it returns.

        Args:
            args: the arguments.
            initial_env: values of nodes, which are then not run.
            enable_io_processing: without meaning here.
        """
        self.env = dict(initial_env or {})
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self.run_node(node)
            for member in self.user_to_last_uses.get(node, ()):
                del self.env[member]
            if node.op == "output":
                return self.env[node]
        return None

    def run_node(self, n: Node) -> Any:
        """Run a node, and return its value."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: Any, kwargs: Any) -> Any:
        """Return the next argument, or its default."""
        if str(target).startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f"argument `{target}` is missing") from None

    def get_attr(self, target: Target, args: Any, kwargs: Any) -> Any:
        """Return an attribute of the module."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Call a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Call a method of the first argument."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Call a module of the module."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Target, args: Any, kwargs: Any) -> Any:
        """Return what the graph returns."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """Return an attribute of the module by its path."""
        value: Any = self.module
        for part in target.split("."):
            if not hasattr(value, part):
                raise RuntimeError(f"the graph names `{target}`, which the module has not")
            value = getattr(value, part)
        return value

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Any, Any]:
        """Return the values of a node's arguments."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """Return an argument with the values of its nodes."""
        return map_arg(args, self.env.__getitem__)


class Transformer(Interpreter):
    """Makes a new graph of a module's; a subclass says what becomes of nodes of some kind.

    Args:
        module: the module.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
        >>> class Smooth(torch.fx.Transformer):
        ...     def call_function(self, target, args, kwargs):
        ...         target = torch.sigmoid if target is torch.relu else target
        ...         return super().call_function(target, args, kwargs)
        >>> Smooth(traced).transform()(torch.zeros(2))
        tensor([1.5000, 1.5000])
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.tracer = GraphAppendingTracer(self.new_graph)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Add the argument."""
        default = args[0] if args else ...
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Add the attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Add the call."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Add the call."""
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Add the call."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Return a module of the new graph."""
        result = super().run()
        self.new_graph.output(
            map_aggregate(
                result, lambda member: member.node if isinstance(member, Proxy) else member
            )
        )
        return GraphModule(self.module, self.new_graph)


__all__ = ["Interpreter", "Transformer"]
