"""Symbolic tracing: ``torch.fx._symbolic_trace``."""

from __future__ import annotations

import functools as functools
import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any

from oneflow import nn
from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.mock_torch.pytorch.fx._compatibility import compatibility as compatibility
from oneflow.mock_torch.pytorch.fx.graph import Graph
from oneflow.mock_torch.pytorch.fx.graph_module import GraphModule
from oneflow.mock_torch.pytorch.fx.node import Argument
from oneflow.mock_torch.pytorch.fx.patching import (
    _autowrap_check,
    _orig_module_call,
    _orig_module_getattr,
    _patch_wrapped_functions,
    _Patcher,
    wrap as wrap,
)
from oneflow.mock_torch.pytorch.fx.proxy import ParameterProxy, Proxy, TracerBase
from oneflow.mock_torch.pytorch.top_level import ScriptObject as ScriptObject, _assert
from oneflow.tensor.subclasses import enable_overrides
from oneflow.tensor.tensor import Tensor

_LIBRARY = "oneflow.nn."
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _assert_is_none(value: Any, msg: str) -> None:
    """Raise an AssertionError unless a value is None."""
    if value is not None:
        raise AssertionError(msg)


class Tracer(TracerBase):
    """Recorder of functions and modules as symbolic graphs.

    Args:
        autowrap_modules: modules whose functions are recorded as they are.
        autowrap_functions: functions that are recorded as they are.
        param_shapes_constant: sizes of parameters are numbers, which are not recorded.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> graph = torch.fx.Tracer().trace(lambda x: torch.relu(x) + 1)
        >>> [node.op for node in graph.nodes]
        ['placeholder', 'call_function', 'call_function', 'output']
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        functions = [
            value
            for module in autowrap_modules
            for name, value in vars(module).items()
            if name[:1] != "_" and callable(value)
        ]
        self._autowrap_function_ids = {id(value) for value in (*functions, *autowrap_functions)}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.root: nn.Module = nn.Module()
        self.submodule_paths: dict[nn.Module, str] = {}
        self.module_stack: dict[str, Any] = {}

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Return whether a module's call is one node: a layer's is, but not `Sequential`'s."""
        return type(m).__module__.startswith(_LIBRARY) and not isinstance(m, nn.Sequential)

    def path_of_module(self, mod: nn.Module) -> str:
        """Return the path of a module in the one that is traced.

        Raises:
            NameError: it is not in it.
        """
        for name, member in self.root.named_modules():
            if member is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: nn.Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Record the call of a module as a node, or what it does."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Return what a module's attribute is while it is traced: parameters are symbolic.

        Args:
            attr: the name.
            attr_val: the attribute.
            parameter_proxy_cache: the symbolic values that there are, by their paths.
        """
        is_symbolic = isinstance(attr_val, nn.Parameter) or (
            self.proxy_buffer_attributes and isinstance(attr_val, Tensor)
        )
        if not is_symbolic:
            return attr_val
        path = self._path_of_tensor(attr_val)
        if path not in parameter_proxy_cache:
            make = None
            if self.param_shapes_constant and isinstance(attr_val, nn.Parameter):
                make = functools.partial(ParameterProxy, self, name=path, param=attr_val)
            parameter_proxy_cache[path] = self.create_proxy(
                "get_attr", path, (), {}, proxy_factory_fn=make
            )
        return parameter_proxy_cache[path]

    def create_arg(self, a: Any) -> Argument:
        """Return a value as the argument of a node; named tuples are nodes of their own."""
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), super().create_arg(tuple(a)), {})
        return super().create_arg(a)

    def _create_single(self, value: Any) -> Argument:
        if isinstance(value, Tensor):
            return self.create_node("get_attr", self._path_of_tensor(value), (), {})
        if isinstance(value, nn.Module):
            return self.create_node("get_attr", self.path_of_module(value), (), {})
        return super()._create_single(value)

    def _path_of_tensor(self, tensor: Tensor) -> str:
        members = (self.root.named_parameters(), self.root.named_buffers())
        for name, member in (pair for pairs in members for pair in pairs):
            if member is tensor:
                return name
        for path, module in self.root.named_modules():
            for name, member in vars(module).items():
                if member is tensor:
                    return f"{path}.{name}" if path else name
        number = 0
        while hasattr(self.root, f"_tensor_constant{number}"):
            number += 1
        setattr(self.root, f"_tensor_constant{number}", tensor)
        return f"_tensor_constant{number}"

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: Mapping[str, Any] | None = None,
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Return the function to call, and its arguments, symbolic ones in the place of values."""
        parameters = list(inspect.signature(root_fn).parameters.values())
        values: dict[str, Any] = {parameters[0].name: self.root} if is_module else {}
        constants = concrete_args or {}
        for member in parameters[len(values) :]:
            if member.name in constants:
                values[member.name] = constants[member.name]
                self._specialize(member, constants[member.name], f"{member.name}_1")
            else:
                values[member.name] = self._symbolic_argument(member, member.name)
        if all(member.kind in _POSITIONAL for member in parameters):
            return root_fn, list(values.values())
        plain = _with_plain_parameters(root_fn)
        return plain, [values[name] for name in inspect.signature(plain).parameters]

    def _symbolic_argument(self, parameter: inspect.Parameter, name: str) -> Proxy:
        prefixes = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
        default = () if parameter.default is parameter.empty else (parameter.default,)
        has_type = parameter.annotation is not parameter.empty and parameter.kind not in prefixes
        kind = parameter.annotation if has_type else None
        path = prefixes.get(parameter.kind, "") + name
        return self.create_proxy("placeholder", path, default, {}, type_expr=kind)

    def _specialize(self, parameter: inspect.Parameter, value: Any, name: str) -> None:
        """Record that an argument must have the value that was given."""
        argument = self._symbolic_argument(parameter.replace(annotation=parameter.empty), name)
        message = f"{parameter.name} has been specialized to have value {value} but got another"
        if value is None:
            args = argument, f"{message} value"
            self.create_proxy("call_function", _assert_is_none, args, {})
        elif isinstance(value, bool | int | float | complex | str | DType | Device):
            args = argument == value, f"{message} value"
            self.create_proxy("call_function", _assert, args, {})
        else:
            warnings.warn(
                f"the value of `{parameter.name}` cannot be checked: the traced function must get "
                "what it was traced with",
                stacklevel=4,
            )

    def trace(
        self,
        root: nn.Module | Callable[..., Any],
        concrete_args: Mapping[str, Any] | None = None,
    ) -> Graph:
        """Return what a module or function computes as a graph.

        Args:
            root: the module or function.
            concrete_args: values of arguments, which are then not symbolic.
        """
        enable_overrides()
        is_module = isinstance(root, nn.Module)
        function: Any = type(root).forward if is_module else root
        self.root = root if isinstance(root, nn.Module) else nn.Module()
        self.graph = Graph(tracer_cls=type(self))
        names = getattr(inspect.unwrap(function), "__globals__", {})
        kind = getattr(function, "__annotations__", {}).get("return")
        function, args = self.create_args_for_root(function, is_module, concrete_args)
        with _Patcher() as patcher:
            self._patch_modules(patcher)
            _patch_wrapped_functions(patcher)
            for home in (names, *map(vars, self._autowrap_search)):
                _autowrap_check(patcher, home, self._autowrap_function_ids)
            result = function(*args)
            self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=kind)
        return self.graph

    def _patch_modules(self, patcher: _Patcher) -> None:
        """Ask this tracer how modules are called."""
        proxies: dict[str, Any] = {}

        def call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return _orig_module_call(module, *args, **kwargs)

            names = getattr(module.forward, "__globals__", {})
            _autowrap_check(patcher, names, self._autowrap_function_ids)
            return self.call_module(module, forward, args, kwargs)

        def get(module: nn.Module, name: str) -> Any:
            return self.getattr(name, _orig_module_getattr(module, name), proxies)

        patcher.patch_method(nn.Module, "__call__", call, deduplicate=False)
        patcher.patch_method(nn.Module, "__getattr__", get, deduplicate=False)


def _with_plain_parameters(function: Any) -> Callable[..., Any]:
    """A function whose ``*args`` and ``**kwargs`` are plain parameters, and all are positional.

    A symbolic value takes the place of each, which could not be unpacked.
    """
    code = function.__code__
    flags = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    count = bin(code.co_flags & flags).count("1")
    plain = code.replace(
        co_argcount=code.co_argcount + code.co_kwonlyargcount + count,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~flags,
    )
    return FunctionType(plain, function.__globals__, function.__name__, None, function.__closure__)


def symbolic_trace(
    root: nn.Module | Callable[..., Any], concrete_args: Mapping[str, Any] | None = None
) -> GraphModule:
    """Return a module that computes what a module or function does, with the graph of it.

    Args:
        root: the module or function.
        concrete_args: values of arguments, which are then not symbolic.

    Raises:
        TraceError: it depends on values, as in a condition.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
        >>> print(traced.code.strip())
        def forward(self, x):
            relu = torch.relu(x);  x = None
            add = relu + 1;  relu = None
            return add
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, nn.Module) else getattr(root, "__name__", "")
    return GraphModule(tracer.root, graph, name or "GraphModule")


__all__ = ["Tracer", "_assert_is_none", "symbolic_trace", "wrap"]
