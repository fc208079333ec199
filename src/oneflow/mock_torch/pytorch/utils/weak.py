"""``torch.utils.weak``: dictionaries whose keys are objects by identity, held weakly."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from oneflow.tensor.tensor import Tensor


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to others of the same object, whatever objects call equal.

    Args:
        key: the object.
        callback: called with the reference when the object is gone.
    """

    __slots__ = ("_id",)

    def __new__(cls, key: Any, callback: Any = None) -> WeakIdRef:
        """Refer to an object."""
        reference = super().__new__(cls, key, callback)
        reference._id = id(key)
        return reference

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WeakIdRef):
            return NotImplemented
        referent, other_referent = self(), other()
        return (
            self is other
            if referent is None or other_referent is None
            else referent is other_referent
        )


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary by identity; an entry goes with its key.

    Args:
        dict: entries to begin with.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.utils.weak import WeakIdKeyDictionary
        >>> x, y = torch.ones(2), torch.ones(2)
        >>> marks = WeakIdKeyDictionary({x: "x", y: "y"})
        >>> del y
        >>> marks[x], len(marks)
        ('x', 1)
    """

    def __init__(self, dict: Any = None) -> None:
        self.data: Any = {}
        self.update(dict or {})

    def __getitem__(self, key: Any) -> Any:
        return self.data[WeakIdRef(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        owner = weakref.ref(self)

        def remove(reference: WeakIdRef) -> None:
            container = owner()
            if container is not None:
                container.data.pop(reference, None)

        reference = WeakIdRef(key, remove)
        self.data.pop(reference, None)
        self.data[reference] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[WeakIdRef(key)]

    def __contains__(self, key: object) -> bool:
        return WeakIdRef(key) in self.data

    def copy(self) -> WeakIdKeyDictionary:
        """Return another dictionary of the same keys and values."""
        return type(self)(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> WeakIdKeyDictionary:
        return type(self)([(key, copy.deepcopy(value, memo)) for key, value in self.items()])

    def __or__(self, other: Any) -> WeakIdKeyDictionary:
        if not isinstance(other, Mapping):
            return NotImplemented
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: Any) -> WeakIdKeyDictionary:
        if not isinstance(other, Mapping):
            return NotImplemented
        result = type(self)(other)
        result.update(self)
        return result

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def __iter__(self) -> Iterator[Any]:
        keys = [reference() for reference in list(self.data)]
        return (key for key in keys if key is not None)

    def __len__(self) -> int:
        return len(self.data)


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor.

    Args:
        tensor: the tensor.
    """

    def __init__(self, tensor: Tensor) -> None:
        self.ref = WeakIdRef(tensor)

    def __call__(self) -> Tensor | None:
        """Return the tensor; None if it is gone."""
        return self.ref()


__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]
