"""Looking up rows of a table."""

from __future__ import annotations

from oneflow.base.dtype import Category
from oneflow.base.shape import as_integer
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.creation.factory_functions import arange
from oneflow.functional.registry import function
from oneflow.primitives.operators import embedding as e
from oneflow.tensor.call import call
from oneflow.tensor.host_gather import gather_on_host
from oneflow.tensor.operands import as_float
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap, write


def _check_indices(input: Tensor, name: str = "input") -> None:
    if not isinstance(input, Tensor):
        raise TypeError(f"`{name}` must be a Tensor of indices, not {type(input).__name__}")
    if input._value.spec.dtype.category is not Category.INTEGER:
        raise RuntimeError(
            f"expected `{name}` to hold indices of an integer type, got {input.dtype}"
        )


def padding_row(padding_idx: int | None, rows: int) -> int:
    """`padding_idx` counted from the front; `NO_PADDING` for None.

    Raises:
        AssertionError: it is outside the table.
    """
    if padding_idx is None:
        return e.NO_PADDING
    padding_idx = as_integer(padding_idx, "padding_idx")
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


def limit_rows_of(weight: Tensor, input: Tensor, max_norm: float | None, norm_type: float) -> None:
    """Scale down, in place, the rows of `weight` that are about to be looked up."""
    if max_norm is None:
        return
    with no_grad():
        limited = call(
            e.limit_rows,
            weight.detach(),
            input,
            as_float(max_norm, "max_norm"),
            norm_type=as_float(norm_type, "norm_type"),
        )
        write(weight, unwrap(limited))


@function(method=False, namespace="nn.functional")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of `weight` at the given indices.

    Args:
        input: indices, any shape, any integer type.
        weight: the table, shape ``(rows, dim)``.
        padding_idx: this row gets no gradient.
        max_norm: rows looked up are first scaled down to this norm, in place.
        norm_type: which norm that is.
        scale_grad_by_freq: divide a row's gradient by how often the row was looked up.
        sparse: without effect; gradients are dense.

    Returns:
        Tensor of shape ``(*input.shape, dim)``.

    Raises:
        IndexError: an index outside the table, when a result is next read.

    Example:
        >>> import oneflow as flow
        >>> table = flow.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> flow.nn.functional.embedding(flow.tensor([1, 0]), table)
        tensor([[3., 4.],
                [1., 2.]], dtype=oneflow.float32)
    """
    _check_indices(input)
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got shape {tuple(weight.shape)}")
    padding = padding_row(padding_idx, weight.shape[0])
    limit_rows_of(weight, input, max_norm, norm_type)
    on_host = gather_on_host(weight, (0,), (unwrap(input),), negative=False)
    if on_host is not None:
        return on_host
    return call(e.embedding, input, weight, padding=padding, by_frequency=bool(scale_grad_by_freq))


def _offsets(input: Tensor, offsets: Tensor | None, include_last: bool) -> Tensor:
    """The start of each bag in the flat list of indices.

    Raises:
        RuntimeError: the end of the last bag is missing, or offsets are no integers; (when a result
            is next read) they do not rise from 0.
        ValueError: offsets are given for two-dimensional input, or missing for one dimension.
    """
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                f"of fixed length sequences. However, found offsets of type {type(offsets)}"
            )
        batch_size, length = input.shape
        return arange(batch_size, device=input.device) * length
    if input.ndim != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    _check_indices(offsets, "offsets")
    if include_last and not offsets.shape[0]:
        raise RuntimeError("include_last_offset: `offsets` must have at least one element, got 0")
    return call(e.bag_offsets, offsets, count=input.shape[0])


def _embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None,
    mode: str,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int | None,
) -> Tensor:
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum or mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}')."
        )
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({tuple(per_sample_weights.shape)}) is not "
            f"None, then it must have the same shape as the input ({tuple(input.shape)})"
        )
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            f"embedding_bag: `per_sample_weights` must have the dtype of `weight`, {weight.dtype}, "
            f"got {per_sample_weights.dtype}"
        )
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"embedding_bag: `padding_idx` must be one of the rows, {-rows} through {rows - 1}, "
            f"got {padding_idx}"
        )
    starts = _offsets(input, offsets, include_last_offset)
    factors = () if per_sample_weights is None else (per_sample_weights.reshape((-1,)),)
    return call(
        e.embedding_bag,
        input.reshape((-1,)),
        weight,
        starts,
        *factors,
        mode=mode,
        include_last=bool(include_last_offset),
        padding=padding_row(padding_idx, rows),
    )


@function(method=False, namespace="nn.functional")
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows of `weight`.

    Args:
        input: indices: one bag per row, or one dimension cut into bags by `offsets`.
        weight: the table, shape ``(rows, dim)``.
        offsets: where each bag starts in a one-dimensional `input`.
        max_norm: rows looked up are first scaled down to this norm, in place.
        norm_type: which norm that is.
        scale_grad_by_freq: not supported here.
        mode: ``"sum"``, ``"mean"`` or ``"max"``.
        sparse: without effect; gradients are dense.
        per_sample_weights: factor of each row, for ``"sum"``.
        include_last_offset: `offsets` ends with the number of indices.
        padding_idx: indices equal to this do not count.

    Raises:
        RuntimeError: dtypes differ, or `padding_idx` is outside the table; (when a result is next
            read) an index is, or `offsets` do not rise from 0 up to the number of indices.
        ValueError: `mode` is unknown, `weight` is no matrix, or `offsets` does not fit `input`.

    Example:
        >>> import oneflow as flow
        >>> table = flow.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> flow.nn.functional.embedding_bag(flow.tensor([[1, 0]]), table)
        tensor([[2., 3.]], dtype=oneflow.float32)
    """
    _check_indices(input)
    if weight.ndim != 2:
        raise ValueError(f"`weight` has to be a 2D Tensor, but got one of dimension {weight.ndim}")
    if scale_grad_by_freq:
        raise NotImplementedError(
            "embedding_bag does not support scale_grad_by_freq; use embedding and a sum"
        )
    limit_rows_of(weight, input, max_norm, norm_type)
    return _embedding_bag(
        input, weight, offsets, mode, per_sample_weights, include_last_offset, padding_idx
    )
