"""Blocks: the modules as attributes of a graph, where they can be configured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

from oneflow.graph.block_config import BlockConfig
from oneflow.graph.verbosity import chosen_verbosity
from oneflow.module.module import Module


class Blocks:
    """The blocks of one graph, one per module.

    Args:
        changed: called when an option of a module has changed.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._blocks: WeakKeyDictionary[Module, Block] = WeakKeyDictionary()
        self.configs: WeakKeyDictionary[Module, BlockConfig] = WeakKeyDictionary()

    def of(self, module: Module) -> Block:
        """The block of `module`."""
        block = self._blocks.get(module)
        if block is None:
            block = self._blocks[module] = Block(module, self)
        return block

    def config_of(self, module: Module) -> BlockConfig:
        """The configuration of `module`."""
        config = self.configs.get(module)
        if config is None:
            config = self.configs[module] = BlockConfig(self._changed)
        return config


class Block:
    """A module as a graph shows it: it behaves as the module, and has a `config` as well.

    Attributes and items that are modules are blocks too. `origin` is the module itself.
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
        self.config.verbosity = chosen_verbosity(v_level, ranks, max_py_stack_depth)

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
        value = getattr(self.origin, name)
        return self._blocks.of(value) if isinstance(value, Module) else value

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(getattr(type(self), name, None), property):
            object.__setattr__(self, name, value)
        else:
            setattr(self.origin, name, value.origin if isinstance(value, Block) else value)

    def __iter__(self) -> Iterator[Any]:
        for each in self.origin:
            yield self._blocks.of(each) if isinstance(each, Module) else each

    def __len__(self) -> int:
        return len(self.origin)

    def __getitem__(self, key: Any) -> Any:
        value = self.origin[key]
        return self._blocks.of(value) if isinstance(value, Module) else value

    def __contains__(self, item: Any) -> bool:
        return item in self.origin

    def __repr__(self) -> str:
        return repr(self.origin)
