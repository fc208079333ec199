"""Random numbers as a function of position: counter-based, so the same on any number of devices.

Element `index` of the tensor drawn with `(seed, stream)` is a hash of these three 64-bit numbers
and of nothing else. The hash is Philox 4x32-10: `seed` is its key, `index` and `stream` are its
counter, so two streams of one seed never meet. There is no state to pass on, and the numbers fuse
into whatever consumes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.base.dtype import DType
from oneflow.primitives.operators import lax_functions
from oneflow.primitives.operators.elementwise import elementwise, zeros_like
from oneflow.primitives.operators.lax_functions import as_type
from oneflow.primitives.operators.materialize import materialize_array
from oneflow.primitives.operators.philox import philox
from oneflow.primitives.operators.radix_sort import sort_random
from oneflow.primitives.operators.shape import keepdim_shape
from oneflow.primitives.registry import Primitive, primitive
from oneflow.primitives.shard_index import ShardIndex, global_linear_index
from oneflow.primitives.sharding.axes import creation_axes, elementwise_axes
from oneflow.primitives.traits import Positional

_u32, _u64 = jnp.uint32, jnp.uint64


def _split64(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Low and high word of 64-bit numbers."""
    x = as_type(x, _u64)
    high = lax.shift_right_logical(x, _u64(32))
    return lax.convert_element_type(x, _u32), lax.convert_element_type(high, _u32)


def _numel(shape: tuple[int, ...], shard: ShardIndex | None) -> int:
    """Number of elements of the whole."""
    return math.prod(shape if shard is None else shard.global_shape)


def random_bits(
    seed: jax.Array, stream: jax.Array, shape: tuple[int, ...], shard: ShardIndex | None = None
) -> tuple[jax.Array, ...]:
    """Four independent random 32-bit words per element of `shape`, or of that shard of a whole."""
    if _numel(shape, shard) < 2**32:
        low, high = global_linear_index(shape, shard, _u32), jnp.zeros((), _u32)
    else:
        low, high = _split64(global_linear_index(shape, shard, _u64))
    return philox((low, high, *_split64(stream)), _split64(seed))


def more_random_bits(
    seed: jax.Array,
    stream: jax.Array,
    shape: tuple[int, ...],
    attempt: jax.Array,
    shard: ShardIndex | None = None,
) -> tuple[jax.Array, ...]:
    """Words of attempt 0, 1, ... at each element, for methods that need an unknown number."""
    count = None if shard is None else shard.count
    numel = _u64(_numel(shape, shard) if count is None else count)
    index = global_linear_index(shape, shard, _u64) + attempt.astype(_u64) * numel
    return philox((*_split64(index), *_split64(stream)), _split64(seed))


# --- from words to numbers


def _join64(first: jax.Array, second: jax.Array) -> jax.Array:
    """A 64-bit word of two 32-bit ones."""
    first, second = (lax.convert_element_type(word, _u64) for word in (first, second))
    return lax.bitwise_or(lax.shift_left(first, _u64(32)), second)


def _unit(first: jax.Array, second: jax.Array, dtype: np.dtype) -> jax.Array:
    """Numbers in [0, 1), every multiple of the type's resolution below 1 equally likely."""
    digits = jnp.finfo(dtype).nmant + 1
    if digits > 32:
        bits, shift, kind = _join64(first, second), _u64(64 - digits), np.int64
    else:
        bits, shift, kind = first, _u32(32 - digits), np.int32
    digit_bits = lax.convert_element_type(lax.shift_right_logical(bits, shift), kind)
    return lax.mul(lax.convert_element_type(digit_bits, dtype), np.asarray(2.0**-digits, dtype))


def _unit_positive(first: jax.Array, second: jax.Array, dtype: np.dtype) -> jax.Array:
    """Numbers in (0, 1] that are fine near 0, to take the logarithm of; float32 or float64."""
    is_double = dtype == np.float64
    bits, digits = (_join64(first, second), 64) if is_double else (first, 32)
    middle = lax.add(lax.convert_element_type(bits, dtype), np.asarray(0.5, dtype))
    return lax.mul(middle, np.asarray(2.0**-digits, dtype))


def _series(square: jax.Array, terms: int, first: int) -> jax.Array:
    """Taylor's series of the cosine (`first` 0) or of the sine divided by its argument (1)."""
    factors = [(-1) ** k / math.factorial(2 * k + first) for k in range(terms)]
    result = lax_functions.full_of(square, factors.pop())
    for factor in reversed(factors):
        result = lax.add(lax.mul(result, square), np.asarray(factor, square.dtype))
    return result


def _direction(first: jax.Array, second: jax.Array, dtype: np.dtype) -> tuple:
    """Cosine and sine of a random angle.

    Two bits choose the quadrant and the others the angle from its middle axis, at most 45 degrees,
    where short series are exact: several times faster than `cos` of any number.
    """
    if dtype == np.float64:
        bits, kind, terms = lax.shift_left(_join64(first, second), _u64(2)), np.int64, 9
    else:
        bits, kind, terms = lax.shift_left(first, _u32(2)), np.int32, 5
    rest = lax.convert_element_type(lax.convert_element_type(bits, kind), dtype)
    scale = math.pi / 2 * 2.0 ** (-8 * np.dtype(kind).itemsize)
    angle = lax.mul(rest, np.asarray(scale, dtype))
    square = lax.mul(angle, angle)
    sin, cos = lax.mul(angle, _series(square, terms, 1)), _series(square, terms + 1, 0)
    index = lax.shift_right_logical(first, _u32(30))
    across = lax.ne(lax.bitwise_and(index, _u32(1)), _u32(0))
    x, y = lax.select(across, sin, cos), lax.select(across, cos, sin)
    left = lax.bitwise_or(lax.eq(index, _u32(1)), lax.eq(index, _u32(2)))
    below_axis = lax.ge(index, _u32(2))
    return lax.select(left, lax.neg(x), x), lax.select(below_axis, lax.neg(y), y)


def _normal_pair(uint32_bits: tuple, dtype: np.dtype) -> tuple[jax.Array, jax.Array]:
    """Two independent standard normal numbers per element (Box and Muller): radius and angle."""
    uniform = _unit_positive(uint32_bits[0], uint32_bits[1], dtype)
    radius = lax.sqrt(lax.mul(lax.log(uniform), np.asarray(-2, dtype)))
    cos, sin = _direction(uint32_bits[2], uint32_bits[3], dtype)
    return lax.mul(radius, cos), lax.mul(radius, sin)


def below(bits: jax.Array, p: jax.Array) -> jax.Array:
    """True with probability `p`, exact to 2^-32; 0 gives never and 1 gives always."""
    p = as_type(p, jnp.promote_types(p.dtype, np.float32))
    if p.shape:
        p = lax.expand_dims(p, range(len(bits.shape) - len(p.shape)))
    limit = lax.convert_element_type(lax.mul(p, p.dtype.type(2.0**32)), _u32)
    return lax.bitwise_or(lax.lt(bits, limit), lax.ge(p, p.dtype.type(1)))


def _multiply_high(x: jax.Array, y: jax.Array) -> jax.Array:
    """The high 64 bits of a product of 64-bit numbers."""
    mask, shift = _u64(2**32 - 1), _u64(32)
    x0, x1, y0, y1 = x & mask, x >> shift, y & mask, y >> shift
    middle = x1 * y0 + ((x0 * y0) >> shift)
    cross = x0 * y1 + (middle & mask)
    return x1 * y1 + (middle >> shift) + (cross >> shift)


def _compute_dtype(dtype: DType) -> np.dtype:
    """Half precision computes in float32; complex numbers in their parts' type."""
    return np.dtype(np.float64 if dtype.name in ("float64", "complex128") else np.float32)


# --- the primitives

_NUMBERS = {"seed": "int64", "stream": "int64"}


def random_primitive(name: str, impl: Callable, *real: str, **options: Any) -> Primitive:
    """Define a primitive that draws from `seed` and `stream`; `real` names its float operands.

    Numbers drawn are the same to the bit in cold and hot programs. Only what takes no logarithms
    and the like is interpreted, and says so.
    """
    options.setdefault("interpret", False)
    scalar = {**_NUMBERS, **dict.fromkeys(real, "float64")}
    return primitive(name, impl, scalar=scalar, **options)


def stored(draw: Callable) -> Callable:
    """A draw for XLA on CPUs, which else draws again in each operation that reads the numbers."""

    def draw_and_store(*operands: Any, **attributes: Any) -> jax.Array:
        return materialize_array(draw(*operands, **attributes))

    return draw_and_store


def shardable_random_primitive(name: str, impl: Callable, *real: str, **options: Any) -> Primitive:
    """A random primitive whose results may be drawn in parts, as its operands are split."""
    result = random_primitive(
        name, impl, *real, axes=creation_axes, positional=Positional(by_element=True), **options
    )
    result.lowering("cpu")(stored(impl))
    return result


def _uniform(
    seed,
    stream,
    low,
    high,
    *,
    shape: tuple[int, ...],
    dtype: DType,
    shard: ShardIndex | None = None,
):
    uint32_bits = random_bits(seed, stream, shape, shard)
    if dtype.is_complex:
        kind = _compute_dtype(dtype)
        return lax.complex(
            _unit(uint32_bits[0], uint32_bits[1], kind), _unit(uint32_bits[2], uint32_bits[3], kind)
        )
    low, high = as_type(low, dtype.numpy), as_type(high, dtype.numpy)
    unit = _unit(uint32_bits[0], uint32_bits[1], dtype.numpy)
    # In double precision the product is exact, so that it does not matter whether XLA rounds it.
    start, stop, share = (as_type(number, np.float64) for number in (low, high, unit))
    result = as_type(lax.add(lax.mul(share, lax.sub(stop, start)), start), dtype.numpy)
    # Rounding must not reach the excluded end.
    return lax.select(lax.lt(result, high), result, lax.broadcast(low, result.shape))


def _normal(
    seed,
    stream,
    mean,
    std,
    *,
    shape: tuple[int, ...],
    dtype: DType,
    shard: ShardIndex | None = None,
):
    kind = _compute_dtype(dtype)
    uint32_bits = random_bits(seed, stream, shape, shard)
    first, second = _normal_pair(uint32_bits, kind)
    if dtype.is_complex:
        scale = (std * math.sqrt(0.5)).astype(kind)
        return lax.complex(first * scale + mean.astype(kind), second * scale)
    scaled = lax.mul(first, as_type(std, kind))
    return as_type(lax.add(scaled, as_type(mean, kind)), dtype.numpy)


def _integer(
    seed,
    stream,
    low,
    high,
    *,
    shape: tuple[int, ...],
    dtype: DType,
    shard: ShardIndex | None = None,
):
    # Lemire's multiplication: the bias is below 2^-64 times the range. A range of 2^64 wraps to 0.
    uint32_bits = random_bits(seed, stream, shape, shard)
    bits, span = _join64(uint32_bits[0], uint32_bits[1]), (high - low).astype(_u64)
    offset = jnp.where(span == 0, bits, _multiply_high(bits, span))
    return (offset + low.astype(_u64)).astype(jnp.int64).astype(dtype.numpy)


def _bernoulli(
    p, seed, stream, *, shape: tuple[int, ...], dtype: DType, shard: ShardIndex | None = None
):
    return below(random_bits(seed, stream, shape, shard)[0], p).astype(dtype.numpy)


def _bernoulli_check(p, seed, stream, *, shape, dtype):
    return ~jnp.all((p >= 0) & (p <= 1)), jnp.zeros((), jnp.int64)


def _exponential(
    seed, stream, rate, *, shape: tuple[int, ...], dtype: DType, shard: ShardIndex | None = None
):
    kind = _compute_dtype(dtype)
    uint32_bits = random_bits(seed, stream, shape, shard)
    result = -jnp.log(_unit_positive(uint32_bits[0], uint32_bits[1], kind))
    result = jnp.maximum(result, jnp.asarray(jnp.finfo(kind).eps / 2, kind))
    return (result / rate.astype(kind)).astype(dtype.numpy)


def _permutation(seed, stream, *, size: int, dtype: DType):
    # Sorting one array is several times faster than sorting pairs: random bits above, index below.
    bits = max(size - 1, 0).bit_length()
    uint32_bits = random_bits(seed, stream, (size,))
    index = lax.iota(_u64, size)
    keys = (_join64(uint32_bits[0], uint32_bits[1]) & ~_u64(2**bits - 1)) | index
    return (sort_random(keys) & _u64(2**bits - 1)).astype(dtype.numpy)


def _drop_mask(x, seed, stream, p, broadcast_dims, shard):
    """The mask, which has size 1 along the dimensions `broadcast_dims`."""
    shape = keepdim_shape(x.shape, broadcast_dims)
    if shard is not None:
        offsets = tuple(0 if dim in broadcast_dims else at for dim, at in enumerate(shard.offsets))
        shard = ShardIndex(keepdim_shape(shard.global_shape, broadcast_dims), offsets)
    return below(random_bits(seed, stream, shape, shard)[0], p)


def _dropout(
    x,
    seed,
    stream,
    p,
    scale,
    *,
    broadcast_dims: tuple[int, ...] = (),
    shard: ShardIndex | None = None,
    draw_mask=_drop_mask,
):
    drop = draw_mask(x, seed, stream, p, broadcast_dims, shard)
    scales = lax.broadcast(as_type(scale, x.dtype), drop.shape)
    return lax_functions.mul(x, lax_functions.replaced(scales, drop, 0))


def _alpha_dropout(
    x,
    seed,
    stream,
    p,
    scale,
    shift,
    low,
    *,
    broadcast_dims: tuple[int, ...] = (),
    shard: ShardIndex | None = None,
    draw_mask=_drop_mask,
):
    scaled = x * scale.astype(x.dtype) + shift.astype(x.dtype)
    drop = draw_mask(x, seed, stream, p, broadcast_dims, shard)
    return jnp.where(drop, low.astype(x.dtype), scaled)


random_uniform = shardable_random_primitive(
    "random_uniform", _uniform, "low", "high", differentiable=False, interpret=True
)
random_normal = shardable_random_primitive(
    "random_normal", _normal, "mean", "std", differentiable=False
)
# Normal numbers of a mean and a standard deviation for each element, of which none is negative.
normal_of_noise = elementwise(
    "normal_of_noise", lambda noise, mean, std: mean + noise * std, "noise mean std"
)
# A draw does not follow its parameters: what requires grad gets zeros.
normal_of_noise.gradient(noise=None, mean=lambda g: zeros_like(g), std=lambda g: zeros_like(g))
normal_of_noise.checked(
    lambda noise, mean, std: (jnp.any(~(std.real >= 0)), jnp.zeros((), jnp.int64)),
    lambda value, attributes, in_specs: RuntimeError("normal expects all elements of std >= 0.0"),
)
random_integer = primitive(
    "random_integer",
    _integer,
    scalar="int64",
    axes=creation_axes,
    positional=Positional(by_element=True),
    differentiable=False,
)
random_integer.lowering("cpu")(stored(_integer))
# One probability for all elements, or a tensor of them, which is checked.
random_mask = shardable_random_primitive(
    "random_mask", _bernoulli, "p", differentiable=False, interpret=True
)
random_bernoulli = shardable_random_primitive(
    "random_bernoulli", _bernoulli, differentiable=False, interpret=True
)
random_bernoulli.checked(
    _bernoulli_check,
    lambda value, attributes, in_specs: RuntimeError(
        "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  "
        "(bernoulli needs probabilities between 0 and 1)"
    ),
)
random_exponential = shardable_random_primitive(
    "random_exponential", _exponential, "rate", differentiable=False
)
random_permutation = random_primitive(
    "random_permutation", _permutation, differentiable=False, interpret=True
)


def _same_mask(g, seed, stream, p, scale, broadcast_dims):
    # Without the default: the call of the forward pass, which is traced already.
    dims = {"broadcast_dims": broadcast_dims} if broadcast_dims else {}
    return dropout(g, seed, stream, p, scale, **dims)


# Zeroes elements with probability p and scales the rest; whole slices along the dimensions
# `broadcast_dims`. The mask is drawn again for the gradient: nothing is kept.
dropout = random_primitive(
    "dropout",
    _dropout,
    "p",
    "scale",
    axes=elementwise_axes,
    positional=Positional(by_element=True),
    linear=("x",),
    interpret=True,
)
dropout.gradient(x=_same_mask)
dropout.lowering("cpu")(partial(_dropout, draw_mask=stored(_drop_mask)))
# Puts `low` in place of elements with probability p; the rest becomes x * scale + shift.
alpha_dropout = random_primitive(
    "alpha_dropout",
    _alpha_dropout,
    "p",
    "scale",
    "shift",
    "low",
    axes=elementwise_axes,
    positional=Positional(by_element=True),
    interpret=True,
)
alpha_dropout.gradient(x=_same_mask)
alpha_dropout.lowering("cpu")(partial(_alpha_dropout, draw_mask=stored(_drop_mask)))
