"""A model captured at several sizes, and with several results where it reads values."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import oneflow as flow
from oneflow.graph.captured_step import CapturedStep
from oneflow.tensor.positions import assumed_counts
from oneflow_onnx.oneflow2onnx.capturing import ExportedModel, capture_call
from oneflow_onnx.oneflow2onnx.sizes import DynamicSizeError

# Captures that differ in nothing but assumed counts. In three of them sizes hardly agree by chance.
_NUM_RECORDED = 3
# Multiples of each size, which most models allow. A line through two points is no proof.
_FACTORS = (2, 3)
# Sizes beside these, as factor and term, which tell how a quotient is rounded.
_BETWEEN = ((1, 1), (3, -1))


@dataclass(frozen=True)
class Captures:
    """A model captured at several sizes.

    Attributes:
        steps: at multiples of its example's sizes.
        between: at other sizes; empty if the model does not allow them.
    """

    steps: list[CapturedStep]
    between: list[CapturedStep]


def _counts(capture: int) -> Iterator[int]:
    """Assumed numbers of positions: others in each capture, and for each search."""
    return iter(random.Random(capture).sample(range(17, 10_017), 10_000))


def captures(
    exported: ExportedModel,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    dynamic: Mapping[int, Mapping[int, str]],
) -> Captures:
    """Return the model as it is called, at several sizes where some are symbolic.

    A model whose sizes depend on values (`nonzero`, ``x[mask]``) is captured with several counts.

    Args:
        exported: the model.
        args: example arguments.
        kwargs: example keyword arguments.
        dynamic: names of symbolic sizes, by number of the tensor and dimension.

    Raises:
        ValueError: `dynamic` names tensors or dimensions that are not there.
        DynamicSizeError: the model allows no other number of what a mask selects.
    """
    tensors = list(tensors_in([*args, *kwargs.values()]))
    sizes = _base_sizes(tensors, dynamic)

    def at(sizes: Mapping[str, int], capture: int) -> tuple[CapturedStep, bool]:
        resized = iter(
            [
                _resized(tensor, dynamic.get(place, {}), sizes)
                for place, tensor in enumerate(tensors)
            ]
        )
        new_args = [_replaced(argument, resized) for argument in args]
        new_kwargs = {key: _replaced(argument, resized) for key, argument in kwargs.items()}
        with assumed_counts(_counts(capture)) as assumed:
            try:
                step = capture_call(exported.graph, new_args, new_kwargs)
            except (RuntimeError, ValueError) as error:
                if not assumed.searches:
                    raise
                raise DynamicSizeError(
                    "the model takes sizes from values (`nonzero`, `x[mask]`), and does something "
                    f"that another number of them does not allow: {error}"
                ) from error
        return step, bool(assumed.searches)

    scaled_sizes = [sizes, *({**sizes, n: sizes[n] * factor} for n in sizes for factor in _FACTORS)]
    results = [at(sizes, 0) for sizes in scaled_sizes]
    steps = [step for step, _ in results]
    if any(has_failed for _, has_failed in results):
        steps += [at(sizes, capture)[0] for capture in range(1, _NUM_RECORDED)]
    between = []
    # The user did not choose these sizes: a model may refuse them with any exception.
    with contextlib.suppress(Exception):
        for factor, term in _BETWEEN if sizes else ():
            between.append(at({n: factor * size + term for n, size in sizes.items()}, 0)[0])
    return Captures(steps, between if len(between) == len(_BETWEEN) else [])


def _base_sizes(
    tensors: Sequence[flow.Tensor], dynamic: Mapping[int, Mapping[int, str]]
) -> dict[str, int]:
    """The size at which each symbol is captured first: above 1, which broadcasts."""
    sizes: dict[str, int] = {}
    for place, dims in dynamic.items():
        if place >= len(tensors):
            raise ValueError(
                f"there are symbolic sizes for tensor {place}, but only {len(tensors)} arguments"
            )
        for dim, name in dims.items():
            if not 0 <= dim < tensors[place].ndim:
                raise ValueError(
                    f"symbolic dimension {dim} of tensor {place}, which has "
                    f"{tensors[place].ndim} dimensions"
                )
            sizes.setdefault(name, max(tensors[place].shape[dim], 2))
    # Different symbols get different sizes, or one could be taken for the other.
    return {name: size + (size == 2 and place) for place, (name, size) in enumerate(sizes.items())}


def _resized(x: flow.Tensor, dims: Mapping[int, str], sizes: Mapping[str, int]) -> flow.Tensor:
    """A tensor like `x` with the sizes of its symbolic dimensions."""
    shape = [sizes[dims[d]] if d in dims else size for d, size in enumerate(x.shape)]
    if tuple(shape) == tuple(x.shape):
        return x
    if x.is_global:
        return flow.zeros(*shape, dtype=x.dtype, placement=x.placement, sbp=x.sbp)
    return flow.zeros(*shape, dtype=x.dtype, device=x.device)


def tensors_in(value: Any) -> Iterable[flow.Tensor]:
    """Return the tensors in nested arguments, in order."""
    if isinstance(value, flow.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from itertools.chain.from_iterable(map(tensors_in, value.values()))
    elif isinstance(value, list | tuple):
        yield from itertools.chain.from_iterable(map(tensors_in, value))


def _replaced(value: Any, tensors: Any) -> Any:
    """Nested arguments with other tensors."""
    if isinstance(value, flow.Tensor):
        return next(tensors)
    if isinstance(value, dict):
        return {key: _replaced(item, tensors) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [_replaced(item, tensors) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value
