"""Functions mapped over a batch."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

import numpy as np

from oneflow.base.shape import wrap_dim
from oneflow.differentiation.hooks import HookOwner, running
from oneflow.functional.shape.concat import stack
from oneflow.graph.pytree import TreeConstant, TreeContainer
from oneflow.nn.utils.transforms import flat, unflat
from oneflow.random.generator import note_draws
from oneflow.tensor.batch_elements import running_elements
from oneflow.tensor.reads import note_reads
from oneflow.tensor.strides import strided_layout
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.view_chain import is_conjugate

_RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that calls `func` for each element of a batch and stacks the results.

    The calls are recorded one after the other and run as one program.

    Args:
        func: takes and returns tensors or structures of tensors.
        in_dims: the dimension of the batch in all arguments, or one for each; None: the argument
            is the same for all.
        out_dims: where the dimension goes in all results, or a structure that says it for parts
            of theirs; None: the result is the same for all elements.
        randomness: ``"error"``: random numbers are refused; ``"different"``: each call draws its
            own; ``"same"``: all calls draw the same.
        chunk_size: accepted; the calls are separate anyway.

    Raises:
        RuntimeError: there is no such `randomness`; (when called) `func` draws random numbers that
            it must not draw, or reads values that differ between elements of the batch, as
            ``item()`` and branches do.
        ValueError: `chunk_size` is not positive; (when called) no argument has a batch, their sizes
            differ, `in_dims` or `out_dims` do not fit, or `func` returns something else than
            tensors.

    Example:
        >>> import oneflow as flow
        >>> flow.func.vmap(flow.dot)(flow.ones(3, 2), flow.ones(3, 2))
        tensor([2., 2., 2.], dtype=oneflow.float32)
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(
            f"vmap: `randomness` must be 'error', 'different' or 'same', got {randomness!r}"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: `chunk_size` must be None or positive, got {chunk_size}")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        batch = _Batch(args, in_dims)
        calls = _Calls(functools.partial(func, **kwargs), randomness)
        with running(HookOwner(math.inf)):
            # An empty batch has results of the shapes that an element of zeros has.
            results = [_run_with(calls, batch, number) for number in range(max(batch.size, 1))]
        structure = results[0][1]
        places = _places(structure, out_dims)
        columns = zip(*(tensors for tensors, _ in results), strict=True)
        pairs = zip(columns, places, strict=True)
        if batch.size:
            stacked = [_stacked(column, dim, batch) for column, dim in pairs]
        else:
            stacked = [
                column[0] if dim is None else stack(column, dim).narrow(dim, 0, 0)
                for column, dim in pairs
            ]
        return unflat(structure, stacked)

    return mapped


class _Batch:
    """The arguments of a mapped function.

    Attributes:
        size: the number of its elements.
    """

    def __init__(self, args: tuple, in_dims: Any) -> None:
        if in_dims is not None and not isinstance(in_dims, int | tuple):
            raise ValueError(f"vmap: `in_dims` must be an integer or a tuple, got {in_dims!r}")
        arg_dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        if len(arg_dims) != len(args):
            raise ValueError(f"vmap: `in_dims` is for {len(arg_dims)} arguments, got {len(args)}")
        self._tensors, self._structure = flat(list(args), "func.vmap")
        self._dims = [
            dim
            for arg, arg_dim in zip(args, arg_dims, strict=True)
            for dim in _dims_of(arg, arg_dim)
        ]
        sizes = {
            tensor.shape[dim]
            for tensor, dim in zip(self._tensors, self._dims, strict=True)
            if dim is not None
        }
        if len(sizes) != 1:
            raise ValueError(
                f"vmap: expected all mapped tensors to have one size, got {sorted(sizes)}"
            )
        self.size = sizes.pop()
        self._parts: list[list[Tensor]] = []

    def element(self, number: int) -> Any:
        """The arguments for one element; zeros if there is none."""
        parts = [
            tensor if dim is None else self._part(tensor, dim, number)
            for tensor, dim in zip(self._tensors, self._dims, strict=True)
        ]
        self._parts.append(parts)
        return unflat(self._structure, parts)

    def places(self, number: int) -> list[tuple[Tensor, Tensor, int, int]]:
        """The tensors of one element, and for each its batch and its place there."""
        rows = zip(self._parts[number], self._tensors, self._dims, strict=True)
        return [(part, tensor, dim, number) for part, tensor, dim in rows if dim is not None]

    def stacked_argument(self, elements: Sequence[Tensor], dim: int) -> Tensor | None:
        """The argument whose elements along `dim` these very tensors are; None if there is none."""
        columns = zip(*self._parts, strict=True)
        for tensor, at, parts in zip(self._tensors, self._dims, columns, strict=True):
            if at is not None and at % tensor.ndim == dim and all(map(is_, parts, elements)):
                return tensor
        return None

    def _part(self, tensor: Tensor, dim: int, number: int) -> Tensor:
        return tensor.select(dim, number) if self.size else tensor.sum(dim).to(tensor.dtype)


def _dims_of(arg: Any, dims: Any) -> list[int | None]:
    """The dimension of the batch in each tensor of an argument.

    Raises:
        ValueError: `dims` has not the form of the argument.
    """
    if isinstance(arg, Tensor):
        if dims is not None and not isinstance(dims, int):
            raise ValueError(f"vmap: `in_dims` must be integers or None for tensors, got {dims!r}")
        if dims is not None and not -arg.ndim <= dims < arg.ndim:
            raise ValueError(
                f"vmap: `in_dims` is {dims} for a tensor of {arg.ndim} dimensions; give one of them"
            )
        return [dims]
    if not isinstance(arg, dict | list | tuple):
        if dims is not None:
            raise ValueError(
                f"vmap: `in_dims` must be None for what is no tensor, got {dims} for {arg!r}"
            )
        return []
    if dims is None or isinstance(dims, int):
        pairs = [(item, dims) for item in (arg.values() if isinstance(arg, dict) else arg)]
    elif isinstance(arg, dict) and isinstance(dims, dict) and arg.keys() == dims.keys():
        pairs = [(item, dims[key]) for key, item in arg.items()]
    elif type(dims) is type(arg) and not isinstance(arg, dict) and len(arg) == len(dims):
        pairs = list(zip(arg, dims, strict=True))
    else:
        raise ValueError(f"vmap: `in_dims` {dims!r} has not the form of the argument")
    return [dim for item, part in pairs for dim in _dims_of(item, part)]


def _run_with(calls: _Calls, batch: _Batch, number: int) -> tuple[list[Tensor], Any]:
    args = batch.element(number)
    with running_elements(batch.places(number)):
        return calls.run(args)


class _Calls:
    """The calls of a mapped function, which must do the same for each element.

    Args:
        function: the function.
        randomness: what `vmap` was given.
    """

    def __init__(self, function: Callable[..., Any], randomness: str) -> None:
        self._function = function
        self._randomness = randomness
        self._reads: list[np.ndarray] | None = None
        self._positions: dict[Any, tuple[int, int]] = {}

    def run(self, args: Sequence[Any]) -> tuple[list[Tensor], Any]:
        """The tensors of the result for one element, and its structure."""
        if self._randomness == "same":
            for generator, position in self._positions.items():
                generator.position = position
        with note_draws() as draws, note_reads() as reads:
            result = self._function(*args)
        self._check_draws(draws)
        self._check_reads(reads)
        return flat(result, "func.vmap")

    def _check_draws(self, draws: dict[Any, tuple[int, int]]) -> None:
        if draws and self._randomness == "error":
            for generator, position in draws.items():
                generator.position = position
            raise RuntimeError(
                "vmap: called random operation while in `randomness` error mode; give 'same' or "
                "'different', or draw the numbers outside"
            )
        self._positions = draws | self._positions

    def _check_reads(self, reads: list[np.ndarray]) -> None:
        first = self._reads = reads if self._reads is None else self._reads
        if len(reads) != len(first) or not all(map(_equal, reads, first)):
            raise RuntimeError(
                "vmap: the function reads values of tensors, by item(), numpy() or some "
                "data-dependent control flow, that differ between the elements of the batch; use "
                "operations on tensors instead, such as `where`"
            )


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    return (
        one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    )


def _places(structure: Any, dims: Any) -> list[int | None]:
    """Return the position of the batch dimension in each tensor of a result.

    Raises:
        ValueError: `dims` has not the form of the result, or a part is no tensor and has a place.
    """
    if isinstance(structure, TreeConstant):
        if dims is not None:
            raise ValueError(
                f"vmap: the function must only return tensors, got {structure.value!r}; give "
                "`out_dims` of None for what is none"
            )
        return []
    if dims is None or isinstance(dims, int):
        parts = structure.items if isinstance(structure, TreeContainer) else None
        return [dims] if parts is None else [x for part in parts for x in _places(part, dims)]
    out_dims = dims.values() if isinstance(dims, dict) else dims
    if not isinstance(dims, dict | list | tuple):
        raise ValueError(f"vmap: `out_dims` must be an integer, None or several, got {dims!r}")
    # One tensor is like a tuple of one.
    parts = structure.items if isinstance(structure, TreeContainer) else (structure,)
    if len(out_dims) != len(parts):
        raise ValueError(
            f"vmap: `out_dims` {dims!r} is not compatible with {len(parts)} results of the function"
        )
    return [
        x for part, out_dim in zip(parts, out_dims, strict=True) for x in _places(part, out_dim)
    ]


def _stacked(tensors: Sequence[Tensor], dim: int | None, batch: _Batch) -> Tensor:
    """The results of all calls in one tensor, or if `dim` is None the result that all have.

    Elements of an argument are that argument, and views of one memory a view of it.
    """
    if dim is not None:
        dim = wrap_dim(dim, tensors[0].ndim + 1)
        if tensors[0]._family is None:
            return stack(tensors, dim)
        stacked = batch.stacked_argument(tensors, dim)
        return _view_of_all(tensors, dim) if stacked is None else stacked
    first = tensors[0]
    if any(tensor is not first and not _equal(tensor.numpy(), first.numpy()) for tensor in tensors):
        raise ValueError(
            "vmap: `out_dims` of None is for a result that is the same for all elements, got others"
        )
    return first


def _view_of_all(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """The tensors along a new dimension: a view of their memory, if there is one, or a copy."""
    first = tensors[0]
    if not all(map(_is_known_part, tensors)):
        return stack(tensors, dim)
    places = {(tensor._family, tensor.dtype, tensor.shape, tensor.stride()) for tensor in tensors}
    starts = [tensor.storage_offset() for tensor in tensors]
    step = starts[1] - starts[0] if len(starts) > 1 else 0
    if len(places) > 1 or step < 0 or starts != [starts[0] + step * n for n in range(len(starts))]:
        return stack(tensors, dim)
    shape, strides = list(first.shape), list(first.stride())
    shape.insert(dim, len(starts))
    strides.insert(dim, step)
    return first.as_strided(shape, strides, starts[0])


def _is_known_part(tensor: Tensor) -> bool:
    """Test if the tensor is a view of elements as they are in memory, at known places."""
    family, chain = tensor._family, tensor._chain
    if family is None or family.root_views() or not chain or is_conjugate(chain):
        return False
    return all(isinstance(number, int) for number, _ in strided_layout(tensor).terms)
