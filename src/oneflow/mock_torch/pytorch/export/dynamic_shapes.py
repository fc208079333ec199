"""``torch.export.dynamic_shapes``: which sizes of arguments may be others than in the example."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from oneflow import Tensor
from oneflow.mock_torch.pytorch.utils._pytree import GetAttrKey, tree_flatten_with_path


@dataclass(frozen=True)
class Hint:
    """A size without a name that may change or must not.

    Attributes:
        is_dynamic: whether it may.
        min: the least size.
        max: the largest one; None if there is no limit.
    """

    is_dynamic: bool
    min: int = 0
    max: int | None = None

    def __call__(self, min: int | None = None, max: int | None = None) -> Hint:
        """Return a hint with limits."""
        return Hint(self.is_dynamic, min or 0, max)


class Dim:
    """A size that may change, equal wherever it is given.

    Args:
        name: its name in errors.
        min: the least size.
        max: the largest one; None if there is no limit.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     model = torch.nn.Linear(2, 1)
        ...     batch = torch.export.Dim("batch", min=1, max=8)
        ...     shapes = ({0: batch},)
        ...     program = torch.export.export(model, (torch.ones(4, 2),), dynamic_shapes=shapes)
        ...     tuple(program.module()(torch.ones(7, 2)).shape)
        (7, 1)
    """

    AUTO: ClassVar[Hint] = Hint(is_dynamic=True)
    DYNAMIC: ClassVar[Hint] = Hint(is_dynamic=True)
    STATIC: ClassVar[Hint] = Hint(is_dynamic=False)

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self.__name__, self.min, self.max = name, min or 0, max
        if max is not None and max <= self.min:
            raise ValueError(f"`max` of `Dim({name!r})` must be above `min`, {self.min}, got {max}")

    def __repr__(self) -> str:
        return f"Dim({self.__name__!r}, min={self.min}, max={self.max})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Return a `Dim` for each name, all with the same limits."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ShapesCollection:
    """Sizes that may change, by the tensors of the example that have them."""

    def __init__(self) -> None:
        self._shapes: dict[int, Any] = {}

    def __setitem__(self, tensor: Tensor, shape: Any) -> None:
        self._shapes[id(tensor)] = shape

    def __getitem__(self, tensor: Tensor) -> Any:
        return self._shapes.setdefault(id(tensor), {})

    def __len__(self) -> int:
        return len(self._shapes)

    def of(self, tensor: Tensor) -> Any:
        """The sizes of a tensor; None if none may change."""
        return self._shapes.get(id(tensor))


@dataclass(frozen=True)
class ArgumentShape:
    """The conditions on a tensor among the arguments.

    Attributes:
        path: where it is, as in `x` or `batch['mask']`.
        dtype: its dtype.
        sizes: by dimension the size, or a `Dim` or `Hint`.
    """

    path: str
    dtype: Any
    sizes: tuple[Any, ...]

    def check(self, tensor: Any, sizes_by_name: dict[str, int]) -> None:
        """Check a tensor, and keep the sizes that have names.

        Raises:
            AssertionError: it does not fit.
        """
        if not isinstance(tensor, Tensor):
            raise AssertionError(
                f"Guard failed: `{self.path}` must be a tensor, got {type(tensor).__name__}"
            )
        shape = tuple(tensor.shape)
        if tensor.dtype != self.dtype or len(shape) != len(self.sizes):
            raise AssertionError(
                f"Guard failed: `{self.path}` must have dtype {self.dtype} and {len(self.sizes)} "
                f"dimensions, got {tensor.dtype} and {len(shape)}"
            )
        for index, (size, expected) in enumerate(zip(shape, self.sizes, strict=True)):
            place = f"{self.path}.size()[{index}]"
            if isinstance(expected, int):
                if size != expected:
                    raise AssertionError(f"Guard failed: {place} == {expected}, got {size}")
            elif size < expected.min or (expected.max is not None and size > expected.max):
                limits = f"{expected.min} <= {place} <= {expected.max}"
                raise AssertionError(f"Guard failed: {limits}, got {size}")
            elif (
                isinstance(expected, Dim)
                and sizes_by_name.setdefault(expected.__name__, size) != size
            ):
                first_size = f"{sizes_by_name[expected.__name__]}, the size of {expected.__name__}"
                raise AssertionError(f"Guard failed: {place} == {first_size}, got {size}")


@dataclass(frozen=True)
class ArgumentValue:
    """The condition on an argument that is no tensor: its value is part of the program.

    Attributes:
        path: where it is.
        value: what it must be.
    """

    path: str
    value: Any

    def check(self, value: Any, sizes_by_name: dict[str, int]) -> None:
        """Check a value, as `ArgumentShape.check` does a tensor.

        Raises:
            AssertionError: it is another one.
        """
        if isinstance(value, Tensor) or value != self.value:
            raise AssertionError(f"Guard failed: {self.path} == {self.value!r}")


def argument_conditions(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    dynamic_shapes: Any,
) -> list[ArgumentShape | ArgumentValue]:
    """Return what the leaves of the arguments must be, in the order of the parameters.

    Args:
        function: what they are given to.
        args: the example's.
        kwargs: the example's.
        dynamic_shapes: by name, or in order, which sizes may change.

    Raises:
        ValueError: `dynamic_shapes` does not fit the arguments, or has two `Dim` of one name with
            other limits.
    """
    bound = inspect.signature(function).bind(*args, **kwargs).arguments
    shapes_by_argument = _by_argument(bound, dynamic_shapes)
    conditions = [
        condition
        for name, value in bound.items()
        for condition in _conditions(name, value, shapes_by_argument.get(name))
    ]
    by_name: dict[str, Dim] = {}
    for size in named_sizes(conditions):
        first = by_name.setdefault(size.__name__, size)
        if (first.min, first.max) != (size.min, size.max):
            raise ValueError(
                f"a `Dim` must have the same limits wherever its name is given, got {first} and "
                f"{size}"
            )
    return conditions


def named_sizes(conditions: Sequence[ArgumentShape | ArgumentValue]) -> Iterator[Dim]:
    """Yield the sizes of arguments that have names."""
    shapes = (shape for shape in conditions if isinstance(shape, ArgumentShape))
    return (size for shape in shapes for size in shape.sizes if isinstance(size, Dim))


def _by_argument(bound: Mapping[str, Any], dynamic_shapes: Any) -> dict[str, Any]:
    if dynamic_shapes is None:
        return {}
    if isinstance(dynamic_shapes, ShapesCollection):
        return dict.fromkeys(bound, dynamic_shapes)
    if isinstance(dynamic_shapes, Mapping):
        if dynamic_shapes.keys() != bound.keys():
            raise ValueError(
                f"`dynamic_shapes` must have the names of the arguments, {list(bound)}, "
                f"got {list(dynamic_shapes)}"
            )
        return dict(dynamic_shapes)
    if len(dynamic_shapes) != len(bound):
        raise ValueError(
            f"`dynamic_shapes` must have an element for each of {list(bound)}, got "
            f"{len(dynamic_shapes)}"
        )
    return dict(zip(bound, dynamic_shapes, strict=True))


def _conditions(
    path: str, value: Any, dynamic_shapes: Any
) -> Iterator[ArgumentShape | ArgumentValue]:
    for place, leaf in tree_flatten_with_path(value)[0]:
        name = path + "".join(str(key) for key in place)
        if isinstance(leaf, Tensor):
            sizes = (
                dynamic_shapes.of(leaf)
                if isinstance(dynamic_shapes, ShapesCollection)
                else _at(dynamic_shapes, place)
            )
            yield ArgumentShape(name, leaf.dtype, _sizes(name, leaf, sizes))
        else:
            yield ArgumentValue(name, leaf)


def _at(tree: Any, place: Sequence[Any]) -> Any:
    for key in place:
        if tree is None:
            return None
        if isinstance(key, GetAttrKey):
            tree = getattr(tree, key.name)
        else:
            tree = tree[getattr(key, "key", getattr(key, "idx", None))]
    return tree


def _sizes(path: str, tensor: Tensor, dynamic_shape: Any) -> tuple[Any, ...]:
    sizes: list[Any] = list(tensor.shape)
    if dynamic_shape is None:
        return tuple(sizes)
    members = (
        dynamic_shape.items() if isinstance(dynamic_shape, Mapping) else enumerate(dynamic_shape)
    )
    for index, member in members:
        if isinstance(member, Dim) or (isinstance(member, Hint) and member.is_dynamic):
            sizes[index] = member
        elif isinstance(member, int) and member != sizes[index]:
            raise ValueError(
                f"`dynamic_shapes` says that size {index} of `{path}` is {member}, in the example "
                "it "
                f"is {sizes[index]}"
            )
    return tuple(sizes)


__all__ = ["Dim", "ShapesCollection", "dims"]
