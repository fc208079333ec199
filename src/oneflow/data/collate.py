"""From samples to batches: equal parts of all samples are stacked.

Arrays are stacked in NumPy and become tensors at the very end, by `to_tensors`. A worker process
leaves that end to its parent, so it never has to start XLA.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from oneflow.functional.shape.concat import stack
from oneflow.module.parameter import Parameter
from oneflow.tensor.subclasses import overridable
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array

_NUMBER_KINDS = "biufcV"
# Subclasses say how they are stacked.
_stack = overridable(stack)
Functions = dict[Any, Callable[..., Any]]
#: Functions that users have given for samples of a type, or of a tuple of types: each makes a batch
#: of samples, and takes this dictionary as `collate_fn_map`.
COLLATE_FUNCTIONS: Functions = {}


class ArrayOfTensor:
    """A NumPy array that is to become a tensor."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __reduce__(self) -> tuple[Any, ...]:
        return (ArrayOfTensor, (self.array,))


def default_collate(batch: Sequence[Any]) -> Any:
    """Samples as a batch: their numbers, arrays and tensors stacked.

    Args:
        batch: the samples. Numbers and NumPy arrays become tensors; text stays as it is.

    Returns:
        A sample's structure, with tensors that have one more dimension in front.

    Raises:
        RuntimeError: arrays of different shapes, or sequences of different lengths.
        TypeError: contents that cannot be put into a batch.

    Example:
        >>> import oneflow as flow
        >>> flow.utils.data.default_collate([{"x": 1.5, "name": "a"}, {"x": 2.5, "name": "b"}])
        {'x': tensor([1.5000, 2.5000], dtype=oneflow.float64), 'name': ['a', 'b']}
    """
    return to_tensors(collate_arrays(batch))


def collate(batch: Sequence[Any], *, collate_fn_map: Functions | None = None) -> Any:
    """Samples as a batch, with functions for samples of some types.

    Args:
        batch: the samples.
        collate_fn_map: functions as in `COLLATE_FUNCTIONS`; the types that have none become what
            `default_collate` makes of them.

    Example:
        >>> from oneflow.data.collate import collate
        >>> collate([("a", 1), ("b", 2)], collate_fn_map={str: lambda batch, **_: "".join(batch)})
        ['ab', tensor([1, 2], dtype=oneflow.int64)]
    """
    return to_tensors(collate_arrays(batch, collate_fn_map or {}))


def collate_arrays(batch: Sequence[Any], functions: Functions = COLLATE_FUNCTIONS) -> Any:
    """`collate`, with arrays that are still to become tensors."""
    first = batch[0]
    if (function := _function_for(first, functions)) is not None:
        return function(batch, collate_fn_map=functions)
    if isinstance(first, Tensor):
        return _stack(list(batch), 0)
    if isinstance(first, np.ndarray):
        return ArrayOfTensor(_stacked(batch))
    if isinstance(first, ArrayOfTensor):
        return _stacked_tensors(batch)
    if isinstance(first, np.generic | bool | int | float | complex) and not isinstance(first, str):
        return _collected_numbers(batch)
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        items = {key: [sample[key] for sample in batch] for key in first}
        return _like(first, {key: collate_arrays(x, functions) for key, x in items.items()})
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [collate_arrays(part, functions) for part in zip(*batch, strict=True)]
        return _same_type(first, parts)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {type(first).__name__}. Give the loader a `collate_fn` of your own"
    )


def _function_for(sample: Any, functions: Functions) -> Callable[..., Any] | None:
    """The user's function for the type of a sample."""
    kinds = (kind for kind in functions if isinstance(sample, kind))
    return functions.get(type(sample)) or next(map(functions.get, kinds), None)


def _stacked(arrays: Sequence[np.ndarray]) -> np.ndarray:
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1:
        raise RuntimeError(
            f"stack expects each array to be equal size, but the samples have {sorted(shapes)}; "
            "bring them to one size or give the loader a `collate_fn` of your own"
        )
    return _of_numbers(np.stack(arrays))


def _stacked_tensors(batch: Sequence[ArrayOfTensor]) -> ArrayOfTensor:
    """Stack NumPy arrays of tensors; dtypes promote like tensors'."""
    arrays = [tensor.array for tensor in batch]
    if len({array.dtype for array in arrays}) > 1:
        return from_tensors(stack([import_array(array) for array in arrays], 0))
    return ArrayOfTensor(_stacked(arrays))


def _collected_numbers(batch: Sequence[Any]) -> ArrayOfTensor:
    """An array of numbers; of several types that of `tensor(batch)`, behind a float float64."""
    if type(batch[0]) is not float and len(set(map(type, batch))) > 1:
        return from_tensors(import_array(list(batch)))
    return ArrayOfTensor(_of_numbers(np.asarray(batch)))


def _of_numbers(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in _NUMBER_KINDS:
        raise TypeError(
            f"default_collate: batch must contain numbers; found a NumPy array of {array.dtype}"
        )
    return array


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: Any = None) -> Tensor:
    """Tensors as a batch: stacked.

    Args:
        batch: the tensors.
        collate_fn_map: has no meaning for tensors.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.data.collate import collate_tensor_fn
        >>> collate_tensor_fn([flow.ones(3), flow.zeros(3)]).shape
        oneflow.Size([2, 3])
    """
    return _stack(list(batch), 0)


def collate_in_worker(batch: Sequence[Any]) -> Any:
    """`collate_arrays` where the batch is sent to another process: tensors are read before."""
    return collate_arrays([from_tensors(sample) for sample in batch])


def default_convert(data: Any) -> Any:
    """A sample with its NumPy arrays and scalars turned into tensors, and nothing else changed.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> flow.utils.data.default_convert([np.arange(2), "a", 1])
        [tensor([0, 1], dtype=oneflow.int64), 'a', 1]
    """
    return to_tensors(convert_arrays(data))


def convert_arrays(data: Any) -> Any:
    """`default_convert`, with arrays that are still to become tensors."""
    if isinstance(data, np.ndarray | np.generic) and data.dtype.kind in _NUMBER_KINDS:
        return ArrayOfTensor(np.asarray(data))
    if isinstance(data, Mapping):
        return _like(data, {key: convert_arrays(item) for key, item in data.items()})
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _same_type(data, [convert_arrays(item) for item in data])
    return data


def to_tensors(data: Any, make: Callable[[np.ndarray], Tensor] = import_array) -> Any:
    """`data` with arrays that are to become tensors turned into tensors.

    Args:
        data: a batch or sample.
        make: makes a tensor of an array; by default a copy.
    """
    return map_leaves(
        lambda value: make(value.array) if isinstance(value, ArrayOfTensor) else value, data
    )


_PLAIN = (Tensor, Parameter)


def from_tensors(data: Any) -> Any:
    """`data` with tensors turned into arrays that are to become tensors; these share memory.

    Tensors of users' classes, which may have attributes, stay as they are.
    """

    def from_tensor(value: Any) -> Any:
        return ArrayOfTensor(np.asarray(value._read())) if type(value) in _PLAIN else value

    return map_leaves(from_tensor, data)


def map_leaves(function: Callable[[Any], Any], data: Any) -> Any:
    """`function` of everything inside dicts and sequences; unchanged ones come back themselves."""
    if isinstance(data, Mapping):
        items = {key: map_leaves(function, item) for key, item in data.items()}
        return data if all(items[key] is data[key] for key in items) else _like(data, items)
    if isinstance(data, Sequence) and not isinstance(data, str | bytes | bytearray | range):
        parts = [map_leaves(function, item) for item in data]
        is_same = all(part is item for part, item in zip(parts, data, strict=True))
        return data if is_same else _sequence_like(data, parts)
    return function(data)


def _like(original: Mapping, items: dict) -> Any:
    """A mapping of the original's class, if that can be made from a dict."""
    kind: Any = type(original)
    if kind is dict:
        return items
    try:
        return kind(items)
    except TypeError:
        return items


def _same_type(original: Sequence, items: list) -> Any:
    """`_sequence_like`, with plain tuples turned into lists, as in PyTorch."""
    return items if type(original) is tuple else _sequence_like(original, items)


def _sequence_like(original: Sequence, items: list) -> Any:
    """A sequence of the original's class, if that can be made from a list."""
    kind: Any = type(original)
    if isinstance(original, tuple) and hasattr(original, "_fields"):
        return kind(*items)
    try:
        return kind(items)
    except TypeError:
        return items
