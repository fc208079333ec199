"""``torch.fx.experimental.proxy_tensor``: graphs of the operators that a function calls."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping
from typing import Any

from oneflow.mock_torch.missing import raise_missing
from oneflow.mock_torch.pytorch.aten import OpOverload
from oneflow.mock_torch.pytorch.fx.graph import Graph
from oneflow.mock_torch.pytorch.fx.graph_module import GraphModule
from oneflow.mock_torch.pytorch.fx.node import Node
from oneflow.mock_torch.pytorch.utils._python_dispatch import TorchDispatchMode
from oneflow.mock_torch.pytorch.utils._pytree import tree_map
from oneflow.module.parameter import Parameter
from oneflow.tensor.composed import ComposedTensor
from oneflow.tensor.python_dispatch import DISPATCH, is_wrapper
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap

_TRACING_MODES = ("real", "fake")


class ProxyTorchDispatchMode(TorchDispatchMode):
    """A mode that writes each operator into a graph, and computes it.

    Tensors that the graph does not have are taken to be constants of the module.

    Args:
        graph: the graph.
        decomposition_table: functions that are called in place of operators.
    """

    def __init__(
        self,
        graph: Graph,
        decomposition_table: Mapping[OpOverload, Callable[..., Any]] | None = None,
    ) -> None:
        super().__init__()
        self.graph = graph
        self.constants: dict[str, Tensor] = {}
        self._decompositions = decomposition_table or {}
        # Nodes by the identities of tensors and of their arrays, which are kept, so that nothing
        # else gets one.
        self._nodes: dict[int, tuple[Tensor, Any, Node]] = {}

    def track(self, tensor: Tensor, node: Node) -> None:
        """Say which node a tensor is the value of."""
        node.meta["val"] = tensor
        array = _array_of(tensor)
        self._nodes[id(tensor)] = self._nodes[id(array)] = tensor, array, node

    def node_of(self, value: Any) -> Any:
        """Return the node of a tensor, a new one of a constant; other values themselves."""
        if not isinstance(value, Tensor):
            return value
        # Backward passes get other handles on the arrays that they have saved.
        entry = self._nodes.get(id(value)) or self._nodes.get(id(_array_of(value)))
        if entry is not None:
            return entry[-1]
        kind = "_param_constant" if isinstance(value, Parameter) else "_tensor_constant"
        name = f"{kind}{sum(name.startswith(kind) for name in self.constants)}"
        self.constants[name] = value
        node = self.graph.get_attr(name)
        self.track(value, node)
        return node

    def __torch_dispatch__(
        self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Write an operator into the graph; returns its result."""
        kwargs = kwargs or {}
        if func in self._decompositions:
            with self:
                result = self._decompositions[func](*args, **kwargs)
            if result is not NotImplemented:
                return result
        arguments = tree_map(self.node_of, (args, kwargs))
        result = func(*args, **kwargs)
        self._track_result(
            result, self.graph.call_function(func, *arguments, name=func.overloadpacket.__name__)
        )
        return result

    def _track_result(self, result: Any, node: Node) -> None:
        if isinstance(result, Tensor):
            self.track(result, node)
        elif isinstance(result, tuple | list):
            for place, member in enumerate(result):
                self._track_result(
                    member, self.graph.call_function(operator.getitem, (node, place))
                )


def _array_of(tensor: Tensor) -> Any:
    """The array that other handles on a value have, too; of a tensor without one itself."""
    if isinstance(tensor, ComposedTensor) or is_wrapper(tensor):
        return tensor
    return unwrap(tensor).read()


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Mapping[OpOverload, Callable[..., Any]] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    **options: Any,
) -> Callable[..., GraphModule]:
    """Return a function that calls `f`, and gives the graph of the operators that `f` called.

    The graph has the operators of backward passes that `f` runs, too. Sizes, numbers that `f`
    reads and the branches that it takes are those of this call.

    Args:
        f: a function or module.
        decomposition_table: functions that are called in place of operators.
        tracing_mode: ``"real"``, or ``"fake"``, which gives the same graph here.
        _allow_non_fake_inputs: changes nothing.
        pre_dispatch: must be False: operators are those beneath autograd.
        options: change nothing.

    Raises:
        NotImplementedError: another `tracing_mode`, or `pre_dispatch`.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.fx.experimental.proxy_tensor import make_fx
        ...     traced = make_fx(lambda x: torch.nn.functional.linear(x, x))(torch.ones(1, 2))
        >>> print(traced.code.strip())
        def forward(self, x_1):
            t = torch.ops.aten.t.default(x_1)
            mm = torch.ops.aten.mm.default(x_1, t);  x_1 = t = None
            return mm
    """
    if tracing_mode not in _TRACING_MODES or pre_dispatch:
        raise_missing(
            "make_fx",
            f"`tracing_mode` must be one of {_TRACING_MODES} and `pre_dispatch` False: the sizes in"
            f" a graph are numbers, got {tracing_mode!r}, {pre_dispatch}",
        )

    @functools.wraps(f)
    def traced(*args: Any) -> GraphModule:
        mode = ProxyTorchDispatchMode(Graph(), decomposition_table)
        _add_placeholders(mode, _names(f, args), args)
        with mode:
            result = f(*args)
        mode.graph.output(tree_map(mode.node_of, result))
        return GraphModule(mode.constants, mode.graph, getattr(f, "__name__", type(f).__name__))

    return traced


def _names(f: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """The names of arguments: those of parameters, or numbered ones."""
    names: list[str] = []
    parameters = [] if hasattr(f, "forward") else inspect.signature(f).parameters.values()
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            break
        names.append(parameter.name)
    return [*names[: len(args)], *(f"arg{place}" for place in range(len(names), len(args)))]


def _add_placeholders(
    mode: ProxyTorchDispatchMode, names: list[str], args: tuple[Any, ...]
) -> None:
    """Make arguments of the graph, and nodes that read their members."""
    is_flat = {id(arg): isinstance(arg, Tensor | int | float | str | None) for arg in args}
    nodes = [
        mode.graph.placeholder(f"{name}_1" if is_flat[id(arg)] else name)
        for name, arg in zip(names, args, strict=True)
    ]
    for arg, node in zip(args, nodes, strict=True):
        _track_members(mode, arg, node)


def _track_members(mode: ProxyTorchDispatchMode, value: Any, node: Node) -> None:
    if isinstance(value, Tensor):
        mode.track(value, node)
        return
    members: Any = ()
    if isinstance(value, tuple | list):
        members = enumerate(value)
    elif isinstance(value, dict):
        members = value.items()
    for key, member in members:
        _track_members(mode, member, mode.graph.call_function(operator.getitem, (node, key)))


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """Return the innermost mode that writes a graph; None if no function is being traced."""
    modes = (mode for mode in reversed(DISPATCH.modes) if isinstance(mode, ProxyTorchDispatchMode))
    return next(modes, None)


__all__ = ["ProxyTorchDispatchMode", "get_proxy_mode", "make_fx"]
