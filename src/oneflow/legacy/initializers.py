"""Initial values of variables.

An initializer fills a new variable in place. The formulas are those of `oneflow.nn.init`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from oneflow.base.dtype import DType
from oneflow.functional.creation import init
from oneflow.tensor.tensor import Tensor

Initializer = Callable[[Tensor], Tensor]
_MODES = ("fan_in", "fan_out", "fan_avg")
# Standard deviation of a normal distribution of variance 1 of which values beyond two standard
# deviations are drawn again.
_TRUNCATED_STD = 0.87962566103423978


def constant_initializer(value: float = 0, dtype: DType | None = None) -> Initializer:
    """Every element is `value`; `dtype` is the variable's.

    Example:
        >>> import oneflow as flow
        >>> flow.constant_initializer(3)(flow.empty(2))
        tensor([3., 3.], dtype=oneflow.float32)
    """
    return lambda tensor: init.constant_(tensor, value)


def empty_initializer(dtype: DType | None = None) -> Initializer:
    """Every element is left as it is, which is 0 in a new variable.

    Example:
        >>> import oneflow as flow
        >>> flow.empty_initializer()(flow.zeros(2))
        tensor([0., 0.], dtype=oneflow.float32)
    """
    return lambda tensor: tensor


def zeros_initializer(dtype: DType | None = None) -> Initializer:
    """Every element is 0.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros_initializer()(flow.empty(2))
        tensor([0., 0.], dtype=oneflow.float32)
    """
    return constant_initializer(0)


def ones_initializer(dtype: DType | None = None) -> Initializer:
    """Every element is 1.

    Example:
        >>> import oneflow as flow
        >>> flow.ones_initializer()(flow.empty(2))
        tensor([1., 1.], dtype=oneflow.float32)
    """
    return constant_initializer(1)


def random_uniform_initializer(
    minval: float = 0, maxval: float = 1, dtype: DType | None = None
) -> Initializer:
    """Uniform numbers from `minval` to `maxval`; integers may be `maxval`, too.

    Example:
        >>> import oneflow as flow
        >>> weight = flow.random_uniform_initializer(1, 2)(flow.empty(100))
        >>> bool((weight >= 1).all() and (weight < 2).all())
        True
    """

    def fill(tensor: Tensor) -> Tensor:
        if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
            return init.uniform_(tensor, minval, maxval)
        return tensor.random_(int(minval), int(maxval) + 1)

    return fill


def random_normal_initializer(
    mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: DType | None = None
) -> Initializer:
    """Normal numbers; `seed` is accepted, draws follow `oneflow.manual_seed`.

    Example:
        >>> import oneflow as flow
        >>> flow.random_normal_initializer(mean=3, stddev=0)(flow.empty(2))
        tensor([3., 3.], dtype=oneflow.float32)
    """
    return lambda tensor: init.normal_(tensor, mean, stddev)


def truncated_normal_initializer(mean: float = 0.0, stddev: float = 1.0) -> Initializer:
    """Normal numbers, drawn again if they are more than two standard deviations off.

    Example:
        >>> import oneflow as flow
        >>> weight = flow.truncated_normal_initializer(1.0, 0.1)(flow.empty(100))
        >>> bool((weight - 1).abs().max() <= 0.2)
        True
    """
    return lambda tensor: init.trunc_normal_(
        tensor, mean, stddev, mean - 2 * stddev, mean + 2 * stddev
    )


def truncated_normal(stddev: float = 1.0) -> Initializer:
    """`truncated_normal_initializer` around 0.

    Example:
        >>> import oneflow as flow
        >>> weight = flow.truncated_normal(0.1)(flow.empty(100))
        >>> bool(weight.abs().max() <= 0.2)
        True
    """
    return truncated_normal_initializer(0.0, stddev)


def xavier_uniform_initializer(data_format: str = "") -> Initializer:
    """Uniform numbers of variance ``2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010).

    Example:
        >>> import oneflow as flow
        >>> weight = flow.xavier_uniform_initializer()(flow.empty(3, 3))
        >>> bool(weight.abs().max() <= 1)
        True
    """
    return variance_scaling_initializer(1.0, "fan_avg", "random_uniform", data_format)


def xavier_normal_initializer(data_format: str = "") -> Initializer:
    """Normal numbers of variance ``2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010).

    Example:
        >>> import oneflow as flow
        >>> flow.xavier_normal_initializer()(flow.empty(3, 3)).shape
        oneflow.Size([3, 3])
    """
    return variance_scaling_initializer(1.0, "fan_avg", "random_normal", data_format)


glorot_uniform_initializer = xavier_uniform_initializer
glorot_normal_initializer = xavier_normal_initializer


def kaiming_initializer(
    shape: Sequence[int],
    distribution: str = "random_normal",
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    negative_slope: float = 0.0,
    data_format: str = "NCHW",
) -> Initializer:
    """Numbers of variance ``gain ** 2 / fan`` (He et al., 2015, https://arxiv.org/abs/1502.01852).

    Args:
        shape: the shape of the variable; the initializer takes it from the variable itself.
        distribution: "random_normal" or "random_uniform".
        mode: "fan_in", "fan_out" or "fan_avg".
        nonlinearity: the function after the layer, as in `oneflow.nn.init.calculate_gain`.
        negative_slope: the negative slope of "leaky_relu".
        data_format: "NCHW" or "NHWC": where the channels of a convolution's weight are.

    Example:
        >>> import oneflow as flow
        >>> flow.kaiming_initializer((8, 3))(flow.empty(8, 3)).shape
        oneflow.Size([8, 3])
    """
    gain = init.calculate_gain(nonlinearity, negative_slope)
    return variance_scaling_initializer(gain**2, mode, distribution, data_format)


def variance_scaling_initializer(
    scale: float = 1.0,
    mode: str = "fan_in",
    distribution: str = "truncated_normal",
    data_format: str = "",
) -> Initializer:
    """Numbers of variance ``scale / fan``.

    Args:
        scale: the factor.
        mode: "fan_in", "fan_out" or "fan_avg": how many inputs or outputs a unit has, or the mean.
        distribution: "truncated_normal", "random_normal" or "random_uniform".
        data_format: "NHWC" if a convolution's weight has its channels last.

    Raises:
        ValueError: `mode` or `distribution` is something else.

    Example:
        >>> import oneflow as flow
        >>> draw = flow.variance_scaling_initializer(2.0, "fan_in", "random_uniform")
        >>> bool(draw(flow.empty(8, 6)).abs().max() <= 1.0)
        True
    """
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {_MODES}, got {mode!r}")
    if distribution not in ("truncated_normal", "random_normal", "random_uniform"):
        raise ValueError(
            "distribution must be 'truncated_normal', 'random_normal' or 'random_uniform', "
            f"got {distribution!r}"
        )

    def fill(tensor: Tensor) -> Tensor:
        std = math.sqrt(scale / _fan(tuple(tensor.shape), mode, data_format))
        if distribution == "random_uniform":
            return init.uniform_(tensor, -math.sqrt(3) * std, math.sqrt(3) * std)
        if distribution == "random_normal":
            return init.normal_(tensor, 0.0, std)
        wide = std / _TRUNCATED_STD
        return init.trunc_normal_(tensor, 0.0, wide, -2 * wide, 2 * wide)

    return fill


def _fan(shape: tuple[int, ...], mode: str, data_format: str) -> float:
    """Return the number of inputs or outputs of a unit of a weight of `shape`."""
    if len(shape) < 2:
        fan_in = fan_out = math.prod(shape)
    else:
        channels_last = data_format == "NHWC"
        window = math.prod(shape[1:-1] if channels_last else shape[2:])
        fan_in = (shape[-1] if channels_last else shape[1]) * window
        fan_out = shape[0] * window
    return {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode]
