"""p-norms over sliding windows."""

from __future__ import annotations

import math

from oneflow.base.sizes import IntOrInts
from oneflow.functional.elementwise.arithmetic import power
from oneflow.functional.nn.pooling import average_pool, max_pool
from oneflow.functional.nn.spatial import per_dimension
from oneflow.functional.registry import function
from oneflow.primitives.operators import elementwise as e
from oneflow.tensor.call import call
from oneflow.tensor.operands import as_float, promote_operands
from oneflow.tensor.tensor import Tensor


def norm_pool(
    input: Tensor,
    norm_type: float,
    kernel_size: IntOrInts,
    stride: IntOrInts | None,
    ceil_mode: bool,
    count: int,
) -> Tensor:
    """p-norm over windows of `count` spatial dimensions; see `lp_pool2d`."""
    kernel = per_dimension(kernel_size, count, "kernel_size")
    (input,) = promote_operands((input,), floating=True)
    p = as_float(norm_type, "norm_type")
    if math.isinf(p):  # the largest of the sizes, or the smallest
        sign = math.copysign(1.0, p)
        sizes = call(e.mul, call(e.abs_, input), sign)
        largest = max_pool(sizes, kernel, stride, 0, 1, False, ceil_mode, "channels_first", count)
        return call(e.mul, largest, sign)
    powers = power(input, p)
    averages = average_pool(powers, kernel, stride, 0, ceil_mode, True, 0, "channels_first", count)
    magnitude = call(e.relu, call(e.abs_, averages))
    sums = call(e.mul, call(e.mul, call(e.sign, averages), magnitude), float(math.prod(kernel)))
    return power(sums, 1.0 / p)


@function(method=False, namespace="nn.functional")
def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: int,
    stride: IntOrInts | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """p-norm over windows of one spatial dimension; arguments as for `lp_pool2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.lp_pool1d(flow.tensor([[3.0, 4.0]]), 2, 2)
        tensor([[5.]], dtype=oneflow.float32)
    """
    return norm_pool(input, norm_type, kernel_size, stride, ceil_mode, 1)


@function(method=False, namespace="nn.functional")
def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-th root of the sum of p-th powers, over windows of two spatial dimensions.

    Args:
        input: ``[N, C, H, W]`` or ``[C, H, W]``.
        norm_type: p.
        kernel_size: size of the windows, one number or one per spatial dimension.
        stride: distance between windows; default: `kernel_size`.
        ceil_mode: also take a last window that is partly outside.

    Returns:
        ``[N, C, H', W']``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.lp_pool2d(flow.tensor([[[3.0, 4.0], [0.0, 0.0]]]), 2, 2)
        tensor([[[5.]]], dtype=oneflow.float32)
    """
    return norm_pool(input, norm_type, kernel_size, stride, ceil_mode, 2)


@function(method=False, namespace="nn.functional")
def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """p-norm over windows of three spatial dimensions; arguments as for `lp_pool2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.lp_pool3d(flow.ones(1, 2, 2, 1), 1, (2, 2, 1)).item()
        4.0
    """
    return norm_pool(input, norm_type, kernel_size, stride, ceil_mode, 3)
