"""Blocks: the modules as attributes of a graph, where they can be configured."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, ValuesView
from types import MethodType
from typing import Any
from weakref import WeakKeyDictionary

from oneflow.base.placement import Placement
from oneflow.functional.creation.conversion import VIEW_TYPES
from oneflow.graph.block_config import BlockConfig
from oneflow.graph.verbosity import verbosity_of
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor

_NAMES = ("name", "name_prefix")
# Methods of modules and of their containers that give modules.
_RETURN_MODULE = frozenset(
    {
        *("modules", "named_modules", "children", "named_children", "get_submodule"),
        *("values", "items", "get", "pop"),
    }
)


class Blocks:
    """The blocks of one graph, one per module.

    Args:
        changed: called when an option of a module has changed.
        roots: gives the modules assigned to the graph, by attribute name.
    """

    def __init__(
        self,
        changed: Callable[[], None],
        roots: Callable[[], Iterable[tuple[str, Module]]] = list,
    ) -> None:
        self._changed, self._roots = changed, roots
        self._blocks: WeakKeyDictionary[Module, Block] = WeakKeyDictionary()
        self.configs: WeakKeyDictionary[Module, BlockConfig] = WeakKeyDictionary()

    def of(self, module: Module) -> Block:
        """The block of `module`."""
        block = self._blocks.get(module)
        if block is None:
            block = self._blocks[module] = Block(module, self)
        return block

    def wrapped(self, value: Any) -> Any:
        """`value` with blocks for modules, also in what an iterator or a tuple gives."""
        if isinstance(value, Module):
            return self.of(value)
        if isinstance(value, Iterator | ItemsView | ValuesView):
            return map(self.wrapped, value)
        if type(value) is tuple:
            return tuple(map(self.wrapped, value))
        return value

    def path_of(self, module: Module) -> str:
        """The path of `module` in the graph, such as ``"model.layers.0"``."""
        for root, top in self._roots():
            for path, candidate in top.named_modules(prefix=root):
                if candidate is module:
                    return path
        return ""

    def config_of(self, module: Module) -> BlockConfig:
        """The configuration of `module`."""
        config = self.configs.get(module)
        if config is None:
            config = self.configs[module] = BlockConfig(self._changed)
        return config


class Block:
    """A module as a graph shows it: it behaves as the module, and has a `config` as well.

    Modules that it gives (attributes, items, slices, `children`, `named_modules`, ...) are blocks
    too. `origin` is the module itself.

    Example:
        >>> import oneflow as flow
        >>> class Double(flow.nn.Graph):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.layer = flow.nn.Linear(2, 2)
        ...     def build(self, x):
        ...         return self.layer(x)
        >>> layer = Double().layer
        >>> layer.config.activation_checkpointing = True
        >>> isinstance(layer, flow.nn.graph.GraphModule), type(layer.origin).__name__
        (True, 'Linear')
    """

    def __init__(self, module: Module, blocks: Blocks) -> None:
        members = self.__dict__
        members["origin"] = module
        members["_blocks"] = blocks

    @property
    def config(self) -> BlockConfig:
        """Options of this module in its graph."""
        return self._blocks.config_of(self.origin)

    @property
    def stage_id(self) -> int | None:
        """The same as ``config.stage_id``."""
        return self.config.stage_id

    @stage_id.setter
    def stage_id(self, value: int | None) -> None:
        self.config.stage_id = value

    @property
    def activation_checkpointing(self) -> bool:
        """The same as ``config.activation_checkpointing``."""
        return self.config.activation_checkpointing

    @activation_checkpointing.setter
    def activation_checkpointing(self, mode: bool) -> None:
        self.config.activation_checkpointing = mode

    @property
    def stage_placement(self) -> Placement | None:
        """The same as ``config.stage_placement``."""
        return self.config.stage_placement

    def set_stage(self, stage_id: int | None = None, placement: Any = None) -> None:
        """The same as ``config.set_stage``."""
        self.config.set_stage(stage_id, placement)

    def debug(
        self,
        v_level: int = 0,
        *,
        ranks: int | list[int] | None = None,
        max_py_stack_depth: int = 2,
        **options: Any,
    ) -> None:
        """Print how this module is built, as `Graph.debug` does for the whole graph."""
        self.config.verbosity = verbosity_of(v_level, ranks, max_py_stack_depth)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """This block for ``to(GraphModule)``, the module for ``to(nn.Module)``.

        With anything else the module's own `to`, which moves it.
        """
        if len(args) == 1 and not kwargs and isinstance(args[0], type):
            if issubclass(Block, args[0]):
                return self
            if issubclass(args[0], Module):
                return self.origin
        self.origin.to(*args, **kwargs)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.origin(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        # A module without such attributes has its own name, and the name of the module around it.
        if name in _NAMES and not hasattr(self.origin, name):
            prefix, dot, suffix = self._blocks.path_of(self.origin).rpartition(".")
            return suffix if name == "name" else prefix + dot
        value = getattr(self.origin, name)
        if name in _RETURN_MODULE and isinstance(value, MethodType):
            return lambda *args, **kwargs: self._blocks.wrapped(value(*args, **kwargs))
        return self._blocks.wrapped(value)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(getattr(type(self), name, None), property):
            object.__setattr__(self, name, value)
        else:
            setattr(self.origin, name, value.origin if isinstance(value, Block) else value)

    def __iter__(self) -> Iterator[Any]:
        return map(self._blocks.wrapped, self.origin)

    def __len__(self) -> int:
        return len(self.origin)

    def __getitem__(self, key: Any) -> Any:
        return self._blocks.wrapped(self.origin[key])

    def __contains__(self, item: Any) -> bool:
        return (item.origin if isinstance(item, Block) else item) in self.origin

    def __repr__(self) -> str:
        return repr(self.origin)


class GraphTensor:
    """A parameter or buffer as ``to(GraphTensor)`` shows it: where the graph has it.

    It is on the placement that the tensor has, in the pipeline stage of the modules that use it.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.Linear(2, 2)
        >>> view = layer.weight.to(flow.nn.graph.GraphTensor)
        >>> view.to(flow.Tensor) is layer.weight, view.stage_placement
        (True, None)
    """

    def __init__(self, origin: Tensor) -> None:
        self.origin = origin
        self._config = BlockConfig()

    @property
    def stage_id(self) -> int | None:
        """The number of the stage, as given to `set_stage`."""
        return self._config.stage_id

    @property
    def stage_placement(self) -> Placement | None:
        """The placement of a global tensor; None for a local one."""
        return self.origin.placement if self.origin.is_global else None

    def set_stage(self, stage_id: int | None = None, placement: Any = None) -> None:
        """Say in which stage modules use the tensor, which is on the placement of that stage.

        The modules of a stage decide what it computes, so that this moves nothing.

        Args:
            stage_id: number of the stage, from 0.
            placement: placement of the stage; default: that of the tensor.

        Raises:
            TypeError: `placement` is not a placement.
            ValueError: `stage_id` is no number of a stage, or the tensor is elsewhere.
        """
        self._config.set_stage(stage_id, placement)
        if placement is not None and placement != self.stage_placement:
            where = self.stage_placement if self.origin.is_global else self.origin.device
            raise ValueError(
                f"`placement` of a stage must be that of the tensor, which is on {where}, "
                f"got {placement}; move it with `to_global` before the graph is made"
            )

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor itself for ``to(Tensor)``, else the result of its own `to`."""
        return self.origin.to(*args, **kwargs)

    def __repr__(self) -> str:
        return f"GraphTensor({self.origin!r})"


VIEW_TYPES[GraphTensor] = GraphTensor
