"""Reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import oneflow as flow
from oneflow import Tensor
from oneflow_onnx.x2oneflow.registry import operator

Reduce = Callable[[Tensor, list[int], bool], Tensor]


def _product(x: Tensor, axes: list[int], keepdim: bool) -> Tensor:
    for axis in sorted((axis % x.ndim for axis in axes), reverse=True):
        x = flow.prod(x, axis, keepdim=keepdim)
    return x


def _min_or_max(function: Callable[..., Tensor], lowest: bool) -> Reduce:
    def reduce(x: Tensor, axes: list[int], keepdim: bool) -> Tensor:
        if all(x.shape[axis] for axis in axes):
            if x.dtype == flow.bool:
                return function(x.to(flow.uint8), axes, keepdim).to(flow.bool)
            return function(x, axes, keepdim)
        return flow.full_like(flow.sum(x, axes, keepdim), _identity(x.dtype, lowest)).to(x.dtype)

    return reduce


def _identity(dtype: flow.dtype, lowest: bool) -> float:
    """Return the extremum of no elements."""
    if dtype.is_floating_point:
        return -np.inf if lowest else np.inf
    if dtype == flow.bool:
        return 0 if lowest else 1
    limits = flow.iinfo(dtype)
    return limits.min if lowest else limits.max


def _mean(x: Tensor, axes: list[int], keepdim: bool) -> Tensor:
    if x.is_floating_point():
        return flow.mean(x, axes, keepdim)
    return flow.mean(x.to(flow.float64), axes, keepdim)


def _log_sum_exp(x: Tensor, axes: list[int], keepdim: bool) -> Tensor:
    if all(x.shape[axis] for axis in axes):
        return flow.logsumexp(x if x.is_floating_point() else x.to(flow.float64), axes, keepdim)
    return flow.log(flow.sum(flow.exp(x), axes, keepdim))


_REDUCTIONS: dict[str, Reduce] = {
    "ReduceL1": lambda x, axes, keepdim: flow.sum(flow.abs(x), axes, keepdim),
    "ReduceL2": lambda x, axes, keepdim: flow.sqrt(flow.sum(flow.square(x), axes, keepdim)),
    "ReduceLogSum": lambda x, axes, keepdim: flow.log(flow.sum(x, axes, keepdim)),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": _min_or_max(flow.amax, lowest=True),
    "ReduceMean": _mean,
    "ReduceMin": _min_or_max(flow.amin, lowest=False),
    "ReduceProd": _product,
    "ReduceSum": flow.sum,
    "ReduceSumSquare": lambda x, axes, keepdim: flow.sum(flow.square(x), axes, keepdim),
}

# The operator set in which the axes became an operand.
_AXES_OPERAND_SINCE = {"ReduceSum": 13}


def _by_attribute(reduce: Reduce) -> Callable[..., Tensor]:
    def apply(x: Tensor, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> Tensor:
        dims = list(axes) if axes else list(range(x.ndim))
        return reduce(x, dims, bool(keepdims)).to(x.dtype) if dims else reduce_scalar(reduce, x)

    return apply


def _by_operand(reduce: Reduce) -> Callable[..., Tensor]:
    def apply(
        x: Tensor,
        axes: np.ndarray | None = None,
        *,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
    ) -> Tensor:
        dims = [] if axes is None else [int(axis) for axis in axes.reshape(-1)]
        if not dims and noop_with_empty_axes:
            return reduce_scalar(reduce, x)
        dims = dims or list(range(x.ndim))
        return reduce(x, dims, bool(keepdims)).to(x.dtype) if dims else reduce_scalar(reduce, x)

    return apply


def reduce_scalar(reduce: Reduce, x: Tensor) -> Tensor:
    """Apply a reduction to every element alone."""
    return reduce(x.unsqueeze(0), [0], False).to(x.dtype)


for _name, _reduce in _REDUCTIONS.items():
    operator(_name)(_by_attribute(_reduce))
    operator(_name, since=_AXES_OPERAND_SINCE.get(_name, 18), host=(1,))(_by_operand(_reduce))


def _arg(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def apply(x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
        if not select_last_index:
            return function(x, axis, keepdim=bool(keepdims))
        mirrored = function(flow.flip(x, [axis % x.ndim]), axis, keepdim=bool(keepdims))
        return x.shape[axis] - 1 - mirrored

    return apply


operator("ArgMax")(_arg(flow.argmax))
operator("ArgMin")(_arg(flow.argmin))
