"""Modules that hold modules or parameters."""

from __future__ import annotations

import itertools
import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from oneflow.module.module import Module


def _position(index: Any, length: int) -> int:
    """A list index counted from the front.

    Raises:
        IndexError: it is out of range.
    """
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return index % length if length else index


def _times(count: Any) -> int:
    """Check the number of repetitions of modules.

    Raises:
        TypeError: it is no integer.
        ValueError: it is not positive.
    """
    if not isinstance(count, int):
        raise TypeError(
            f"unsupported operand type(s) for *: 'Sequential' and '{type(count).__name__}'"
        )
    if count <= 0:
        raise ValueError(f"`Sequential` is repeated a positive number of times, got {count}")
    return count


class Sequential(Module):
    """Modules called one after the other.

    Args:
        *args: modules in order, or one ordered dict of them by name.

    Shape:
        input: what the first module takes.
        output: what the last one returns.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Sequential(flow.nn.Linear(2, 3), flow.nn.ReLU())(flow.ones(1, 2)).shape
        oneflow.Size([1, 3])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = len(args) == 1 and isinstance(args[0], Mapping)
        for name, module in args[0].items() if named else enumerate(args):
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def _name_at(self, index: int) -> str:
        return list(self._modules)[_position(index, len(self))]

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name_at(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name_at(index)]
        for name in names:
            delattr(self, name)
        _reindex(self)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __add__(self, other: Sequential) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, "
                f"but {type(other).__name__} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Self:
        return self.extend(other)

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*list(self) * _times(times))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Self:
        self._replace(list(self) * _times(times))
        return self

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module at `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        modules = list(self)
        if not -len(modules) <= index <= len(modules):
            raise IndexError(f"Index out of range: {index}")
        modules.insert(index, module)
        self._replace(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end."""
        for module in list(sequential):
            self.append(module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Remove and return a module."""
        module = self[key]
        del self[key]
        return module

    def _replace(self, modules: list[Module]) -> None:
        self._modules.clear()
        self._modules.update((str(number), module) for number, module in enumerate(modules))


def _reindex(container: Module) -> None:
    """Name the children 0, 1, ... again."""
    modules = list(container._modules.values())
    container._modules.clear()
    container._modules.update((str(number), module) for number, module in enumerate(modules))


class ModuleList(Module):
    """A list of modules.

    Args:
        modules: any iterable of modules.

    Example:
        >>> import oneflow as flow
        >>> len(flow.nn.ModuleList([flow.nn.Linear(2, 2) for _ in range(3)]))
        3
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:  # a subclass may need more before its `extend`
            self.extend(modules)

    def __getitem__(self, index: int | slice) -> Any:
        modules = list(self)
        if isinstance(index, slice):
            return type(self)(modules[index])
        return modules[_position(index, len(modules))]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, str(_position(index, len(self))), module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)
        for name in (
            names[index] if isinstance(index, slice) else [names[_position(index, len(names))]]
        ):
            delattr(self, name)
        _reindex(self)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(itertools.chain(self, other))

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Insert a module at `index`."""
        modules = list(self)
        modules.insert(index, module)
        self._modules.clear()
        self.extend(modules)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end.

        Raises:
            TypeError: `modules` cannot be iterated over.
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                + type(modules).__name__
            )
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Remove and return a module."""
        module = self[key]
        del self[key]
        return module

    def __repr__(self) -> str:
        lines = []
        for first, last, text in _runs([repr(module) for module in self]):
            inner = text.replace("\n", "\n  ")
            name = f"({first})" if first == last else f"({first}-{last})"
            count = "" if first == last else f"{last - first + 1} x "
            lines.append(f"\n  {name}: {count}{inner}")
        return f"{self._get_name()}(" + "".join(lines) + ("\n)" if lines else ")")


def _runs(reprs: list[str]) -> Iterator[tuple[int, int, str]]:
    """First and last position of each run of equal texts."""
    first = 0
    for text, run in itertools.groupby(reprs):
        last = first + sum(1 for _ in run) - 1
        yield first, last, text
        first = last + 1


class ModuleDict(Module):
    """Modules by name, in order.

    Args:
        modules: a mapping, or an iterable of ``(name, module)`` pairs.

    Example:
        >>> import oneflow as flow
        >>> list(flow.nn.ModuleDict({"fc": flow.nn.Linear(2, 2)}).keys())
        ['fc']
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:  # a subclass may need more before its `update`
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove and return a module."""
        return self._modules.pop(key)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Module]]:
        """Pairs of name and module."""
        return self._modules.items()

    def values(self) -> Iterable[Module]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from pairs; they replace modules of the same name."""
        pairs = modules.items() if isinstance(modules, Mapping | ModuleDict) else modules
        if not isinstance(pairs, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value pairs, but got "
                + type(modules).__name__
            )
        for name, module in pairs:
            self[name] = module
