"""Dropout. The backward pass draws the mask again from its seed and stream number."""

from __future__ import annotations

from typing import Any

from oneflow.functional.elementwise.arithmetic import add
from oneflow.functional.registry import function, inplace_form
from oneflow.primitives.operators import random as rng
from oneflow.random.generator import Generator, draw
from oneflow.tensor.call import call
from oneflow.tensor.methods import write_result
from oneflow.tensor.operands import as_float, require_tensor
from oneflow.tensor.tensor import Tensor

# PyTorch's name of the argument in the functions at its top level.
_TRAIN = {"train": "training"}


def _check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _scale(p: float) -> float:
    """The factor that keeps the mean when elements are dropped with probability `p`."""
    return 1.0 / (1.0 - p) if p < 1 else 0.0


def _finish(input: Tensor, result: Tensor, inplace: bool, name: str) -> Tensor:
    return write_result(input, result, name) if inplace else result


@function(
    namespace="nn.functional", method=False, also=("_C.dropout", "dropout"), keyword_aliases=_TRAIN
)
def dropout(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    generator: Generator | None = None,
    *,
    addend: Tensor | None = None,
) -> Tensor:
    """Zero elements with probability `p` and scale the others by ``1 / (1 - p)``.

    Args:
        input: floating point or complex tensor.
        p: probability of an element to become 0; a new value compiles nothing.
        training: False returns `input` as it is.
        inplace: write into `input`.
        generator: where the numbers come from, default the default generator.
        addend: added to the result.

    Raises:
        ValueError: `p` is outside [0, 1].

    Example:
        >>> import oneflow as flow
        >>> x = flow.nn.functional.dropout(flow.ones(1000), 0.5)
        >>> sorted(set(x.tolist()))
        [0.0, 2.0]
    """
    _check_probability(p)
    if training and p > 0:
        result = call(rng.dropout, input, *draw(generator), as_float(p, "p"), _scale(p))
        input = _finish(input, result, inplace, "dropout")
    return input if addend is None else add(input, addend)


def _drop_channels(
    input: Tensor, p: float, training: bool, inplace: bool, generator: Any, batched: bool = True
) -> Tensor:
    """Dropout of whole channels: one random number per sample and channel."""
    _check_probability(p)
    if not training or p == 0:
        return input
    leading = 2 if batched else 1
    if input.ndim < leading:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    broadcast_dims = tuple(range(leading, input.ndim))
    result = call(
        rng.dropout,
        input,
        *draw(generator),
        as_float(p, "p"),
        _scale(p),
        broadcast_dims=broadcast_dims,
    )
    return _finish(input, result, inplace, "feature_dropout")


@function(namespace="nn.functional", method=False)
def dropout1d(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """`dropout` of whole channels of a ``(N, C, L)`` or ``(C, L)`` tensor.

    Example:
        >>> import oneflow as flow
        >>> x = flow.nn.functional.dropout1d(flow.ones(2, 3, 4))
        >>> set(x.sum(2).flatten().tolist()) <= {0.0, 8.0}
        True
    """
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input of shape "
            f"{tuple(input.shape)}"
        )
    return _drop_channels(input, p, training, inplace, generator, batched=input.ndim == 3)


@function(namespace="nn.functional", method=False)
def dropout2d(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """`dropout` of whole channels of a ``(N, C, H, W)`` or ``(N, C, L)`` tensor.

    Example:
        >>> import oneflow as flow
        >>> x = flow.nn.functional.dropout2d(flow.ones(2, 3, 2, 2))
        >>> set(x.sum((2, 3)).flatten().tolist()) <= {0.0, 8.0}
        True
    """
    return _drop_channels(input, p, training, inplace, generator)


@function(namespace="nn.functional", method=False)
def dropout3d(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """`dropout` of whole channels of a ``(N, C, D, H, W)`` or ``(C, D, H, W)`` tensor.

    Example:
        >>> import oneflow as flow
        >>> x = flow.nn.functional.dropout3d(flow.ones(2, 3, 1, 2, 2))
        >>> set(x.sum((2, 3, 4)).flatten().tolist()) <= {0.0, 8.0}
        True
    """
    return _drop_channels(input, p, training, inplace, generator, batched=input.ndim != 4)


@function(method=False, keyword_aliases=_TRAIN)
def feature_dropout(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """`nn.functional.dropout` of whole channels of a ``(N, C, ...)`` tensor.

    Raises:
        RuntimeError: fewer than two dimensions.

    Example:
        >>> import oneflow as flow
        >>> x = flow.feature_dropout(flow.ones(2, 3, 4), 0.5, True)
        >>> set(x.sum(2).flatten().tolist()) <= {0.0, 8.0}
        True
    """
    return _drop_channels(input, p, training, inplace, generator)


# The limit of SELU at minus infinity (Klambauer et al., "Self-normalizing neural networks", 2017).
_SATURATION = -1.7580993408473766


def _alpha_dropout(
    input: Tensor, p: float, training: bool, inplace: bool, generator: Any, per_channel: bool
) -> Tensor:
    _check_probability(p)
    require_tensor(input, "feature_alpha_dropout" if per_channel else "alpha_dropout")
    if not training or p == 0:
        return input
    broadcast_dims = ()
    if per_channel:
        if input.ndim < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        broadcast_dims = tuple(range(2, input.ndim))
    scale = ((1 - p) * (1 + p * _SATURATION**2)) ** -0.5 if p < 1 else 0.0
    shift = -p * scale * _SATURATION
    numbers = (as_float(p, "p"), scale, shift, scale * _SATURATION + shift)
    result = call(
        rng.alpha_dropout, input, *draw(generator), *numbers, broadcast_dims=broadcast_dims
    )
    return _finish(input, result, inplace, "alpha_dropout")


@function(namespace="nn.functional", method=False, also=("alpha_dropout",), keyword_aliases=_TRAIN)
def alpha_dropout(
    input: Tensor,
    p: float = 0.5,
    training: bool = False,
    inplace: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Dropout for SELU networks: elements become SELU's limit; mean and variance stay.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.alpha_dropout(flow.ones(3), 1.0, training=True)
        tensor([0., 0., 0.], dtype=oneflow.float32)
    """
    return _alpha_dropout(input, p, training, inplace, generator, per_channel=False)


@function(
    namespace="nn.functional", method=False, also=("feature_alpha_dropout",), keyword_aliases=_TRAIN
)
def feature_alpha_dropout(
    input: Tensor,
    p: float = 0.5,
    training: bool = False,
    inplace: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """`alpha_dropout` of whole channels of a ``(N, C, ...)`` tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.feature_alpha_dropout(flow.ones(1, 2, 2), 0.0, training=True).shape
        oneflow.Size([1, 2, 2])
    """
    return _alpha_dropout(input, p, training, inplace, generator, per_channel=True)


dropout_ = inplace_form(dropout, "dropout_")
feature_dropout_ = inplace_form(feature_dropout, "feature_dropout_")
alpha_dropout_ = inplace_form(alpha_dropout, "alpha_dropout_")
feature_alpha_dropout_ = inplace_form(feature_alpha_dropout, "feature_alpha_dropout_")
