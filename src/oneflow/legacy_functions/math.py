"""`oneflow.math`: elementwise functions and reductions by TensorFlow's names."""

from __future__ import annotations

import math
from collections.abc import Sequence

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType
from oneflow.functional.creation import factory_functions
from oneflow.functional.elementwise import (
    activation,
    arithmetic,
    binary,
    clamp,
    comparison,
    division,
    logic,
    rounding,
    special,
    trigonometry,
    unary,
)
from oneflow.functional.index import search
from oneflow.functional.reduce import minmax, sums
from oneflow.functional.registry import function, register_public
from oneflow.functional.shape import rearrange, reshape, stack
from oneflow.tensor.tensor import Tensor

Axes = int | Sequence[int] | None

for _name, _function in {
    "abs": unary.abs_,
    "acos": trigonometry.acos,
    "acosh": trigonometry.acosh,
    "add": arithmetic.add,
    "asin": trigonometry.asin,
    "asinh": trigonometry.asinh,
    "atan": trigonometry.atan,
    "atan2": binary.atan2,
    "atanh": trigonometry.atanh,
    "ceil": rounding.ceil,
    "cos": trigonometry.cos,
    "cosh": trigonometry.cosh,
    "divide": division.div,
    "equal": comparison.eq,
    "erf": special.erf,
    "erfc": special.erfc,
    "exp": unary.exp,
    "expm1": unary.expm1,
    "floor": rounding.floor,
    "floordiv": division.floor_divide,
    "fmod": division.fmod,
    "gelu": activation.gelu,
    "greater": comparison.gt,
    "greater_equal": comparison.ge,
    "less": comparison.lt,
    "less_equal": comparison.le,
    "lgamma": special.lgamma,
    "log": unary.log,
    "log1p": unary.log1p,
    "log_sigmoid": activation.logsigmoid,
    "logical_and": logic.logical_and,
    "maximum": clamp.maximum,
    "minimum": clamp.minimum,
    "mod": division.remainder,
    "multiply": arithmetic.mul,
    "negative": unary.neg,
    "not_equal": comparison.ne,
    "pow": arithmetic.pow_,
    "reciprocal": unary.reciprocal,
    "relu": activation.relu,
    "rint": rounding.round_,
    "round": rounding.round_,
    "rsqrt": unary.rsqrt,
    "sigmoid": activation.sigmoid,
    "sigmoid_v2": activation.sigmoid,
    "sign": rounding.sign,
    "sin": trigonometry.sin,
    "sinh": trigonometry.sinh,
    "softplus": activation.softplus,
    "sqrt": unary.sqrt,
    "square": unary.square,
    "subtract": arithmetic.sub,
    "tan": trigonometry.tan,
    "tanh": activation.tanh,
    "tanh_v2": activation.tanh,
    "tril": rearrange.tril,
    "xlogy": binary.xlogy,
}.items():
    register_public(f"math.{_name}", _function)


@function(method=False, namespace="math")
def add_n(inputs: Sequence[Tensor]) -> Tensor:
    """The sum of several tensors of one shape.

    Raises:
        ValueError: there is none.
        RuntimeError: they have several shapes or dtypes.

    Example:
        >>> import oneflow as flow
        >>> flow.math.add_n([flow.ones(3), flow.ones(3), flow.ones(3)])
        tensor([3., 3., 3.], dtype=oneflow.float32)
    """
    if not inputs:
        raise ValueError("math.add_n() needs at least one tensor")
    arithmetic.require_same_operands("math.add_n", inputs)
    total = inputs[0]
    for tensor in inputs[1:]:
        total = total + tensor
    return total


@function(method=False, namespace="math")
def squared_difference(x: Tensor, y: Tensor) -> Tensor:
    """The square of ``x - y``.

    Example:
        >>> import oneflow as flow
        >>> flow.math.squared_difference(flow.tensor([1.0, 5.0]), flow.tensor([3.0, 2.0]))
        tensor([4., 9.], dtype=oneflow.float32)
    """
    return unary.square(x - y)


@function(method=False, namespace="math")
def argmax(input: Tensor, axis: int = -1) -> Tensor:
    """The position of the largest element along a dimension, the last one by default.

    Example:
        >>> import oneflow as flow
        >>> flow.math.argmax(flow.tensor([[1.0, 3.0, 2.0]]))
        tensor([1], dtype=oneflow.int64)
    """
    return minmax.argmax(input, axis)


@function(method=False, namespace="math", also=("clip_by_value", "clip_by_scalar"))
def clip_by_value(
    values: Tensor, min_value: float | None = None, max_value: float | None = None
) -> Tensor:
    """Every element limited to ``[min_value, max_value]``.

    Example:
        >>> import oneflow as flow
        >>> flow.math.clip_by_value(flow.tensor([-1.0, 5.0]), 0, 2)
        tensor([0., 2.], dtype=oneflow.float32)
    """
    return clamp.clamp(values, min_value, max_value)


@function(method=False, namespace="math", also=("broadcast_to_compatible_with",))
def broadcast_to_compatible_with(x: Tensor, compatible: Sequence[Tensor]) -> Tensor:
    """`x` expanded to the shape that it and all of `compatible` broadcast to.

    Example:
        >>> import oneflow as flow
        >>> x, y = flow.ones(4, 1, 1), flow.ones(2, 1)
        >>> flow.math.broadcast_to_compatible_with(x, [y, flow.ones(3)]).shape
        oneflow.Size([4, 2, 3])
    """
    shape = stack.broadcast_shapes(x.shape, *(tensor.shape for tensor in compatible))
    return reshape.expand(x, *shape)


@function(method=False, namespace="math")
def l2_normalize(input: Tensor, axis: int | None = None, epsilon: float = 1e-12) -> Tensor:
    """`input` divided by its norm along a dimension, the first by default.

    Args:
        input: the tensor.
        axis: the dimension.
        epsilon: the least square of a norm.

    Example:
        >>> import oneflow as flow
        >>> flow.math.l2_normalize(flow.tensor([[3.0], [4.0]]), 0).flatten()
        tensor([0.6000, 0.8000], dtype=oneflow.float32)
    """
    squares = sums.sum_(unary.square(input), axis or 0, True)
    return input * unary.rsqrt(clamp.clamp(squares, epsilon))


@function(method=False, namespace="math", also=("_C.reciprocal_no_nan",))
def reciprocal_no_nan(x: Tensor) -> Tensor:
    """``1 / x``, and 0 where `x` is 0.

    Example:
        >>> import oneflow as flow
        >>> flow.math.reciprocal_no_nan(flow.tensor([2.0, 0.0]))
        tensor([0.5000, 0.0000], dtype=oneflow.float32)
    """
    is_zero = x == 0
    # The divisor is never 0, so that gradients are numbers, too.
    return clamp.where(is_zero, 0.0, 1 / clamp.where(is_zero, 1.0, x))


@function(method=False, namespace="math")
def xdivy(x: Tensor, y: Tensor) -> Tensor:
    """``x / y``, and 0 where `x` is 0, whatever `y` is.

    Example:
        >>> import oneflow as flow
        >>> flow.math.xdivy(flow.tensor([3.0, 0.0]), flow.tensor([2.0, 0.0]))
        tensor([1.5000, 0.0000], dtype=oneflow.float32)
    """
    is_zero = x == 0
    return clamp.where(is_zero, 0.0, x / clamp.where(is_zero, 1.0, y))


@function(method=False, namespace="math")
def polyval(coeffs: Sequence[float | Tensor], x: Tensor) -> Tensor:
    """A polynomial at `x`; the coefficient of the highest power comes first.

    Example:
        >>> import oneflow as flow
        >>> flow.math.polyval([1, 0, 2], flow.tensor([3.0]))
        tensor([11.], dtype=oneflow.float32)
    """
    total = x * 0
    for coefficient in coeffs:
        total = total * x + coefficient
    return total


# --- reductions


@function(method=False, namespace="math")
def reduce_sum(input_tensor: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The sum over dimensions, all by default.

    Example:
        >>> import oneflow as flow
        >>> flow.math.reduce_sum(flow.ones(2, 3), axis=[1])
        tensor([3., 3.], dtype=oneflow.float32)
    """
    return sums.sum_(input_tensor, axis, keepdims)


@function(method=False, namespace="math", keyword_aliases={"input_tensor": "input_blob"})
def reduce_mean(input_blob: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The mean over dimensions, all by default.

    Example:
        >>> import oneflow as flow
        >>> flow.math.reduce_mean(flow.tensor([[1.0, 3.0]]))
        tensor(2., dtype=oneflow.float32)
    """
    return sums.mean(input_blob, axis, keepdims)


@function(method=False, namespace="math", keyword_aliases={"input_tensor": "x"})
def reduce_prod(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The product over dimensions, all by default.

    Example:
        >>> import oneflow as flow
        >>> flow.math.reduce_prod(flow.tensor([[2.0, 3.0]]), axis=1)
        tensor([6.], dtype=oneflow.float32)
    """
    return sums.prod(x, axis, keepdims)


@function(
    method=False,
    namespace="math",
    aliases=("two_stage_reduce_max",),
    keyword_aliases={"input_tensor": "x"},
)
def reduce_max(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest element over dimensions, all by default.

    Example:
        >>> import oneflow as flow
        >>> flow.math.reduce_max(flow.tensor([[2.0, 3.0]]), axis=1, keepdims=True)
        tensor([[3.]], dtype=oneflow.float32)
    """
    return minmax.amax(x, axis, keepdims)


@function(
    method=False,
    namespace="math",
    aliases=("two_stage_reduce_min",),
    keyword_aliases={"input_tensor": "x"},
)
def reduce_min(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The smallest element over dimensions, all by default.

    Example:
        >>> import oneflow as flow
        >>> flow.math.reduce_min(flow.tensor([[2.0, 3.0]]))
        tensor(2., dtype=oneflow.float32)
    """
    return minmax.amin(x, axis, keepdims)


@function(method=False, namespace="math")
def reduce_logsumexp(input_tensor: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """``log(sum(exp(x)))`` over dimensions, all by default.

    Example:
        >>> import oneflow as flow
        >>> flow.math.reduce_logsumexp(flow.zeros(4)).item() == flow.tensor(4.0).log().item()
        True
    """
    dims = tuple(range(input_tensor.ndim)) if axis is None else axis
    return sums.logsumexp(input_tensor, dims, keepdims)


@function(method=False, namespace="math")
def reduce_std(input_tensor: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The standard deviation over dimensions, all by default, of a whole population.

    Example:
        >>> import oneflow as flow
        >>> flow.math.reduce_std(flow.tensor([1.0, 3.0]))
        tensor(1., dtype=oneflow.float32)
    """
    return unary.sqrt(reduce_variance(input_tensor, axis, keepdims))


@function(method=False, namespace="math")
def reduce_variance(input_tensor: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The variance over dimensions, all by default, of a whole population.

    Example:
        >>> import oneflow as flow
        >>> flow.math.reduce_variance(flow.tensor([1.0, 3.0]))
        tensor(1., dtype=oneflow.float32)
    """
    deviation = input_tensor - sums.mean(input_tensor, axis, True)
    return sums.mean(unary.square(deviation), axis, keepdims)


@function(method=False, namespace="math")
def reduce_euclidean_norm(
    input_tensor: Tensor, axis: Axes = None, keepdims: bool = False
) -> Tensor:
    """The square root of the sum of squares over dimensions, all by default.

    Example:
        >>> import oneflow as flow
        >>> flow.math.reduce_euclidean_norm(flow.tensor([3.0, 4.0]))
        tensor(5., dtype=oneflow.float32)
    """
    return unary.sqrt(sums.sum_(unary.square(input_tensor), axis, keepdims))


@function(method=False, namespace="math")
def reduce_any(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """True where any element is true, over dimensions, all by default.

    Example:
        >>> import oneflow as flow
        >>> flow.math.reduce_any(flow.tensor([False, True])).item()
        True
    """
    return minmax.amax(x != 0, axis, keepdims)


@function(method=False, namespace="math")
def reduce_all(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """True where all elements are true, over dimensions, all by default.

    Example:
        >>> import oneflow as flow
        >>> flow.math.reduce_all(flow.tensor([False, True])).item()
        False
    """
    return minmax.amin(x != 0, axis, keepdims)


@function(method=False, namespace="math")
def top_k(input: Tensor, axis: int = -1, k: int = 1, sorted: bool = True) -> Tensor:
    """The positions of the `k` largest elements along a dimension, int32.

    Example:
        >>> import oneflow as flow
        >>> flow.math.top_k(flow.tensor([1.0, 3.0, 2.0]), k=2)
        tensor([1, 2], dtype=oneflow.int32)
    """
    return search.topk(input, k, axis, sorted=sorted)[1].int()


@function(method=False, namespace="math")
def in_top_k(targets: Tensor, predictions: Tensor, k: int) -> Tensor:
    """One for each sample whose label is among its `k` largest predictions, else zero.

    Args:
        targets: labels of shape (N,).
        predictions: a tensor of shape (N, classes).
        k: how many predictions count.

    Returns:
        int8 tensor of shape (N,).

    Example:
        >>> import oneflow as flow
        >>> flow.math.in_top_k(flow.tensor([1]), flow.tensor([[0.8, 0.6, 0.3]]), k=2).tolist()
        [1]
    """
    label = predictions.gather(1, targets.long().reshape(-1, 1))
    return (sums.sum_(predictions > label, 1) < k).char()


@function(method=False, namespace="math")
def sigmoid_grad(y: Tensor, dy: Tensor) -> Tensor:
    """Return the gradient of the sigmoid from its result `y` and the gradient `dy` of that.

    Example:
        >>> import oneflow as flow
        >>> flow.math.sigmoid_grad(flow.tensor([0.5]), flow.tensor([4.0]))
        tensor([1.], dtype=oneflow.float32)
    """
    return dy * y * (1 - y)


@function(method=False, namespace="math")
def gelu_grad(x: Tensor, dy: Tensor) -> Tensor:
    """Return the gradient of `gelu` from its argument `x` and the gradient `dy` of its result.

    Example:
        >>> import oneflow as flow
        >>> flow.math.gelu_grad(flow.tensor([0.0]), flow.tensor([4.0]))
        tensor([2.], dtype=oneflow.float32)
    """
    density = unary.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
    return dy * (0.5 * (1 + special.erf(x * math.sqrt(0.5))) + x * density)


@function(method=False, namespace="math")
def reduced_shape_elem_cnt(
    input_blob: Tensor, axis: Axes = None, dtype: DType | None = None
) -> Tensor:
    """Return how many elements a reduction along dimensions adds up for one of its results.

    Example:
        >>> import oneflow as flow
        >>> flow.math.reduced_shape_elem_cnt(flow.ones(2, 3, 4), [0, 2])
        tensor([8], dtype=oneflow.int32)
    """
    axes = range(input_blob.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    count = math.prod(input_blob.shape[dim] for dim in axes)
    return factory_functions.full((1,), count, dtype=dtype or dt.int32)
