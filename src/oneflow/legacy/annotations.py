"""Annotations of the arguments and results of job functions: `oneflow.typing`."""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType
from oneflow.tensor.tensor import Tensor


class Placeholder:
    """The shape and dtype of an argument of a job; it holds no data.

    Args:
        shape: its sizes. Arrays may have a smaller first size; the job is compiled for each.
        dtype: the dtype of the job's array; the numbers of an argument are converted to it. Complex
            numbers are not converted to real ones, nor floating-point numbers to integers.

    Raises:
        TypeError: `shape` is not a sequence of integers.
        ValueError: a size is not positive.
    """

    is_list: ClassVar[bool] = False

    def __init__(self, shape: Sequence[int], dtype: DType = dt.float32) -> None:
        try:
            self.shape = tuple(int(size) for size in shape)
        except (TypeError, ValueError):
            raise TypeError(
                f"the shape of a placeholder is a sequence of integers, not {shape!r}"
            ) from None
        if any(size <= 0 for size in self.shape):
            raise ValueError(f"the sizes of a placeholder must be positive, got {self.shape}")
        self.dtype, self._numpy_dtype = dtype, np.dtype(dtype.numpy)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype})"

    def arrays(self, name: str, argument: Any, replicas: int) -> list[np.ndarray]:
        """Return the arrays given for an argument: one, or one for each replica.

        Args:
            name: the name of the argument, for messages.
            argument: the argument of the job.
            replicas: the number of replicas of a job in mirrored view, else 1.

        Raises:
            TypeError: it is no array, or has complex numbers where real ones, or floating-point
                numbers where integers are asked for.
            ValueError: it has another shape, or a number that is too large for the dtype.
        """
        if not isinstance(argument, np.ndarray) and isinstance(argument, Tensor):
            argument = argument.numpy()
        if not isinstance(argument, np.ndarray):
            raise TypeError(
                f"argument `{name}` must be a NumPy array of shape {self.shape}, "
                f"got {type(argument).__name__}"
            )
        if not np.can_cast(argument.dtype, self._numpy_dtype, "same_kind"):
            raise TypeError(
                f"argument `{name}` must be an array of {self.dtype.numpy}, got {argument.dtype}; "
                f"convert it with `.astype(np.{self._numpy_dtype})`"
            )
        if argument.shape != self.shape and not self._takes(argument.shape):
            raise ValueError(
                f"argument `{name}` must have the shape {self.shape}, got {argument.shape}"
            )
        return [self._converted(name, argument)]

    def _converted(self, name: str, array: np.ndarray) -> np.ndarray:
        """Return an array in the dtype of the placeholder, which must hold its numbers."""
        dtype = self._numpy_dtype
        if np.can_cast(array.dtype, dtype, "safe"):
            return array.astype(dtype, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            converted = array.astype(dtype)
        # Integers wrap around, and floating-point numbers become infinite.
        overflow = array != converted if dtype.kind in "iu" else ~np.isfinite(converted)
        if overflow.any():
            overflow &= np.isfinite(array)
        if overflow.any():
            raise ValueError(
                f"argument `{name}` must hold numbers that fit into {self.dtype.numpy}, "
                f"got {array[overflow][0]} of {array.dtype}; give the placeholder another dtype"
            )
        return converted

    def _takes(self, shape: tuple[int, ...]) -> bool:
        """Return whether arrays may have another shape than the placeholder: this one."""
        same_rank = len(shape) == len(self.shape)
        return same_rank and shape[1:] == self.shape[1:] and 0 < shape[0] <= self.shape[0]


class NumpyPlaceholder(Placeholder):
    """An argument that is one array. Its shape is exact.

    Example:
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> tp.Numpy.Placeholder((32, 1, 28, 28), dtype=flow.float)
        NumpyPlaceholder(shape=(32, 1, 28, 28), dtype=oneflow.float32)
    """

    def _takes(self, shape: tuple[int, ...]) -> bool:
        return False


class ListNumpyPlaceholder(Placeholder):
    """An argument that is a list of arrays, one for each replica of a job in mirrored view.

    The first size of an array may be smaller than that of the placeholder.

    Example:
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> tp.ListNumpy.Placeholder((8, 3), dtype=flow.int32)
        ListNumpyPlaceholder(shape=(8, 3), dtype=oneflow.int32)
    """

    is_list = True

    def arrays(self, name: str, argument: Any, replicas: int) -> list[np.ndarray]:
        """Return the array of each replica; see `Placeholder.arrays`."""
        if not isinstance(argument, list | tuple):
            raise TypeError(
                f"argument `{name}` must be a list of {replicas} arrays, one for each device, "
                f"got {type(argument).__name__}"
            )
        if len(argument) != replicas:
            raise ValueError(
                f"argument `{name}` must be a list of {replicas} arrays, one for each device, "
                f"got {len(argument)}"
            )
        checked = super().arrays
        return [checked(f"{name}[{rank}]", array, 1)[0] for rank, array in enumerate(argument)]


class ListListNumpyPlaceholder(ListNumpyPlaceholder):
    """An argument that is a list of lists with one array each, one list for each replica."""

    def arrays(self, name: str, argument: Any, replicas: int) -> list[np.ndarray]:
        """Return the array of each replica; see `Placeholder.arrays`."""
        if isinstance(argument, list | tuple):
            for rank, arrays_of_rank in enumerate(argument):
                if not isinstance(arrays_of_rank, list | tuple) or len(arrays_of_rank) != 1:
                    raise TypeError(f"argument `{name}[{rank}]` must be a list with one array")
            argument = [arrays_of_rank[0] for arrays_of_rank in argument]
        return super().arrays(name, argument, replicas)


class Numpy:
    """A NumPy array. `Numpy.Placeholder(shape, dtype)` annotates arguments, `Numpy` results.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def doubled(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        ...     return 2 * x
        >>> doubled(np.float32([1, 2]))
        array([2., 4.], dtype=float32)
        >>> flow.clear_default_session()
    """

    Placeholder = NumpyPlaceholder


class ListNumpy:
    """A list of NumPy arrays, one for each replica of a job in mirrored view.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> config = flow.FunctionConfig()
        >>> config.default_logical_view(flow.scope.mirrored_view())
        >>> @flow.global_function(function_config=config)
        ... def doubled(x: tp.ListNumpy.Placeholder((2,))) -> tp.ListNumpy:
        ...     return 2 * x
        >>> doubled([np.float32([1, 2])])
        [array([2., 4.], dtype=float32)]
        >>> flow.clear_default_session()
    """

    Placeholder = ListNumpyPlaceholder


class ListListNumpy:
    """A list of lists of NumPy arrays, one list for each replica of a job in mirrored view.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> config = flow.FunctionConfig()
        >>> config.default_logical_view(flow.scope.mirrored_view())
        >>> @flow.global_function(function_config=config)
        ... def doubled(x: tp.ListListNumpy.Placeholder((2,))) -> tp.ListListNumpy:
        ...     return 2 * x
        >>> doubled([[np.float32([1, 2])]])
        [[array([2., 4.], dtype=float32)]]
        >>> flow.clear_default_session()
    """

    Placeholder = ListListNumpyPlaceholder


@dataclass(frozen=True)
class ResultOf:
    """`Callback[...]` or `Bundle[...]` with its argument."""

    origin: type
    content: Any


class Callback:
    """The result of a job that is given to a function: `Callback[Numpy]`.

    Calling the job runs it and returns an object that takes the function. A function can be added
    until the object is dropped.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def doubled(x: tp.Numpy.Placeholder((2,))) -> tp.Callback[tp.Numpy]:
        ...     return 2 * x
        >>> doubled(np.float32([1, 2]))(lambda result: print(result))
        [2. 4.]
        >>> flow.clear_default_session()
    """

    def __class_getitem__(cls, content: Any) -> ResultOf:
        return ResultOf(cls, content)


class Bundle:
    """A nested structure of lists, tuples and dicts: `Bundle[Numpy]`.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def both(x: tp.Numpy.Placeholder((2,))) -> tp.Bundle[tp.Numpy]:
        ...     return {"sum": x.sum(), "parts": [x, 2 * x]}
        >>> both(np.float32([1, 2]))["parts"][1]
        array([2., 4.], dtype=float32)
        >>> flow.clear_default_session()
    """

    def __class_getitem__(cls, content: Any) -> ResultOf:
        return ResultOf(cls, content)


def converter(annotation: Any, where: str) -> Callable[[Any], Any]:
    """Return the function that turns a job's results into the types of its annotation.

    The function takes the results with a list of arrays, one per replica, at each leaf.

    Args:
        annotation: `Numpy`, `ListNumpy`, a tuple, list or dict of them, or `Bundle[...]`.
        where: the name of the job, for messages.

    Raises:
        TypeError: the annotation is something else.
    """
    if annotation is Numpy:
        return lambda leaf: (
            leaf[0] if len(leaf) == 1 else np.concatenate(list(map(np.atleast_1d, leaf)))
        )
    if annotation is ListNumpy:
        return list
    if annotation is ListListNumpy:
        return lambda leaf: [[array] for array in leaf]
    if isinstance(annotation, ResultOf) and annotation.origin is Bundle:
        inner = converter(annotation.content, where)
        return lambda tree: map_leaves(inner, tree)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple and arguments[-1:] == (...,):
        of_item = converter(arguments[0], where)
        return lambda tree: tuple(map(of_item, _sequence(tree, None, where)))
    if origin is tuple:
        items = [converter(argument, where) for argument in arguments]
        return lambda tree: tuple(
            convert(item)
            for convert, item in zip(items, _sequence(tree, len(items), where), strict=True)
        )
    if origin in (list, Sequence):
        convert_item = converter(arguments[0], where)
        return lambda tree: list(map(convert_item, _sequence(tree, None, where)))
    if origin is dict:
        convert_item = converter(arguments[1], where)
        return lambda tree: {
            key: convert_item(value) for key, value in _mapping(tree, where).items()
        }
    raise TypeError(
        f"job `{where}` returns {annotation!r}; a result is annotated with tp.Numpy, tp.ListNumpy, "
        "a tuple, list or dict of them, tp.Bundle[...] or tp.Callback[...]"
    )


class Leaf(list[Any]):
    """The results of the replicas at one place of a structure of results."""


# A union would be made anew in each call.
_COLLECTIONS = (list, tuple, dict)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """Apply `function` to each leaf of nested lists, tuples and dicts."""
    if isinstance(tree, Leaf) or not isinstance(tree, _COLLECTIONS):
        return function(tree)
    if isinstance(tree, dict):
        return {key: map_leaves(function, value) for key, value in tree.items()}
    return type(tree)(map_leaves(function, branch) for branch in tree)


def _sequence(tree: Any, count: int | None, where: str) -> Sequence[Any]:
    if isinstance(tree, Leaf) or not isinstance(tree, list | tuple):
        raise TypeError(f"job `{where}` is annotated to return several results, and returns one")
    if count is not None and len(tree) != count:
        raise TypeError(f"job `{where}` is annotated to return {count} results, not {len(tree)}")
    return tree


def _mapping(tree: Any, where: str) -> dict:
    if not isinstance(tree, dict):
        raise TypeError(f"job `{where}` is annotated to return a dict, not {type(tree).__name__}")
    return tree
