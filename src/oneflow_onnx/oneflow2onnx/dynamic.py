"""PyTorch's two ways to say which sizes are symbols, read into one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Dimensions = dict[int, dict[int, str]]


def symbolic_dimensions(
    input_names: Sequence[str], dynamic_axes: Any = None, dynamic_shapes: Any = None
) -> Dimensions:
    """Return the names of symbolic dimensions by the place of the tensor and the dimension.

    Args:
        input_names: the names of the tensors, in order.
        dynamic_axes: for each input's name, its dimensions: a list of them, or a dict of names.
        dynamic_shapes: for each argument, in order or by name: a dict from dimension to name, or a
            sequence with one entry per dimension; None, or a number, is a fixed size.

    Raises:
        ValueError: both are given, or a name is that of no input.
    """
    if dynamic_axes and dynamic_shapes:
        raise ValueError("give `dynamic_axes` or `dynamic_shapes`, not both")
    if dynamic_axes:
        return _from_axes(input_names, dynamic_axes)
    return _from_shapes(input_names, dynamic_shapes) if dynamic_shapes else {}


def _from_axes(input_names: Sequence[str], dynamic_axes: Mapping[str, Any]) -> Dimensions:
    dimensions: Dimensions = {}
    for name, dims in dynamic_axes.items():
        if name not in input_names:
            # PyTorch takes the names of outputs too, whose sizes follow from the inputs.
            continue
        named = dims if isinstance(dims, Mapping) else {d: f"{name}_dim_{d}" for d in dims}
        dimensions[input_names.index(name)] = {
            int(d): str(axis_name) for d, axis_name in named.items()
        }
    if dynamic_axes and not dimensions:
        raise ValueError(
            f"`dynamic_axes` names {sorted(dynamic_axes)}, but the inputs are {list(input_names)}"
        )
    return dimensions


def _from_shapes(input_names: Sequence[str], shapes: Any) -> Dimensions:
    counter = itertools.count()
    if isinstance(shapes, Mapping):
        unknown = sorted(set(shapes) - set(input_names))
        if unknown:
            raise ValueError(
                f"`dynamic_shapes` names {unknown}, but the inputs are {list(input_names)}"
            )
        places = [(input_names.index(name), shape) for name, shape in shapes.items()]
    else:
        places = list(enumerate(shapes))
    return {place: dict(_named(shape, counter)) for place, shape in places if shape}


def _named(dims: Any, counter: Iterator[int]) -> Iterator[tuple[int, str]]:
    """The symbolic dimensions of one tensor, with names."""
    pairs = dims.items() if isinstance(dims, Mapping) else enumerate(dims)
    for dim, name in pairs:
        if name is None or isinstance(name, int):
            continue
        # `torch.export.Dim("batch")` has a name; `Dim.DYNAMIC` is a symbol of its own.
        text = getattr(name, "__name__", None) or (name if isinstance(name, str) else None)
        yield int(dim), text or f"s{next(counter)}"
