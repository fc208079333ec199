"""The order of random keys: on CPUs two passes of a radix sort, and swaps of the few left over.

C++'s sort, which XLA's CPU compiler calls, mispredicts every other comparison of random keys. The
leading bits of random keys tell nearly all of them apart, so a radix sort of those bits leaves an
order in which hardly any neighbours are swapped. Milliseconds of processor time for 4,000, 16,000,
100,000 and 1,000,000 keys: 0.11, 0.30, 2.1 and 27, by C++'s sort 0.16, 0.57, 4.3 and 54; for
more, which no cache holds, there is little between them.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.interpreters import batching

from oneflow.base.x64 import in_x64
from oneflow.primitives.operators import loops
from oneflow.primitives.operators.cpu_kernel import in_one_kernel, register

# Numbers of keys from which on two passes are quicker than C++'s sort, and up to which they are so
# by far.
_MIN_KEYS, _MAX_KEYS = 2**12, 2**20


@in_x64
def _sorted_on_cpu(keys: jax.Array) -> jax.Array:
    """The keys in order."""
    if not _MIN_KEYS <= keys.shape[0] <= _MAX_KEYS:
        return lax.sort(keys)
    return in_one_kernel(_radix_sorted, keys)


def _radix_sorted(keys: jax.Array) -> jax.Array:
    size = keys.shape[0]
    # One to four buckets for a key. More than 1,024 places at which a pass writes are slow: 11 bits
    # take 37 ms for a million keys.
    bits = size.bit_length() // 2 + 1 if size < 2**18 else 10
    for shift in (64 - 2 * bits, 64 - bits):
        keys = _counting_sorted(keys, shift, bits)
    return _insertion_sorted(keys)


def _at(x: jax.Array, index: jax.Array) -> jax.Array:
    return lax.dynamic_slice(x, (index,), (1,))


def _put(x: jax.Array, values: jax.Array, index: jax.Array) -> jax.Array:
    return lax.dynamic_update_slice(x, values, (index,))


def _counting_sorted(keys: jax.Array, shift: int, bits: int) -> jax.Array:
    """The keys in the order of some of their bits; equal ones stay as they were."""

    def digit_of(key: jax.Array) -> jax.Array:
        return ((key >> np.uint64(shift)) & np.uint64(2**bits - 1)).astype(np.int32)

    size, digits = keys.shape[0], digit_of(keys)

    def count(step: jax.Array, counts: jax.Array) -> jax.Array:
        digit = digits[step]
        return _put(counts, _at(counts, digit) + 1, digit)

    def add_to_next(step: jax.Array, counts: jax.Array) -> jax.Array:
        pair = lax.dynamic_slice(counts, (step,), (2,))
        return _put(counts, jnp.stack([pair[0], pair[0] + pair[1]]), step)

    def place(step: jax.Array, carry: Any) -> Any:
        ordered, ends = carry
        index = size - 1 - step
        digit, key = digits[index], _at(keys, index)
        ends = _put(ends, _at(ends, digit) - 1, digit)
        # The digit is computed anew: XLA would see that the number that has just been written is
        # read, read the old one instead, and copy all of them for that.
        return _put(ordered, key, ends[digit_of(key)[0]]), ends

    counts = jnp.zeros_like(keys, np.int32, 2**bits)
    counts = loops.fori_loop(0, size, count, counts)
    ends = loops.fori_loop(0, 2**bits - 1, add_to_next, counts)
    return loops.fori_loop(0, size, place, (jnp.zeros_like(keys), ends))[0]


def _insertion_sorted(keys: jax.Array) -> jax.Array:
    """The keys in order: each goes down past larger ones; there should be few."""

    def is_below_smaller(carry: Any) -> jax.Array:
        keys, index = carry
        return (index > 0) & (keys[index - 1] > keys[index])

    def swap(carry: Any) -> Any:
        keys, index = carry
        pair = lax.dynamic_slice(keys, (index - 1,), (2,))
        return _put(keys, pair[::-1], index - 1), index - 1

    def insert(step: jax.Array, keys: jax.Array) -> jax.Array:
        return loops.while_loop(is_below_smaller, swap, (keys, step))[0]

    return loops.fori_loop(1, keys.shape[0], insert, keys)


_sort_random: Any = type(lax.add_p)("sort_random")
_sort_random.def_abstract_eval(lambda keys: keys)
register(_sort_random, lax.sort, _sorted_on_cpu)


def _batched(operands: Any, dims: Any) -> tuple[jax.Array, int]:
    """C++'s sort of each row: a draw for each element of a batch is as rare as it is short."""
    return lax.sort(jnp.moveaxis(operands[0], dims[0], 0), dimension=1), 0


batching.primitive_batchers[_sort_random] = _batched


def sort_random(keys: jax.Array) -> jax.Array:
    """Random keys in order.

    Args:
        keys: uint64 numbers of one dimension. Any will be sorted, but those whose leading bits are
            not spread evenly take long.
    """
    return _sort_random.bind(keys)
