"""Padding: more elements around a tensor, or fewer."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.base.shape import as_integer
from oneflow.functional.nn.spatial import require_elements, require_sizes
from oneflow.functional.registry import function
from oneflow.primitives.operators.resample import Resampling, resample
from oneflow.primitives.operators.shape import pad as constant_pad
from oneflow.tensor.call import call
from oneflow.tensor.operands import as_scalar_of
from oneflow.tensor.tensor import Tensor

_MODES = ("constant", "reflect", "replicate", "circular")


@function(method=False, namespace="nn.functional", also=("pad", "_C.pad"))
def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = 0
) -> Tensor:
    """Add elements before and after dimensions, the last dimension first.

    Args:
        input: the tensor.
        pad: ``[before, after]`` of the last dimension, then of the one before it, and so on;
            negative numbers remove elements.
        mode: what is added: ``"constant"``, ``"reflect"`` (mirrored without the border),
            ``"replicate"`` (the border repeated) or ``"circular"`` (the other end).
        value: what ``"constant"`` adds; None: zeros.

    Returns:
        The padded tensor.

    Raises:
        RuntimeError: amounts that do not fit the tensor, or `value` not the integers.
        NotImplementedError: an unknown mode, or one that needs more dimensions left alone.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.pad(flow.tensor([[1.0, 2.0, 3.0]]), [2, 1], mode="reflect")
        tensor([[3., 2., 1., 2., 3., 2.]], dtype=oneflow.float32)
    """
    pad_widths = tuple([as_integer(width, "pad") for width in pad])
    if mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}; use one of {_MODES}")
    if len(pad_widths) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, got {list(pad_widths)}")
    if len(pad_widths) > 2 * input.ndim:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad_widths)} and input of dimension {input.ndim}"
        )
    pairs = [(pad_widths[i], pad_widths[i + 1]) for i in range(0, len(pad_widths), 2)]
    dims = [input.ndim - 1 - index for index in range(len(pairs))]
    if mode == "constant":
        number = 0 if value is None else value
        return _constant(input, dict(zip(dims, pairs, strict=True)), number)
    if len(pairs) not in (input.ndim - 1, input.ndim - 2):
        raise NotImplementedError(
            f"{mode} padding of {len(pairs)} dimensions needs a {len(pairs) + 1}D or "
            f"{len(pairs) + 2}D input, got {input.ndim}D"
        )
    _check_shape(input, dims, pairs, mode)
    padded = input
    for dim, (low, high) in zip(dims, pairs, strict=True):
        if mode == "circular" and min(low, high) < 0:  # what is removed is no longer the other end
            padded = _constant(padded, {dim: (min(low, 0), min(high, 0))}, 0)
            low, high = max(low, 0), max(high, 0)
        if low or high:
            _check_size(padded, dim, low, high, mode)
            size = padded.shape[dim]
            resampling = Resampling(mode, size, size + low + high, start=low)
            padded = call(resample, padded, dim=dim, resampling=resampling)
    return input.clone() if padded is input else padded


@function(method=False, keyword_aliases={"pad": "padding"})
def constant_pad_nd(input: Tensor, padding: Sequence[int], value: float = 0) -> Tensor:
    """`nn.functional.pad` with one number.

    Example:
        >>> import oneflow as flow
        >>> flow.constant_pad_nd(flow.tensor([1.0, 2.0]), [1, 0], 9)
        tensor([9., 1., 2.], dtype=oneflow.float32)
    """
    return pad(input, padding, "constant", value)


def _constant(input: Tensor, pairs: dict[int, tuple[int, int]], value: float) -> Tensor:
    for dim, (low, high) in pairs.items():
        if input.shape[dim] + low + high < 0:
            raise RuntimeError(
                f"The input size {input.shape[dim]}, plus negative padding {low} and {high}, "
                f"resulted in a negative output size, check dimension {dim} of your input"
            )
    all_pairs = [pairs.get(dim, (0, 0)) for dim in range(input.ndim)]
    return call(
        constant_pad,
        input,
        as_scalar_of(input, value),
        low=tuple(low for low, _ in all_pairs),
        high=tuple(high for _, high in all_pairs),
        interior=(0,) * input.ndim,
    )


def _check_shape(input: Tensor, dims: list[int], pairs: list[tuple[int, int]], mode: str) -> None:
    """Check what holds for all dimensions: there are elements to repeat, and the result can be."""
    shape = input.shape
    if mode != "circular":
        require_elements(f"{mode} padding", (1, *shape)[-len(pairs) - 2 :])
    if mode == "replicate":  # the others are bounded by the input's size
        sizes = [shape[dim] + low + high for dim, (low, high) in zip(dims, pairs, strict=True)]
        require_sizes("pad", input, dims, sizes)


def _check_size(input: Tensor, dim: int, low: int, high: int, mode: str) -> None:
    size = input.shape[dim]
    most = {"reflect": size - 1, "circular": size}.get(mode)
    if most is not None and max(low, high) > most:
        raise RuntimeError(
            f"Padding size of {mode} padding should be at most {most} at dimension {dim} of input "
            f"{list(input.shape)}, but got ({low}, {high})"
        )
    if size + low + high < 1:
        raise RuntimeError(
            f"padding ({low}, {high}) leaves nothing of dimension {dim} of input "
            f"{list(input.shape)}"
        )
