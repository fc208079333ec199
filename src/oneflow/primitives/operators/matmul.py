"""Matrix products."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.elementwise import cast, conjugate
from oneflow.primitives.operators.reduce import sum_
from oneflow.primitives.operators.rounding import hidden, is_half
from oneflow.primitives.operators.shape import reshape, transpose
from oneflow.primitives.registry import Primitive, primitive
from oneflow.primitives.sharding.axes import Axes, notation
from oneflow.primitives.traits import Precision

# Products are returned in `dtype`, in which they are also summed: the operands' if it is None.


def _matmul(x, y, dtype: Any = None):
    """``[..., m, k] @ [..., k, n]`` with broadcast leading dimensions.

    Integer types accumulate in their own type.
    """
    return jnp.matmul(x, y, preferred_element_type=dtype)


def _matmul_axes(operation):
    """``... m k, ... k n -> ... m n``.

    A vector lacks ``m`` or ``n``; its leading dimensions are the other operand's.
    """
    x, y = (spec.ndim for spec in operation.in_specs)
    left, right = "k" if x == 1 else "... m k", "k" if y == 1 else "... k n"
    result = "... m" * (x > 1) + ("... n" if x == 1 else " n") * (y > 1)
    return notation(f"{left}, {right} -> {result}")(operation)


matmul = primitive(
    "matmul",
    _matmul,
    operands="x y",
    axes=_matmul_axes,
    linear=("x", "y"),
    precision=Precision.HALF,
)


def swap_last(x):
    """`x` with its last two dimensions exchanged."""
    ndim = x.spec.ndim
    return transpose(x, perm=(*range(ndim - 2), ndim - 1, ndim - 2))


def _as_matrices(g, x, y, x_spec, y_spec):
    """A product's operands and gradient with the dimensions vectors lack; None stays None."""
    shape = g.spec.shape
    if x_spec.ndim == 1:
        shape = (
            *shape[: len(shape) - (y_spec.ndim > 1)],
            1,
            *shape[len(shape) - (y_spec.ndim > 1) :],
        )
        x = x if x is None else reshape(x, shape=(1, *x_spec.shape))
    if y_spec.ndim == 1:
        shape = (*shape, 1)
        y = y if y is None else reshape(y, shape=(*y_spec.shape, 1))
    return (g if shape == g.spec.shape else reshape(g, shape=shape)), x, y


def _matmul_x_gradient(g, y, x_spec, y_spec):
    g, _, y = _as_matrices(g, None, y, x_spec, y_spec)
    grad = matmul(g, conjugate(swap_last(y)))
    return grad if x_spec.ndim > 1 else reshape(grad, shape=(*grad.spec.shape[:-2], *x_spec.shape))


def _matmul_y_gradient(g, x, x_spec, y_spec):
    g, x, _ = _as_matrices(g, x, None, x_spec, y_spec)
    if y_spec.ndim <= 2 and x_spec.ndim > 2:
        # One matrix for the whole batch: one product that sums over it.
        grad = outer_rows(conjugate(x), g)
    else:
        grad = matmul(conjugate(swap_last(x)), g)
    return grad if y_spec.ndim > 1 else reshape(grad, shape=(*grad.spec.shape[:-2], *y_spec.shape))


def _writable(operation: Operation) -> str:
    """PyTorch keeps copies of batches that broadcast."""
    x, y = (spec.shape[:-2] for spec in operation.in_specs)
    return "x y" if x and y and x != y else ""


matmul.gradient(x=_matmul_x_gradient, y=_matmul_y_gradient, writable=_writable)

# The product of operands in half precision, for sums that are rounded at their end.
matmul_to_float32 = primitive(
    "matmul_to_float32",
    lambda x, y: _matmul(x, y, jnp.float32),
    axes=_matmul_axes,
    linear=("x", "y"),
)
matmul_to_float32.gradient(
    x=lambda g, y, x_spec, y_spec: _matmul_x_gradient(
        cast(g, dtype=x_spec.dtype), y, x_spec, y_spec
    ),
    y=lambda g, x, x_spec, y_spec: _matmul_y_gradient(
        cast(g, dtype=y_spec.dtype), x, x_spec, y_spec
    ),
    writable=_writable,
)


def _linear_no_bias(x, weight, dtype: Any = None):
    """``x[..., k] @ weight[n, k].T``."""
    if x.dtype != weight.dtype:
        raise TypeError(f"input and weight must have one dtype, got {x.dtype} and {weight.dtype}")
    if x.ndim < 1 or weight.ndim != 2 or x.shape[-1] != weight.shape[1]:
        raise ValueError(
            f"input of shape {x.shape} does not fit a weight of shape {weight.shape}: their last "
            "dimensions must be equal"
        )
    over = (((x.ndim - 1,), (1,)), ((), ()))
    return lax.dot_general(x, weight, over, preferred_element_type=dtype)


def _linear(x, weight, bias, dtype: Any = None):
    return _linear_no_bias(x, weight, dtype) + bias


def _outer_rows(y, x, dtype: Any = None):
    """The sum over rows of ``y[..., n] x[..., k]``, as ``[n, k]``."""
    rows = tuple(range(x.ndim - 1))
    return lax.dot_general(y, x, ((rows, rows), ((), ())), preferred_element_type=dtype)


def _sum_rows(g):
    return sum_(g, dims=tuple(range(g.spec.ndim - 1)))


linear = primitive(
    "linear",
    _linear,
    operands="x weight bias",
    axes="... k, n k, +n -> ... n",
    linear=("x bias", "weight bias"),
    precision=Precision.HALF,
)
linear_no_bias = primitive(
    "linear_no_bias",
    _linear_no_bias,
    operands="x weight",
    axes="... k, n k -> ... n",
    linear=("x", "weight"),
    precision=Precision.HALF,
)
outer_rows = primitive(
    "outer_rows",
    _outer_rows,
    operands="y x",
    axes="... n, ... k -> n k",
    linear=("y", "x"),
)

linear.gradient(
    x=lambda g, weight: matmul(g, conjugate(weight)),
    weight=lambda g, x: outer_rows(g, conjugate(x)),
    bias=lambda g: _sum_rows(g),
)
linear_no_bias.gradient(
    x=lambda g, weight: matmul(g, conjugate(weight)),
    weight=lambda g, x: outer_rows(g, conjugate(x)),
)
outer_rows.gradient(
    y=lambda g, x: linear_no_bias(conjugate(x), g),
    x=lambda g, y: matmul(conjugate(y), g),
)


def _bilinear(x, y, weight, *bias):
    """``x[..., i] weight[o, i, j] y[..., j]``, summed over i and j, plus ``bias[o]``."""
    if not x.dtype == y.dtype == weight.dtype:
        raise TypeError(f"inputs and weight must have one dtype, got {x.dtype}, {y.dtype}")
    if (x.shape[-1], y.shape[-1]) != weight.shape[1:] or x.shape[:-1] != y.shape[:-1]:
        raise ValueError(
            f"inputs of shapes {x.shape} and {y.shape} do not fit a weight of shape {weight.shape}"
        )
    result = jnp.einsum("...i,oij,...j->...o", x, weight, y)
    return result + bias[0] if bias else result


def _bilinear_axes(operation: Operation) -> Axes | None:
    """Added to a bias the products may not be partial sums."""
    biased = len(operation.in_specs) > 3
    text = "... _, ... _, o _ _, o -> ... o" if biased else "... i, ... j, o i j -> ... o"
    return notation(text)(operation)


bilinear = primitive(
    "bilinear",
    _bilinear,
    axes=_bilinear_axes,
    linear=("x *bias", "y *bias", "weight *bias"),
    precision=Precision.HALF,
)


def _lower_half(product: Primitive) -> None:
    """On the CPU, products of half precision are summed in float32 and rounded once.

    XLA converts the operands of a product whose result is bfloat16 to float32, and multiplies
    those; asked for a float32 result it uses the processor's instructions for bfloat16 (products of
    1024 x 1024 take 7 ms instead of 55). A bias is added before the result is rounded.
    """

    @product.lowering("cpu")
    def impl(x: Any, y: Any, *bias: Any) -> Any:
        if not is_half(x.dtype):
            return product.impl(x, y, *bias)
        wide = [vector.astype(jnp.float32) for vector in bias]
        return hidden(product.impl(x, y, *wide, jnp.float32).astype(x.dtype))


for _product in (matmul, linear, linear_no_bias, outer_rows):
    _lower_half(_product)
