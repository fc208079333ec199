"""Fill a tensor in place and return it: the initial values of parameters.

Nothing here is recorded for the backward pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from oneflow.base.pytorch_warnings import warn_in_place_of_pytorch
from oneflow.base.suggestions import did_you_mean
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.creation.random_parameters import check_deviation, check_uniform_ends
from oneflow.primitives.operators.creation import full_float, full_integer, ones, zeros
from oneflow.primitives.operators.random import random_normal, random_uniform
from oneflow.primitives.operators.sampling import random_truncated_normal
from oneflow.program.value import Value
from oneflow.random.generator import Generator, draw
from oneflow.tensor.methods import attach
from oneflow.tensor.operands import as_float, as_number
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array
from oneflow.tensor.views import unwrap, write
from oneflow.tuning.host_memory import require_host_memory

_LINEAR = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The recommended gain for a nonlinearity.

    Args:
        nonlinearity: name of the function, such as ``"relu"``.
        param: its parameter: the negative slope of leaky_relu (0.01 by default).

    Raises:
        ValueError: the name is unknown or the parameter is not a number.

    Example:
        >>> import oneflow as flow
        >>> round(flow.nn.init.calculate_gain("relu"), 4)
        1.4142
    """
    if nonlinearity in _LINEAR:
        return 1.0
    gain_of = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}
    if nonlinearity in gain_of:
        return gain_of[nonlinearity]
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, int | float):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    names = [*_LINEAR, *gain_of, "leaky_relu"]
    raise ValueError(
        f"Unsupported nonlinearity {nonlinearity!r}{did_you_mean(nonlinearity, names)}"
    )


def _fill(tensor: Tensor, make: Callable[..., Value]) -> Tensor:
    """Write ``make(shape=, dtype=, device=)`` into `tensor`."""
    spec = tensor._value.spec
    with no_grad():
        return write(tensor, make(shape=spec.shape, dtype=spec.dtype, device=spec.device))


def _write(tensor: Tensor, array: np.ndarray) -> Tensor:
    with no_grad():
        return write(tensor, unwrap(import_array(array, tensor.dtype, tensor.device)))


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers drawn evenly from ``[a, b)``.

    Raises:
        RuntimeError: `a` is greater than `b`, or the dtype does not hold them or their difference.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.uniform_(flow.empty(3, 5)).shape
        oneflow.Size([3, 5])
    """
    check_uniform_ends(tensor.dtype, a, b)
    seed, stream = draw(generator)
    return _fill(
        tensor,
        lambda **spec: random_uniform(seed, stream, as_float(a, "a"), as_float(b, "b"), **spec),
    )


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with normally distributed numbers.

    Raises:
        RuntimeError: `std` is negative or NaN.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.normal_(flow.empty(3, 5), std=0.02).shape
        oneflow.Size([3, 5])
    """
    check_deviation(std)
    seed, stream = draw(generator)
    return _fill(
        tensor,
        lambda **spec: random_normal(
            seed, stream, as_float(mean, "mean"), as_float(std, "std"), **spec
        ),
    )


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normally distributed numbers between `a` and `b`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.trunc_normal_(flow.empty(3, 5)).shape
        oneflow.Size([3, 5])
    """
    seed, stream = draw(generator)
    numbers = (as_float(mean, "mean"), as_float(std, "std"), as_float(a, "a"), as_float(b, "b"))
    return _fill(tensor, lambda **spec: random_truncated_normal(seed, stream, *numbers, **spec))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.constant_(flow.empty(2), 0.5)
        tensor([0.5000, 0.5000], dtype=oneflow.float32)
    """
    full = full_float if tensor.dtype.is_floating_point else full_integer
    return _fill(tensor, lambda **spec: full(as_number(val), **spec))


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.ones_(flow.empty(2))
        tensor([1., 1.], dtype=oneflow.float32)
    """
    return _fill(tensor, ones)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.zeros_(flow.ones(2))
        tensor([0., 0.], dtype=oneflow.float32)
    """
    return _fill(tensor, zeros)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.eye_(flow.empty(2, 2)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    require_host_memory("eye_", rows * columns)
    return _write(tensor, np.eye(rows, columns))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that it passes its input through, in each of `groups` groups.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.dirac_(flow.empty(1, 1, 3)).tolist()
        [[[0.0, 1.0, 0.0]]]
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    outputs, inputs, *kernel = tensor.shape
    if outputs % groups:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = outputs // groups
    require_host_memory("dirac_", tensor.numel())
    weight = np.zeros(tensor.shape)
    middle = tuple(size // 2 for size in kernel)
    for group in range(groups):
        for channel in range(min(per_group, inputs)):
            weight[(group * per_group + channel, channel, *middle)] = 1
    return _write(tensor, weight)


def get_data_format(data_format: str) -> str:
    """``"channels_first"`` or ``"channels_last"`` for a name such as ``"NCHW"``.

    Raises:
        ValueError: neither starts with NC nor is N...C.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.get_data_format("NHWC")
        'channels_last'
    """
    if data_format.upper().startswith("NC"):
        return "channels_first"
    if data_format.upper().startswith("N") and data_format.upper().endswith("C"):
        return "channels_last"
    raise ValueError(f'data_format must be "N...C" or "NC...", but got {data_format}')


def _fan_in_and_out(shape: tuple[int, ...], data_format: str) -> tuple[int, int]:
    """Number of inputs and outputs that one output and one input of a weight are connected to."""
    if len(shape) < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    last = get_data_format(data_format) == "channels_last"
    field = math.prod(shape[1:-1] if last else shape[2:])
    return shape[-1 if last else 1] * field, shape[0] * field


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    return _fan_in_and_out(tensor.shape, "NCHW")


def calc_fan(shape: tuple[int, ...], mode: str, data_format: str) -> float:
    """Fan of a weight of `shape`; `mode` is ``"fan_in"``, ``"fan_out"`` or ``"fan_avg"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.calc_fan((8, 3, 5, 5), "fan_in", "NCHW")
        75
    """
    fan_in, fan_out = _fan_in_and_out(tuple(shape), data_format)
    fan_in_and_out = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}
    if mode.lower() not in fan_in_and_out:
        raise ValueError(f"Mode {mode} not supported, please use one of {list(fan_in_and_out)}")
    return fan_in_and_out[mode.lower()]


def xavier_uniform_(
    tensor: Tensor,
    gain: float = 1.0,
    *,
    data_format: str = "NCHW",
    generator: Generator | None = None,
) -> Tensor:
    """Glorot's uniform initialisation: bound ``gain * sqrt(6 / (fan_in + fan_out))``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.xavier_uniform_(flow.empty(3, 5)).shape
        oneflow.Size([3, 5])
    """
    bound = gain * math.sqrt(6.0 / sum(_fan_in_and_out(tensor.shape, data_format)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(
    tensor: Tensor,
    gain: float = 1.0,
    *,
    data_format: str = "NCHW",
    generator: Generator | None = None,
) -> Tensor:
    """Glorot's normal initialisation: deviation ``gain * sqrt(2 / (fan_in + fan_out))``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.xavier_normal_(flow.empty(3, 5)).shape
        oneflow.Size([3, 5])
    """
    std = gain * math.sqrt(2.0 / sum(_fan_in_and_out(tensor.shape, data_format)))
    return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    data_format: str = "NCHW",
    generator: Generator | None = None,
) -> Tensor:
    """He's uniform initialisation: bound ``gain * sqrt(3 / fan)``.

    Args:
        tensor: weight of at least 2 dimensions.
        a: negative slope of the rectifier that follows.
        mode: ``"fan_in"`` keeps the variance forward, ``"fan_out"`` backward.
        nonlinearity: name of the function that follows.
        data_format: ``"NHWC"`` for weights whose channels come last.
        generator: source of random numbers.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.kaiming_uniform_(flow.empty(3, 5), mode="fan_out").shape
        oneflow.Size([3, 5])
    """
    if 0 in tensor.shape:
        warn_in_place_of_pytorch("a tensor without elements has nothing to initialize")
        return tensor
    fan = calc_fan(tensor.shape, mode, data_format)
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(fan)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    data_format: str = "NCHW",
    generator: Generator | None = None,
) -> Tensor:
    """He's normal initialisation.

    Deviation ``gain / sqrt(fan)``; arguments as in `kaiming_uniform_`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.kaiming_normal_(flow.empty(3, 5), nonlinearity="relu").shape
        oneflow.Size([3, 5])
    """
    if 0 in tensor.shape:
        warn_in_place_of_pytorch("a tensor without elements has nothing to initialize")
        return tensor
    fan = calc_fan(tensor.shape, mode, data_format)
    std = calculate_gain(nonlinearity, a) / math.sqrt(fan)
    return normal_(tensor, 0.0, std, generator)


def _random_matrix(rows: int, columns: int, generator: Generator | None) -> np.ndarray:
    """Standard normal numbers in double precision."""
    require_host_memory("init", rows * columns)
    return normal_(import_array(np.zeros((rows, columns))), generator=generator).numpy()


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix; dimensions after the first count as one.

    Example:
        >>> import oneflow as flow
        >>> w = flow.nn.init.orthogonal_(flow.empty(3, 5)).numpy()
        >>> bool(abs(w @ w.T - [[1, 0, 0], [0, 1, 0], [0, 0, 1]]).max() < 1e-5)
        True
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    long, short = max(rows, columns), min(rows, columns)
    q, r = np.linalg.qr(_random_matrix(long, short, generator))
    # Signs make the distribution uniform over all orthogonal matrices.
    q = q * np.sign(np.diag(r))
    return _write(tensor, gain * (q if rows >= columns else q.T).reshape(tensor.shape))


def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Fill a matrix with normally distributed numbers, a share of each column zero.

    Example:
        >>> import oneflow as flow
        >>> w = flow.nn.init.sparse_(flow.empty(10, 5), sparsity=0.3)
        >>> int((w == 0).sum())
        15
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    order = np.argsort(_random_matrix(rows, columns, generator), axis=0)
    values = _random_matrix(rows, columns, generator) * std
    np.put_along_axis(values, order[: math.ceil(sparsity * rows)], 0, axis=0)
    return _write(tensor, values)


# OneFlow's methods, which write to parameters, too. PyTorch has none of these names.
for _initializer in (
    xavier_uniform_,
    xavier_normal_,
    kaiming_uniform_,
    kaiming_normal_,
    orthogonal_,
    trunc_normal_,
):
    attach(_initializer.__name__, _initializer)
