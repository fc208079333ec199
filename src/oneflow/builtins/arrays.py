"""Reductions, slices and writes as upstream's builtins take their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType, int32
from oneflow.base.shape import wrap_dim
from oneflow.builtins.operands import require_lists, require_same_dtype
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.creation.factory_functions import arange, empty, full
from oneflow.functional.elementwise.division import div
from oneflow.functional.index.gather import index_select, scatter_nd
from oneflow.functional.index.scatter import index_add
from oneflow.functional.index.search import argsort, argwhere as positions_of
from oneflow.functional.linalg.einsum import tensordot as contracted
from oneflow.functional.nn.detection import flags_of_nms
from oneflow.functional.nn.patches import pixel_shuffle as shuffled
from oneflow.functional.reduce.sums import sum_
from oneflow.functional.registry import function
from oneflow.functional.shape.concat import split
from oneflow.functional.shape.stack import slice_ as sliced, slice_update as updated
from oneflow.tensor.tensor import Tensor


@function(method=False, namespace="_C")
def reduce_sum_like(in_: Tensor, like: Tensor, axis: Sequence[int] = ()) -> Tensor:
    """The sum over the dimensions `axis`, in the shape of `like` and the dtype of `in_`.

    Raises:
        TypeError: the dtypes differ.
        RuntimeError: the sum does not have the shape of `like`.

    Example:
        >>> import oneflow as flow
        >>> flow._C.reduce_sum_like(flow.ones(2, 3), flow.ones(1, 3), [0])
        tensor([[2., 2., 2.]], dtype=oneflow.float32)
    """
    require_same_dtype("reduce_sum_like", x=in_, like=like)
    return (sum_(in_, list(axis), dtype=in_.dtype) if axis else in_).reshape(like.shape)


@function(method=False, namespace="_C")
def sqrt_square_sum(x: Tensor) -> Tensor:
    """The Euclidean norm of all elements.

    Example:
        >>> import oneflow as flow
        >>> flow._C.sqrt_square_sum(flow.tensor([3.0, 4.0]))
        tensor(5., dtype=oneflow.float32)
    """
    return sum_(x * x).sqrt()


@function(method=False, namespace="_C")
def split_like(x: Tensor, like: Sequence[Tensor], axis: int) -> tuple[Tensor, ...]:
    """`x` split along `axis` into parts of the sizes of `like`.

    Args:
        x: tensor.
        like: a tensor for each part, all with as many dimensions as `x`, or with the first ones of
            them.
        axis: dimension.

    Raises:
        RuntimeError: `like` is empty, or a tensor of it has another size than `x` in another
            dimension.

    Example:
        >>> import oneflow as flow
        >>> parts = flow._C.split_like(flow.arange(5), [flow.ones(2), flow.ones(3)], 0)
        >>> [part.tolist() for part in parts]
        [[0, 1], [2, 3, 4]]
    """
    require_lists("split_like", like=like)
    rank = like[0].ndim
    if not -rank <= axis < rank <= x.ndim:
        raise RuntimeError(
            f"`split_like`: `axis` must be one of the dimensions of `like`, which has {rank} of "
            f"the {x.ndim} of `x`, got {axis}"
        )
    axis %= rank
    for tensor in like:
        expected = [*x.shape[:axis], *tensor.shape[axis : axis + 1], *x.shape[axis + 1 : rank]]
        if list(tensor.shape) != expected:
            raise RuntimeError(
                f"`split_like`: a tensor of `like` may differ from `x` in dimension {axis} alone; "
                f"`x` has shape {list(x.shape)}, it has {list(tensor.shape)}"
            )
    return split(x, [tensor.shape[axis] for tensor in like], axis)


@function(method=False, namespace="_C")
def select_top_n(inputs: Sequence[Tensor], n: int) -> tuple[Tensor, ...]:
    """The first `n` of some tensors.

    Example:
        >>> import oneflow as flow
        >>> len(flow._C.select_top_n([flow.ones(1), flow.ones(2), flow.ones(3)], 2))
        2
    """
    return tuple(inputs[:n])


def _ranges(x: Tensor, start: Any, stop: Any, step: Any) -> list[tuple[int, int, int]]:
    """The ranges of the first dimensions of `x`.

    Raises:
        RuntimeError: there are too many, or one does not go forward from 0 or later.
    """
    if not len(start) == len(stop) == len(step) <= x.ndim:
        raise RuntimeError(
            f"slice: `start`, `stop` and `step` need one number per dimension, got {start}, {stop} "
            f"and {step} for shape {list(x.shape)}"
        )
    ranges = list(zip(start, stop, step, strict=True))
    for first, end, distance in ranges:
        if not (0 <= first <= end and distance > 0):
            raise RuntimeError(
                "slice: positions count from the front, 0 <= start <= stop, and step is positive; "
                f"got {first}, {end} and {distance}"
            )
    return ranges


@function(method=False, namespace="_C")
def slice(
    x: Tensor,
    start: Sequence[int],
    stop: Sequence[int],
    step: Sequence[int],
    enable_view_slice: bool | None = None,
) -> Tensor:
    """``x[start[0]:stop[0]:step[0], start[1]:stop[1]:step[1], ...]``.

    Args:
        x: tensor.
        start: first positions.
        stop: ends, which are left out.
        step: distances.
        enable_view_slice: accepted; the result shares memory in any case.

    Example:
        >>> import oneflow as flow
        >>> flow._C.slice(flow.arange(6).reshape(3, 2), [0, 1], [3, 2], [2, 1]).tolist()
        [[1], [5]]
    """
    return sliced(x, _ranges(x, start, stop, step))


@function(method=False, namespace="_C")
def slice_update(
    ref: Tensor,
    value: Tensor,
    start: Sequence[int],
    stop: Sequence[int],
    step: Sequence[int],
    inplace: bool = False,
) -> Tensor:
    """`ref` with `value` in the part that `slice` selects; `ref` itself if `inplace`.

    Raises:
        TypeError: the dtypes differ.
        RuntimeError: the part is not one of `ref`, or `value` has another shape.

    Example:
        >>> import oneflow as flow
        >>> flow._C.slice_update(flow.zeros(4), flow.ones(2), [1], [3], [1])
        tensor([0., 1., 1., 0.], dtype=oneflow.float32)
    """
    require_same_dtype("slice_update", ref=ref, value=value)
    ranges = _ranges(ref, start, stop, step)
    selected = sliced(ref, ranges).shape
    if value.shape != selected:
        raise RuntimeError(
            f"`slice_update`: `value` must have the shape of the part that it replaces, "
            f"{list(selected)}, got {list(value.shape)}"
        )
    return updated(ref if inplace else ref.clone(), value, ranges)


@function(method=False, namespace="_C")
def slice_view_1d_contiguous(x: Tensor, start: int, end: int) -> Tensor:
    """``x[start:end]``, on the memory of `x`.

    Example:
        >>> import oneflow as flow
        >>> flow._C.slice_view_1d_contiguous(flow.arange(4), 1, 3)
        tensor([1, 2], dtype=oneflow.int64)
    """
    return x[start:end]


@function(method=False, namespace="_C")
def tensor_setitem(x: Tensor, index: Any, value: Any) -> None:
    """``x[index] = value``.

    Example:
        >>> import oneflow as flow
        >>> x = flow.zeros(3)
        >>> flow._C.tensor_setitem(x, 1, flow.tensor(2.0))
        >>> x
        tensor([0., 2., 0.], dtype=oneflow.float32)
    """
    x[index] = value


@function(method=False, namespace="_C")
def assign_local_tensor(ref: Tensor, value: Tensor) -> None:
    """Write `value` into `ref`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.zeros(2)
        >>> flow._C.assign_local_tensor(x, flow.ones(2))
        >>> x
        tensor([1., 1.], dtype=oneflow.float32)
    """
    ref.copy_(value)


@function(method=False, namespace="_C")
def copy(
    x: Tensor,
    device_type: str | Device | None = None,
    device_id: int = 0,
    pin_memory: bool = False,
    *,
    device: Device | str | None = None,
) -> Tensor:
    """`x` on a device, given as such or by type and number; `pin_memory` is accepted.

    Example:
        >>> import oneflow as flow
        >>> flow._C.copy(flow.ones(2), "cpu", 0).device
        device(type='cpu', index=0)
    """
    if isinstance(device_type, str):
        return x.to(Device(device_type, device_id))
    return x.to(device if device_type is None else device_type)


@function(method=False, namespace="_C")
def argwhere(x: Tensor, dtype: DType = int32) -> tuple[Tensor, Tensor]:
    """The positions of the elements that are not zero, and how many there are.

    Example:
        >>> import oneflow as flow
        >>> positions, count = flow._C.argwhere(flow.tensor([0, 3, 5]))
        >>> positions.tolist(), count.tolist()
        ([[1], [2]], [2])
    """
    positions = positions_of(x, dtype)
    return positions, full((1,), len(positions), dtype=dtype, device=x.device)


@function(method=False, namespace="_C")
def gather(x: Tensor, indices: Tensor, axis: int) -> Tensor:
    """The slices of `x` along `axis` at `indices`, of any shape.

    Example:
        >>> import oneflow as flow
        >>> flow._C.gather(flow.tensor([5.0, 6.0, 7.0]), flow.tensor([[0, 2]]), 0)
        tensor([[5., 7.]], dtype=oneflow.float32)
    """
    axis = wrap_dim(axis, x.ndim)
    taken = index_select(x, axis, indices.reshape(-1))
    return taken.reshape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


@function(method=False, namespace="_C")
def scatternd(indices: Tensor, updates: Tensor, shape: Any) -> Tensor:
    """`scatter_nd`: zeros of `shape` with `updates` added at n-dimensional positions.

    Example:
        >>> import oneflow as flow
        >>> flow._C.scatternd(flow.tensor([[2]]), flow.tensor([5.0]), [3])
        tensor([0., 0., 5.], dtype=oneflow.float32)
    """
    return scatter_nd(indices, updates, shape)


@function(method=False, namespace="_C")
def scatterndlike(like: Tensor, updates: Tensor, indices: Tensor) -> Tensor:
    """`scatternd` in the shape of `like`.

    Example:
        >>> import oneflow as flow
        >>> flow._C.scatterndlike(flow.ones(3), flow.tensor([5.0]), flow.tensor([[2]]))
        tensor([0., 0., 5.], dtype=oneflow.float32)
    """
    return scatter_nd(indices, updates, like.shape)


@function(method=False, namespace="_C")
def unsorted_segment_sum(x: Tensor, segment_ids: Tensor, axis: int, num_segments: int) -> Tensor:
    """Sums of the slices of `x` along `axis` that have the same number in `segment_ids`.

    Args:
        x: tensor.
        segment_ids: a number below `num_segments` for each slice.
        axis: dimension of the slices.
        num_segments: size of the result along `axis`.

    Example:
        >>> import oneflow as flow
        >>> flow._C.unsorted_segment_sum(flow.tensor([1.0, 2.0, 4.0]), flow.tensor([1, 0, 1]), 0, 3)
        tensor([2., 5., 0.], dtype=oneflow.float32)
    """
    flat = segment_ids.reshape(-1)
    dim = wrap_dim(axis, x.ndim)
    before, rest = x.shape[:dim], x.shape[dim + segment_ids.ndim :]
    slices = x.reshape(*before, len(flat), *rest)
    return index_add(x.new_zeros((*before, num_segments, *rest)), dim, flat, slices)


@function(method=False, namespace="_C")
def unsorted_segment_sum_like(x: Tensor, segment_ids: Tensor, like: Tensor, axis: int) -> Tensor:
    """`unsorted_segment_sum` with as many segments as `like` has along `axis`.

    Example:
        >>> import oneflow as flow
        >>> x, ids = flow.tensor([1.0, 2.0]), flow.tensor([1, 1])
        >>> flow._C.unsorted_segment_sum_like(x, ids, flow.ones(3), 0)
        tensor([0., 3., 0.], dtype=oneflow.float32)
    """
    return unsorted_segment_sum(x, segment_ids, axis, like.shape[axis])


@function(method=False, namespace="_C")
def arg_sort(in_: Tensor, direction: str) -> Tensor:
    """The positions that sort the last dimension.

    Args:
        in_: tensor.
        direction: ``"ASCENDING"`` or ``"DESCENDING"``.

    Example:
        >>> import oneflow as flow
        >>> flow._C.arg_sort(flow.tensor([3, 1, 2]), "DESCENDING").tolist()
        [0, 2, 1]
    """
    if direction not in ("ASCENDING", "DESCENDING"):
        raise RuntimeError(f"`direction` must be ASCENDING or DESCENDING, got {direction!r}")
    return argsort(in_, -1, direction == "DESCENDING")


@function(method=False, namespace="_C", inplace=True)
def trunc_divide(input: Tensor, other: Any) -> Tensor:
    """The quotient without its fraction.

    Example:
        >>> import oneflow as flow
        >>> flow._C.trunc_divide(flow.tensor([-7.0]), 2)
        tensor([-3.], dtype=oneflow.float32)
    """
    return div(input, other, rounding_mode="trunc")


@function(method=False, namespace="_C")
def tensordot(
    a: Tensor, b: Tensor, dims_a: Any = 2, dims_b: Any = None, *, dims: Any = None
) -> Tensor:
    """`oneflow.tensordot` with the dimensions of both tensors as two arguments, or their number.

    Example:
        >>> import oneflow as flow
        >>> flow._C.tensordot(flow.ones(2, 3), flow.ones(2, 3), [0, 1], [0, 1])
        tensor(6., dtype=oneflow.float32)
    """
    contracting_dims = dims if dims is not None else dims_a if dims_b is None else (dims_a, dims_b)
    return contracted(a, b, contracting_dims)


@function(method=False, namespace="_C")
def pixel_shuffle(input: Tensor, h_upscale_factor: int, w_upscale_factor: int) -> Tensor:
    """`nn.functional.pixel_shuffle` with one factor for the height and one for the width.

    Example:
        >>> import oneflow as flow
        >>> flow._C.pixel_shuffle(flow.ones(1, 6, 1, 1), 2, 3).shape
        oneflow.Size([1, 1, 2, 3])
    """
    return shuffled(input, (h_upscale_factor, w_upscale_factor))


@function(method=False, namespace="_C")
def nms(x: Tensor, iou_threshold: float, keep_n: int = -1) -> Tensor:
    """Flags of the boxes that no earlier kept box overlaps too much.

    The size of the result does not depend on values, so that it can be part of a graph.

    Args:
        x: boxes ``(x1, y1, x2, y2)``, best first, shape ``(n, 4)``.
        iou_threshold: largest overlap, as intersection over union.
        keep_n: largest number of boxes; -1: all.

    Returns:
        int8 tensor of shape ``(n,)`` with 1 for boxes that are kept.

    Example:
        >>> import oneflow as flow
        >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.1], [2.0, 2.0, 3.0, 3.0]]
        >>> flow._C.nms(flow.tensor(boxes), 0.5).tolist()
        [1, 0, 1]
    """
    scores = arange(x.shape[0], 0, -1, device=x.device).to(x.dtype)
    return flags_of_nms(x, scores, iou_threshold, keep_n)[1].char()


@function(method=False, namespace="_C", aliases=("consistent_constant", "global_tensor_constant"))
def global_constant(shape: Any, value: Any, *, dtype: DType, placement: Any, sbp: Any) -> Tensor:
    """A global tensor with one number everywhere, given as such or as a tensor.

    Example:
        >>> import oneflow as flow
        >>> cpu = flow.placement("cpu", [0])
        >>> options = {"dtype": flow.int64, "placement": cpu, "sbp": flow.sbp.broadcast}
        >>> flow._C.global_constant((2,), 3, **options).tolist()
        [3, 3]
    """
    number = value.item() if isinstance(value, Tensor) else value
    return full(shape, number, dtype=dtype, placement=placement, sbp=sbp)


@function(method=False, namespace="_C", aliases=("consistent_empty",))
def global_empty(shape: Any, *, dtype: DType, placement: Any, sbp: Any) -> Tensor:
    """A global tensor whose values do not matter.

    Example:
        >>> import oneflow as flow
        >>> cpu = flow.placement("cpu", [0])
        >>> options = {"dtype": flow.int64, "placement": cpu, "sbp": flow.sbp.broadcast}
        >>> flow._C.global_empty((2,), **options).shape
        oneflow.Size([2])
    """
    return empty(*shape, dtype=dtype, placement=placement, sbp=sbp)


@function(method=False, namespace="_C", aliases=("consistent_arange",))
def global_arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: DType | None = None,
    placement: Any,
    sbp: Any,
) -> Tensor:
    """A global tensor of numbers from a start to an end, which is left out.

    Args:
        start: first number; a single positional argument is `end`.
        end: bound.
        step: distance, not zero.
        dtype: the dtype of the result.
        placement: the placement of the result.
        sbp: the SBP of the result.

    Example:
        >>> import oneflow as flow
        >>> cpu = flow.placement("cpu", [0])
        >>> flow._C.global_arange(1, 4, placement=cpu, sbp=flow.sbp.broadcast).tolist()
        [1, 2, 3]
    """
    return arange(start, end, step, dtype=dtype, placement=placement, sbp=sbp)


@function(method=False, namespace="_C")
def multi_tensor_yolov5_weight_update(
    model: Sequence[Tensor], model_update: Sequence[Tensor], d: float
) -> None:
    """Move tensors in place towards others, as an exponential moving average of weights does.

    Args:
        model: the averages, which become ``model * d + model_update * (1 - d)``.
        model_update: the new values.
        d: how much of the averages is kept.

    Raises:
        RuntimeError: the lists differ in length, or are empty.

    Example:
        >>> import oneflow as flow
        >>> average = flow.zeros(2)
        >>> flow._C.multi_tensor_yolov5_weight_update([average], [flow.ones(2)], 0.75)
        >>> average
        tensor([0.2500, 0.2500], dtype=oneflow.float32)
    """
    require_lists("multi_tensor_yolov5_weight_update", model=model, model_update=model_update)
    with no_grad():
        for average, new in zip(model, model_update, strict=True):
            average.mul_(d).add_(new, alpha=1 - d)
