"""Modules that hold parameters."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from oneflow.base.keyword_aliases import keyword_aliases
from oneflow.module.module import Module
from oneflow.module.parameter import Parameter
from oneflow.tensor.tensor import Tensor


def _entry_repr(value: Any) -> str:
    """The text of one entry in `repr`."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else type(value).__name__
    size = "x".join(map(str, value.shape))
    return f"{kind} containing: [{value.dtype} of size {size}]"


def _as_parameter(value: Any) -> Any:
    """Tensors become parameters; anything else stays."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


class ParameterList(Module):
    """A list of parameters. Tensors put into it become parameters.

    Args:
        parameters: any iterable; PyTorch calls it `values`.

    Example:
        >>> import oneflow as flow
        >>> values = flow.nn.ParameterList([flow.ones(2), flow.zeros(3)])
        >>> len(values), len(list(values.parameters()))
        (2, 2)
    """

    @keyword_aliases(values="parameters")
    def __init__(self, parameters: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if parameters is not None:  # a subclass may need more before its `extend`
            self.extend(parameters)

    def _name(self, index: int) -> str:
        index = operator.index(index)
        if not -self._size <= index < self._size:
            raise IndexError(f"index {index} is out of range")
        return str(index % self._size)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(self._size))])
        return getattr(self, self._name(index))

    def __setitem__(self, index: int, parameter: Any) -> None:
        setattr(self, self._name(index), _as_parameter(parameter))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[index] for index in range(self._size))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Add one at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several at the end.

        Raises:
            TypeError: `values` is a tensor or cannot be iterated over.
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                + type(values).__name__
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(f"  ({i}): {_entry_repr(entry)}" for i, entry in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """Parameters by name, in order. Tensors put into it become parameters.

    Args:
        parameters: a mapping, or an iterable of ``(name, tensor)`` pairs.

    Example:
        >>> import oneflow as flow
        >>> values = flow.nn.ParameterDict({"scale": flow.ones(2)})
        >>> values["scale"].requires_grad
        True
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._names: dict[str, None] = {}
        if parameters is not None:  # a subclass may need more before its `update`
            self.update(parameters)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"_names": state.get("_keys"), **state})

    def _attributes_in_pytorch(self) -> dict[str, Any]:
        return {"_keys": dict(self._names)}

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def __setitem__(self, key: str, parameter: Any) -> None:
        self._names[key] = None
        setattr(self, key, _as_parameter(parameter))

    def __delitem__(self, key: str) -> None:
        del self._names[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._names)

    def __contains__(self, key: str) -> bool:
        return key in self._names

    def __or__(self, other: ParameterDict) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self

    def copy(self) -> ParameterDict:
        """Another dict with the same parameters."""
        return ParameterDict(dict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The entry called `key`, added as `default` if there is none."""
        if key not in self._names:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all entries."""
        for key in list(self._names):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove and return an entry."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last entry with its name."""
        key = next(reversed(self._names))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The entry called `key`, or `default`."""
        return self[key] if key in self._names else default

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._names.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Pairs of name and entry."""
        return [(key, self[key]) for key in self._names]

    def values(self) -> Iterable[Any]:
        """The entries."""
        return [self[key] for key in self._names]

    def update(self, parameters: Any) -> None:
        """Add entries from a mapping or from pairs; they replace entries of the same name."""
        mapping = isinstance(parameters, Mapping | ParameterDict)
        pairs = parameters.items() if mapping else parameters
        if not isinstance(pairs, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an iterable of key/value pairs, but "
                "got " + type(parameters).__name__
            )
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(f"  ({key}): {_entry_repr(entry)}" for key, entry in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")
