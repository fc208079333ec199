"""Padding, counting and losses that were top-level names in job functions' `oneflow`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType
from oneflow.functional.creation import factory_functions
from oneflow.functional.elementwise.clamp import where
from oneflow.functional.index import gather as gathers
from oneflow.functional.nn import elementwise_loss, margin_loss, padding as paddings
from oneflow.functional.reduce import sums
from oneflow.functional.registry import function, register_public
from oneflow.functional.shape import reshape
from oneflow.legacy_functions.arrays import identity
from oneflow.legacy_functions.windows import FORMATS, sizes_of, spatial_padding
from oneflow.tensor.tensor import Tensor

register_public("combined_margin_loss", margin_loss.combined_margin_loss)
register_public("dim_gather", gathers.gather)
# These functions mark tensors for passes of OneFlow's compiler. XLA needs no marks.
register_public("amp_white_identity", identity)
register_public("cast_to_static_shape", identity)
register_public("cast_to_current_logical_view", identity)


def _around(padding: int | Sequence[int]) -> list[int]:
    """Return the padding left, right, above and below.

    Raises:
        ValueError: there is neither one number nor four.
    """
    pads = [padding] * 4 if isinstance(padding, int) else list(padding)
    if len(pads) != 4:
        raise ValueError(f"`padding` must be one integer or four, got {padding}")
    return pads


@function(method=False)
def constant_pad2d(x: Tensor, padding: int | Sequence[int], constant_value: float = 0) -> Tensor:
    """Images with a number around them.

    Args:
        x: a tensor of shape (N, C, H, W).
        padding: what is added left, right, above and below, or one number for all.
        constant_value: the number.

    Example:
        >>> import oneflow as flow
        >>> flow.constant_pad2d(flow.zeros(1, 1, 1, 1), (1, 0, 0, 0), 7).tolist()
        [[[[7.0, 0.0]]]]
    """
    return paddings.pad(x, _around(padding), value=constant_value)


@function(method=False)
def zero_pad2d(x: Tensor, padding: int | Sequence[int]) -> Tensor:
    """Images with zeros around them; see `constant_pad2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.zero_pad2d(flow.ones(1, 1, 1, 1), (1, 0, 0, 0)).tolist()
        [[[[0.0, 1.0]]]]
    """
    return constant_pad2d(x, padding)


@function(method=False)
def reflection_pad2d(x: Tensor, padding: int | Sequence[int]) -> Tensor:
    """Images with what mirrors at their edges show around them; see `constant_pad2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.reflection_pad2d(flow.tensor([[[[1.0, 2.0]]]]), (1, 0, 0, 0)).tolist()
        [[[[2.0, 1.0, 2.0]]]]
    """
    return paddings.pad(x, _around(padding), "reflect")


@function(method=False)
def replication_pad2d(x: Tensor, padding: int | Sequence[int]) -> Tensor:
    """Images with their edges repeated around them; see `constant_pad2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.replication_pad2d(flow.tensor([[[[1.0, 2.0]]]]), (1, 0, 0, 0)).tolist()
        [[[[1.0, 1.0, 2.0]]]]
    """
    return paddings.pad(x, _around(padding), "replicate")


@function(method=False)
def pad_grad(x: Tensor, paddings: Sequence[Sequence[int]], constant_value: float = 0) -> Tensor:
    """The gradient of padding: `x` without the padding around each dimension.

    Args:
        x: any tensor.
        paddings: the amounts before and after each dimension.
        constant_value: accepted; what was added has no gradient.

    Example:
        >>> import oneflow as flow
        >>> flow.pad_grad(flow.tensor([1, 2, 3]), [(1, 0)])
        tensor([2, 3], dtype=oneflow.int64)
    """
    for dim, (before, after) in enumerate(paddings):
        x = x.narrow(dim, before, x.shape[dim] - before - after)
    return x


@function(method=False)
def same_padding(
    x: Tensor,
    padding: str,
    data_format: str,
    kernel_size: Sequence[int],
    strides: Sequence[int],
    dilation_rate: Sequence[int],
) -> Tensor:
    """Images with zeros around them, so that a convolution gives ``ceil(size / stride)`` rows.

    Args:
        x: images of one to three spatial dimensions.
        padding: "SAME_LOWER" or "SAME_UPPER": where of an odd number of rows more are added.
        data_format: such as "NCHW" or "NHWC".
        kernel_size: the kernel size of the convolution, as the next two.
        strides: the strides of the windows.
        dilation_rate: between elements of a window.

    Raises:
        ValueError: the order of dimensions is none of images of that kind.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(1, 2, 5, 5)
        >>> flow.same_padding(x, "SAME_UPPER", "NCHW", (3, 3), (2, 2), (1, 1)).shape
        oneflow.Size([1, 2, 7, 7])
    """
    count = x.ndim - 2
    if data_format not in FORMATS.get(count, ()):
        raise ValueError(f"data_format must be of {x.ndim} dimensions, got {data_format!r}")
    kernel = sizes_of(kernel_size, count, "kernel_size")
    dilation = sizes_of(dilation_rate, count, "dilation_rate")
    window = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    first = 2 if data_format == FORMATS[count][0] else 1
    size = x.shape[first : first + count]
    pairs = spatial_padding(padding, size, window, sizes_of(strides, count, "strides"))
    pads = [amount for pair in reversed(pairs) for amount in pair]
    return paddings.pad(x, [0, 0] * (2 - first) + pads)


@function(method=False)
def one_hot(
    indices: Tensor,
    depth: int,
    on_value: float = 1,
    off_value: float = 0,
    axis: int = -1,
    dtype: DType | None = None,
) -> Tensor:
    """A vector for each class number, `on_value` at that index and `off_value` elsewhere.

    Args:
        indices: integers.
        depth: length of the vectors.
        on_value: number at the class.
        off_value: number elsewhere.
        axis: the dimension of the vectors in the result.
        dtype: the dtype of the result, int32 by default.

    Example:
        >>> import oneflow as flow
        >>> flow.one_hot(flow.tensor([1, 0]), 2, axis=0).tolist()
        [[0, 1], [1, 0]]
    """
    classes = factory_functions.arange(depth, device=indices.device)
    hot = reshape.unsqueeze(indices, -1) == classes
    vectors = where(hot, on_value, off_value).to(dtype or dt.int32)
    return reshape.movedim(vectors, -1, axis)


@function(method=False)
def smooth_l1_loss(prediction: Tensor, label: Tensor, beta: float = 1.0) -> Tensor:
    """The smooth L1 loss of each element; see `oneflow.nn.functional.smooth_l1_loss`.

    Example:
        >>> import oneflow as flow
        >>> flow.smooth_l1_loss(flow.tensor([1.0, 2.0]), flow.tensor([1.5, 4.0]))
        tensor([0.1250, 1.5000], dtype=oneflow.float32)
    """
    return elementwise_loss.smooth_l1_loss(prediction, label, beta, "none")


def square_sum(x: Tensor, name: str | None = None) -> Tensor:
    """The sum of the squares of all elements, as a tensor of one element; `name` is accepted.

    Example:
        >>> import oneflow as flow
        >>> flow.experimental.square_sum(flow.tensor([3.0, 4.0]))
        tensor([25.], dtype=oneflow.float32)
    """
    return reshape.reshape(sums.sum_(x * x), (1,))


@function(method=False)
def elem_cnt(inputs: Tensor, dtype: DType | None = None) -> Tensor:
    """The number of elements of a tensor, as a tensor of one element.

    Example:
        >>> import oneflow as flow
        >>> flow.elem_cnt(flow.ones(2, 3))
        tensor([6], dtype=oneflow.int32)
    """
    return factory_functions.full((1,), math.prod(inputs.shape), dtype=dtype or dt.int32)


@function(method=False)
def count_not_finite(x: Tensor) -> Tensor:
    """The number of elements that are infinite or no number, as a tensor of one element.

    Example:
        >>> import oneflow as flow
        >>> flow.count_not_finite(flow.tensor([1.0, float("nan"), float("inf")]))
        tensor([2], dtype=oneflow.int64)
    """
    return reshape.reshape(sums.sum_((~x.isfinite()).to(dt.int64)), (1,))


@function(method=False)
def multi_count_not_finite(x: Sequence[Tensor]) -> Tensor:
    """`count_not_finite` of several tensors together.

    Example:
        >>> import oneflow as flow
        >>> flow.multi_count_not_finite([flow.ones(2), flow.tensor([float("nan")])])
        tensor([1], dtype=oneflow.int64)
    """
    return sum(
        (count_not_finite(tensor) for tensor in x), factory_functions.zeros(1, dtype=dt.int64)
    )
