"""Modules made of symbolic graphs: ``torch.fx.graph_module``."""

from __future__ import annotations

import copy
import linecache
import sys
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from oneflow import nn
from oneflow.mock_torch.pytorch.fx.code import PythonCode
from oneflow.mock_torch.pytorch.fx.graph import Graph
from oneflow.mock_torch.pytorch.fx.node import path_of
from oneflow.tensor.tensor import Tensor

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_numbers = count()


class _CodeOnlyModule(nn.Module):
    """A module that is read from its code, with the members that it had."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        super().__init__()
        self.__dict__.update(members)


def _set_member(module: nn.Module, path: str, value: Any) -> None:
    *prefixes, name = path.split(".")
    for member in prefixes:
        if getattr(module, member, None) is None:
            setattr(module, member, nn.Module())
        module = getattr(module, member)
    if isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _member(module: Any, path: str) -> Any:
    for member in path.split("."):
        module = getattr(module, member)
    return module


def _copy_attr(from_module: nn.Module, to_module: nn.Module, target: str) -> None:
    """Set a member of a module to another module's."""
    if not isinstance(_find(to_module, target), nn.Module):
        _set_member(to_module, target, _member(from_module, target))


def _find(module: Any, path: str) -> Any:
    for member in path.split("."):
        module = getattr(module, member, None)
    return module


def _function(code: PythonCode) -> Any:
    """The function of a source, which appears in error messages with its lines."""
    file = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[file] = (len(code.src), None, code.src.splitlines(keepends=True), file)
    names = dict(code.globals)
    exec(compile(code.src, file, "exec"), names)
    return names["forward"]


class GraphModule(nn.Module):
    """A module whose `forward` is a symbolic graph.

    Args:
        root: the module with the parameters and modules that the graph names, or a mapping of them.
        graph: the graph.
        class_name: the name of the module's class.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
        >>> traced(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
        >>> print(traced.code.strip())
        def forward(self, input):
            input_1 = input
            _0 = getattr(self, "0")(input_1);  input_1 = None
            return _0
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        """Return an object of a class of its own, whose `forward` is the graph's."""
        plain = next((x for x in cls.__mro__ if "_is_of_one_object" not in vars(x)), cls)
        kind = type(plain.__name__, (plain,), {"_is_of_one_object": True})
        return super().__new__(kind)

    def __init__(
        self, root: nn.Module | Mapping[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__()
        type(self).__name__ = class_name
        self.meta: dict[str, Any] = {}
        targets = [x.target for x in graph.nodes if x.op in ("get_attr", "call_module")]
        if isinstance(root, nn.Module):
            self.training = root.training
            self.meta.update(getattr(root, "meta", None) or {})
            for target in map(str, targets):
                _copy_attr(root, self, target)
        else:
            for target in sorted(
                dict.fromkeys(map(str, targets)), key=lambda member: member.count(".")
            ):
                if target not in root:
                    raise RuntimeError(
                        f"`root` must have all that the graph names; it lacks `{target}`"
                    )
                _set_member(self, target, root[target])
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph; a new one changes what the module computes."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"`graph` must be a Graph, got {type(g).__name__}")
        self.__dict__["_graph"] = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of `forward`."""
        return self._code

    def recompile(self) -> PythonCode:
        """Take over what was changed in the graph, and return the source."""
        code = self._graph.python_code("self")
        self.__dict__["_code"] = code.src
        setattr(type(self), "forward", _function(code))  # noqa: B010
        return code

    def add_submodule(self, target: str, m: nn.Module) -> bool:
        """Add a module by its path; returns False where something else is."""
        *prefixes, _ = target.split(".")
        member: Any = self
        for name in prefixes:
            member = getattr(member, name, nn.Module())
            if not isinstance(member, nn.Module):
                return False
        _set_member(self, target, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Delete a module by its path; returns False if there is none."""
        parent, _, name = target.rpartition(".")
        owner = _find(self, parent) if parent else self
        if not isinstance(getattr(owner, name, None), nn.Module):
            return False
        delattr(owner, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Delete the modules that no node calls or reads from."""
        used = {
            ".".join(parts[:size])
            for node in self._graph.nodes
            if node.op in ("call_module", "get_attr")
            for parts in [str(node.target).split(".")]
            for size in range(1, len(parts) + 1)
        }
        called = [str(x.target) for x in self._graph.nodes if x.op == "call_module"]
        for name, _ in list(self.named_modules()):
            is_inside = any(name.startswith(f"{member}.") for member in called)
            if name and name not in used and not is_inside:
                self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """Print the source of the module's class, and return it."""
        lines = ["    " + line for line in self._code.strip().splitlines()]
        text = "\n".join([f"class {type(self).__name__}(torch.nn.Module):", *lines])
        if print_output:
            sys.stdout.write(f"{text}\n")
        return text

    def to_folder(self, folder: str | Path, module_name: str = "FxModule") -> None:
        """Refuse to write a package; `torch.save` keeps the module.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("`GraphModule.to_folder`: `torch.save` keeps the module")

    @property
    def _tracer_cls(self) -> Any:
        """The class that has traced the graph; None if there was none, or it is another one's."""
        return self._graph._tracer_cls

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        members = {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code")}
        root = _CodeOnlyModule(copy.deepcopy(members, memo))
        return self._like(root)

    def __copy__(self) -> GraphModule:
        return self._like(self)

    def _like(self, root: nn.Module) -> GraphModule:
        copied = GraphModule.__new__(type(self))
        GraphModule.__init__(copied, root, copy.deepcopy(self._graph), type(self).__name__)
        copied._take_attributes(root.__dict__)
        return copied

    def _take_attributes(self, members: Mapping[str, Any]) -> None:
        """Take the attributes of another one that are no parts of the graph."""
        for name, value in members.items():
            if name not in ("_graph", "_code", "_parameters", "_buffers", "_modules"):
                self.__dict__[name] = value

    def __reduce__(self) -> Any:
        members = {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code")}
        return _rebuild_graph_module, (members, self._graph, type(self).__name__)

    def __reduce_package__(self, exporter: Any) -> tuple[Any, ...]:
        """Return what makes it of a package; its functions must be those that the importers find.

        Args:
            exporter: writes the package.

        Raises:
            ObjMismatchError: a function is another one.
        """
        for node in self._graph.nodes:
            if node.op == "call_function" and path_of(node.target) is None:
                exporter.importer.get_name(node.target)
        return _rebuild_in_package, self.__reduce__()[1]

    def __str__(self) -> str:
        return f"{super().__str__()}\n\n{self._code}"


def _rebuild_graph_module(members: dict[str, Any], graph: Graph, name: str) -> GraphModule:
    module = GraphModule(_CodeOnlyModule(members), graph, name)
    module._take_attributes(members)
    return module


def _rebuild_in_package(_: Any, *arguments: Any) -> GraphModule:
    """The module of a package, whose importer has found its functions."""
    return _rebuild_graph_module(*arguments)


__all__ = ["_USER_PRESERVED_ATTRIBUTES_KEY", "GraphModule", "_CodeOnlyModule", "_copy_attr"]
