"""Graphs and their compiled steps: compiling ahead, sharing variables, carrying steps elsewhere."""

from __future__ import annotations

import functools
import inspect
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from oneflow.base.device import Device
from oneflow.base.placement import parse_device
from oneflow.graph.saved_graph import SavedGraph, saved_device_type
from oneflow.graph.verbosity import verbosity_of
from oneflow.module.module import Module

AnyGraphOrInit = TypeVar("AnyGraphOrInit", bound="type[CompiledGraph] | Callable[..., None]")
_FILES = "files"


def graph_of_state(state_dict: Mapping[str, Any]) -> SavedGraph:
    """Return the graph in what `CompiledGraph.runtime_state_dict` returned.

    Raises:
        RuntimeError: it is something else, or the steps are damaged or were compiled for another
            kind of device.
    """
    files = state_dict.get(_FILES) if isinstance(state_dict, Mapping) else None
    if not isinstance(files, Mapping) or not files:
        raise RuntimeError(
            "`state_dict` must be what `runtime_state_dict` of a graph returned, with its "
            f"`{_FILES}`, got {type(state_dict).__name__}"
        )
    with tempfile.TemporaryDirectory() as parent:
        for name, content in files.items():
            file = Path(parent, name)
            if Path(parent).resolve() not in file.resolve().parents:
                raise RuntimeError(f"`{name}` is no file of a graph")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(np.asarray(content, np.uint8).tobytes())
        return SavedGraph(Path(parent))


def _check_cache_size(size: int) -> None:
    if size < 1:
        raise ValueError(f"`size` must be at least 1, got {size}")


class StepCache:
    """The settings of a graph's compiled steps, as programs of earlier versions change them."""

    def __init__(self, graph: CompiledGraph) -> None:
        self._graph = graph

    def set_cache_size(self, size: int) -> None:
        """Choose how many compiled steps the graph keeps."""
        _check_cache_size(size)
        self._graph.max_steps = size

    def enable_shared(self, mode: bool = True) -> None:
        """Accepted; the steps of a graph share its modules in any case."""


class RuntimeVariables:
    """The parameters and buffers that a graph's compiled steps read."""

    def __init__(self, graph: CompiledGraph) -> None:
        self._graph = graph

    def get_runtime_var_states(self) -> tuple[list[str], list[Any]]:
        """Return their names and values. None is folded into another: a step reads them all."""
        states = {
            f"{name}.{key}": value
            for name, module in self._graph._modules.items()
            for key, value in module.state_dict().items()
        }
        return list(states), list(states.values())


class CompiledGraph:
    """Abstract: what graphs do with their compiled steps, besides calling them.

    Attributes:
        max_steps: how many steps are kept, one per combination of argument shapes and modes.
        dynamic_shapes: no warning is given when arguments of other shapes are compiled for.
    """

    max_steps = 10
    dynamic_shapes = False
    settings: Any
    _name: str
    _modules: dict[str, Module]
    _steps: Any
    _loaded: SavedGraph | None = None
    _is_shared = False
    _has_warned_of_recompile = False

    @property
    def name(self) -> str:
        """The name of the class and a number."""
        return self._name

    @classmethod
    def trace(cls, func: Callable[..., Any]) -> CompiledGraph:
        """A graph with `func` as its `build`: the quick way to run a function as a graph.

        Tensors that the function takes from outside are constants; for training, or to save the
        graph with its weights, write a class.

        Example:
            >>> import oneflow as flow
            >>> @flow.nn.Graph.trace
            ... def double(x):
            ...     return x * 2
            >>> double(flow.tensor([1.0, 2.0]))
            tensor([2., 4.], dtype=oneflow.float32)
        """
        if not callable(func):
            raise TypeError(f"`trace` takes a function, got {type(func).__name__}")

        def build(self: CompiledGraph, *args: Any, **kwargs: Any) -> Any:
            return func(*args, **kwargs)

        return type(getattr(func, "__name__", "Traced"), (cls,), {"build": build})()

    @staticmethod
    def with_dynamic_input_shape(
        size: int = 10, enable_shared: bool = True
    ) -> Callable[[AnyGraphOrInit], AnyGraphOrInit]:
        """Decorator for graphs that are called with arguments of many shapes.

        It decorates the class, or its `__init__` as in OneFlow 0.9.

        Args:
            size: how many compiled steps a graph keeps; the one that was used least recently goes.
            enable_shared: accepted; the steps of a graph share its modules in any case.

        Raises:
            ValueError: `size` is not positive.
            TypeError: it decorates something else.

        Example:
            >>> import oneflow as flow
            >>> @flow.nn.Graph.with_dynamic_input_shape(size=2)
            ... class Doubled(flow.nn.Graph):
            ...     def build(self, x):
            ...         return x * 2
            >>> graph = Doubled()
            >>> [graph(flow.ones(n)).shape[0] for n in (1, 2, 3)]
            [1, 2, 3]
        """
        _check_cache_size(size)

        def decorate(graph_class: Any) -> Any:
            if isinstance(graph_class, type):
                graph_class.max_steps, graph_class.dynamic_shapes = size, True
                return graph_class
            initialize = graph_class
            if not inspect.isfunction(initialize):
                raise TypeError(
                    "`with_dynamic_input_shape(...)` decorates a graph class or its `__init__`, "
                    f"got {initialize!r}"
                )

            @functools.wraps(initialize)
            def initialize_for_many_shapes(self: CompiledGraph, *args: Any, **kwargs: Any) -> None:
                initialize(self, *args, **kwargs)
                self.max_steps, self.dynamic_shapes = size, True

            return initialize_for_many_shapes

        return decorate

    @property
    def _dynamic_input_graph_cache(self) -> StepCache:
        """The compiled steps by the name of earlier versions, which converters of models read."""
        return StepCache(self)

    @property
    def _c_nn_graph(self) -> RuntimeVariables:
        """The variables of compiled steps by the name of earlier versions, as above."""
        return RuntimeVariables(self)

    # --- compiling ahead

    def debug(
        self,
        v_level: int = 0,
        *,
        ranks: int | list[int] | None = None,
        max_py_stack_depth: int = 2,
        **options: Any,
    ) -> None:
        """Print what happens while the graph is built; call it before the first call.

        Args:
            v_level: -1 nothing; 0 that it is built; 1 each module too; 2 each operator too; 3 with
                the lines that called it.
            ranks: processes that print, rank 0 by default; -1 stands for all.
            max_py_stack_depth: how many lines level 3 shows per operator.
            options: further options of later versions, without effect.
        """
        self.settings.verbosity = verbosity_of(v_level, ranks, max_py_stack_depth)
        if self._steps and v_level >= 0:
            warnings.warn(
                f"{self.name} was built already, and prints only if it is built again; call "
                "`debug` before the first call",
                stacklevel=2,
            )

    def _warn_of_recompile(self, key: tuple) -> None:
        """Say once that a step is compiled that users may not expect."""
        if self._has_warned_of_recompile:
            return
        stale = self._steps.get(key)
        change = None if stale is None else stale.guards.find_change()
        if change is not None:
            reason = f"because of a change of {change}; what changes often is better a tensor"
        elif self._steps and not (self.dynamic_shapes or key[0] in [k for k, _ in self._steps]):
            reason = (
                "for arguments of other shapes, dtypes or structure than before; it keeps up to "
                f"{self.max_steps} compiled steps"
            )
        else:
            return
        self.__dict__["_has_warned_of_recompile"] = True
        text = f"{self.name} is compiled again, {reason}, and does not mention this again"
        warnings.warn(text, stacklevel=4)

    def _compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the step for arguments like these; OneFlow's name for it, and nothing runs."""
        raise NotImplementedError

    def build_graph(self, *args: Any, **kwargs: Any) -> None:
        """Compile for arguments like these ahead of the first call."""
        self._compile(*args, **kwargs)

    def finish_compile_and_init_runtime(self) -> None:
        """Check that `build_graph` has compiled the graph, which leaves nothing to finish.

        Raises:
            RuntimeError: it was not called before.
        """
        if not self._steps and self._loaded is None:
            raise RuntimeError(f"{self.name} has nothing to finish; call `build_graph` first")

    finish_complie_and_init_runtime = finish_compile_and_init_runtime  # as OneFlow 0.9 spells it

    # --- sharing

    def enable_shared(self, mode: bool = True) -> None:
        """Let other graphs take over the variables of this one, see `share_from`."""
        self.__dict__["_is_shared"] = bool(mode)

    def share_from(self, shared_graph: CompiledGraph) -> None:
        """Use the modules of another graph of the same class.

        So both have the same parameters and buffers in memory, as graphs for arguments of other
        shapes do.

        Raises:
            RuntimeError: the other graph was not made sharable by `enable_shared`, or this one was
                compiled already.
            TypeError: it is a graph of another class, or has other modules.
        """
        if type(shared_graph) is not type(self):
            raise TypeError(
                f"{self.name} can share with graphs of {type(self).__name__}, not of "
                f"{type(shared_graph).__name__}"
            )
        if not shared_graph._is_shared:
            raise RuntimeError(f"call `enable_shared()` of {shared_graph.name} first")
        if self._steps:
            raise RuntimeError(f"{self.name} was compiled already; share before the first call")
        kinds = [
            {name: type(module) for name, module in graph._modules.items()}
            for graph in (self, shared_graph)
        ]
        if kinds[0] != kinds[1]:
            raise TypeError(f"{self.name} and {shared_graph.name} have different modules")
        self._modules.update(shared_graph._modules)

    # --- carrying compiled steps to other processes

    def save(self, path: Any) -> None:
        """Save the compiled steps and the weights to a folder."""
        raise NotImplementedError

    def enable_save_runtime_state_dict(self, mode: bool = True) -> None:
        """Accepted; what `runtime_state_dict` needs is kept in any case."""

    def runtime_state_dict(
        self, destination: dict[str, Any] | None = None, with_eager: bool = False
    ) -> dict[str, Any]:
        """The compiled steps with their weights, for `load_runtime_state_dict`.

        Args:
            destination: dict to add to; default: a new one.
            with_eager: accepted; the weights of modules are there in any case.

        Returns:
            The name of the graph, the type of its device, and the files that `save` writes as
            arrays of bytes; `oneflow.save` stores it.

        Raises:
            RuntimeError: the graph was not called yet, or it trains.

        Example:
            >>> import oneflow as flow
            >>> class Doubled(flow.nn.Graph):
            ...     def build(self, x):
            ...         return x * 2
            >>> first, second = Doubled(), Doubled()
            >>> _ = first(flow.ones(2))
            >>> second.load_runtime_state_dict(first.runtime_state_dict())
            >>> second(flow.ones(2)).tolist()
            [2.0, 2.0]
        """
        state = {} if destination is None else destination
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent, "graph")
            self.save(folder)
            state["graph_name"], state["device_type"] = self.name, saved_device_type(folder)
            state[_FILES] = {
                str(file.relative_to(folder)): np.frombuffer(file.read_bytes(), np.uint8)
                for file in sorted(folder.rglob("*"))
                if file.is_file()
            }
        return state

    def load_runtime_state_dict(
        self, state_dict: Mapping[str, Any], *, warmup_with_run: bool = True
    ) -> None:
        """Run compiled steps of another process, with their weights, in place of `build`.

        Args:
            state_dict: what `runtime_state_dict` returned there.
            warmup_with_run: accepted; nothing runs before the first call.

        Raises:
            RuntimeError: this graph was compiled already, the state is something else, or its
                steps are damaged or were compiled for another kind of device.
        """
        if self._steps:
            raise RuntimeError(
                f"{self.name} was compiled already; load a runtime state before the first call"
            )
        self.__dict__["_loaded"] = graph_of_state(state_dict)

    @staticmethod
    def runtime_state_dict_to(
        state_dict: Mapping[str, Any], device: Device | str
    ) -> Mapping[Any, Any]:
        """The state on another device of the type that it was compiled for.

        Raises:
            RuntimeError: it is a device of another type, for which steps are compiled anew.
        """
        target = parse_device(device)
        saved = state_dict["device_type"]
        if target.type != saved:
            raise RuntimeError(
                f"these steps were compiled for `{saved}`; to run on `{target}`, move the modules "
                "there and call a graph of them"
            )
        return state_dict
