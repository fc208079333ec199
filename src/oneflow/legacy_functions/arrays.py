"""Functions on arrays that have other names or arguments than PyTorch's."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.base.dtype import DType
from oneflow.builtins import arrays
from oneflow.functional.creation import factory_functions
from oneflow.functional.registry import function, register_public
from oneflow.functional.shape import rearrange, reshape, stack
from oneflow.tensor.tensor import Tensor

register_public("slice_v2", stack.slice_)
register_public("dynamic_reshape", reshape.reshape)


@function(method=False)
def expand_dims(input: Tensor, axis: int) -> Tensor:
    """View with a new dimension of size 1 at `axis`.

    Example:
        >>> import oneflow as flow
        >>> flow.expand_dims(flow.ones(2, 3), 1).shape
        oneflow.Size([2, 1, 3])
    """
    return reshape.unsqueeze(input, axis)


@function(
    method=False,
    also=("_C.amp_black_identity", "_C.amp_white_identity"),
    keyword_aliases={"in_": "x"},
)
def identity(x: Tensor) -> Tensor:
    """A tensor equal to `x`.

    Example:
        >>> import oneflow as flow
        >>> flow.identity(flow.ones(1))
        tensor([1.], dtype=oneflow.float32)
    """
    return x.clone()


@function(
    method=False,
    namespace="nn.functional",
    also=("_C.depend",),
    keyword_aliases={"depends": "depend"},
)
def depend(input: Tensor, depend: Tensor | Sequence[Tensor]) -> Tensor:
    """`input` itself: programs keep the order in which users see effects, whatever XLA runs first.

    Args:
        input: any tensor.
        depend: what is to be computed before that which reads the result.

    Raises:
        TypeError: something of `depend` is not a tensor.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2)
        >>> flow.nn.functional.depend(x, x * 2) is x
        True
    """
    for dependency in [depend] if isinstance(depend, Tensor) else depend:
        if not isinstance(dependency, Tensor):
            raise TypeError(f"`depend` must be tensors, got {type(dependency).__name__}")
    return input


@function(method=False)
def constant(
    value: float, dtype: DType | None = None, shape: Sequence[int] | None = None
) -> Tensor:
    """A tensor filled with a number; of one dimension and one element if no shape is given.

    Example:
        >>> import oneflow as flow
        >>> flow.constant(3, dtype=flow.int32, shape=(2,))
        tensor([3, 3], dtype=oneflow.int32)
    """
    return factory_functions.full((1,) if shape is None else tuple(shape), value, dtype=dtype)


@function(method=False, fills_out=True)
def range_(
    start: float, limit: float | None = None, delta: float = 1, dtype: DType | None = None
) -> Tensor:
    """The numbers from `start` to before `limit`; from 0 to before `start` if it is given alone.

    Example:
        >>> import oneflow as flow
        >>> flow.range(3)
        tensor([0, 1, 2], dtype=oneflow.int64)
    """
    if limit is None:
        start, limit = 0, start
    return factory_functions.arange(start, limit, delta, dtype=dtype)


@function(method=False)
def constant_like(like: Tensor, value: float, dtype: DType | None = None) -> Tensor:
    """A tensor of the shape of `like`, filled with a number.

    Example:
        >>> import oneflow as flow
        >>> flow.constant_like(flow.ones(2), 3)
        tensor([3., 3.], dtype=oneflow.float32)
    """
    return factory_functions.full_like(like, value, dtype=dtype)


@function(method=False)
def constant_scalar(value: float, dtype: DType | None = None) -> Tensor:
    """A tensor of one dimension and one element.

    Example:
        >>> import oneflow as flow
        >>> flow.constant_scalar(3, dtype=flow.int32)
        tensor([3], dtype=oneflow.int32)
    """
    return constant(value, dtype)


@function(method=False)
def identity_n(inputs: Sequence[Tensor]) -> list[Tensor]:
    """Tensors equal to `inputs`.

    Example:
        >>> import oneflow as flow
        >>> flow.identity_n([flow.ones(1), flow.zeros(1)])[1]
        tensor([0.], dtype=oneflow.float32)
    """
    return [identity(tensor) for tensor in inputs]


@function(method=False, also=("_C.reshape_like",), keyword_aliases={"in_": "x"})
def reshape_like(x: Tensor, like: Tensor) -> Tensor:
    """`x` in the shape of `like`.

    Example:
        >>> import oneflow as flow
        >>> flow.reshape_like(flow.ones(4), flow.ones(2, 2)).shape
        oneflow.Size([2, 2])
    """
    return reshape.reshape(x, like.shape)


@function(method=False)
def reverse(input: Tensor, axis: int | Sequence[int]) -> Tensor:
    """The elements in reverse order along dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.reverse(flow.tensor([1, 2, 3]), 0)
        tensor([3, 2, 1], dtype=oneflow.int64)
    """
    return rearrange.flip(input, [axis] if isinstance(axis, int) else list(axis))


@function(method=False, also=("math.unsorted_segment_sum",))
def unsorted_segment_sum(
    data: Tensor, segment_ids: Tensor, num_segments: int, axis: int = 0
) -> Tensor:
    """Sums of slices of `data`: slice `i` of the result adds those with the number `i`.

    Args:
        data: the tensor.
        segment_ids: integers, the number of each slice along `axis`.
        num_segments: number of slices of the result.
        axis: the dimension.

    Raises:
        IndexError: (at the next read of a value) a number is not below `num_segments`.

    Example:
        >>> import oneflow as flow
        >>> flow.unsorted_segment_sum(flow.tensor([1.0, 2.0, 4.0]), flow.tensor([1, 0, 1]), 3)
        tensor([2., 5., 0.], dtype=oneflow.float32)
    """
    return arrays.unsorted_segment_sum(data, segment_ids, axis, num_segments)


@function(method=False, also=("math.unsorted_segment_sum_like",))
def unsorted_segment_sum_like(
    data: Tensor, segment_ids: Tensor, like: Tensor, axis: int = 0
) -> Tensor:
    """`unsorted_segment_sum` with as many slices as `like` has.

    Example:
        >>> import oneflow as flow
        >>> x, at = flow.tensor([1.0, 2.0]), flow.tensor([1, 1])
        >>> flow.unsorted_segment_sum_like(x, at, flow.zeros(3))
        tensor([0., 3., 0.], dtype=oneflow.float32)
    """
    return unsorted_segment_sum(data, segment_ids, like.shape[axis], axis)


@function(method=False, also=("math.unsorted_batch_segment_sum",))
def unsorted_batch_segment_sum(data: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """`unsorted_segment_sum` of each sample of a batch, with numbers of its own.

    Args:
        data: a tensor of shape (batch, slices, ...).
        segment_ids: a tensor of shape (batch, slices).
        num_segments: number of slices of each result.

    Example:
        >>> import oneflow as flow
        >>> x, at = flow.tensor([[1.0, 2.0], [4.0, 8.0]]), flow.tensor([[0, 0], [1, 0]])
        >>> flow.unsorted_batch_segment_sum(x, at, 2).tolist()
        [[3.0, 0.0], [8.0, 4.0]]
    """
    batch = segment_ids.shape[0]
    first = factory_functions.arange(0, batch * num_segments, num_segments, device=data.device)
    numbers = segment_ids + reshape.reshape(first, (batch, 1))
    merged = reshape.reshape(data, (-1, *data.shape[2:]))
    flat = reshape.reshape(numbers, (-1,))
    sums = unsorted_segment_sum(merged, flat, batch * num_segments)
    return reshape.reshape(sums, (batch, num_segments, *data.shape[2:]))
