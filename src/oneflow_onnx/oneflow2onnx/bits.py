"""The bits of numbers read as numbers of another type; the narrower ones begin with the lowest."""

from __future__ import annotations

import functools

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import INT64, OnnxBuilder
from oneflow_onnx.oneflow2onnx.formulas import BOOL
from oneflow_onnx.oneflow2onnx.reference import Ref, onnx_type

_UINT64 = np.dtype(np.uint64)


def bit_cast(b: OnnxBuilder, x: Ref, dtype: np.dtype) -> Ref:
    """The bits of `x` as numbers of type `dtype`.

    Narrower ones have a further dimension at the end; wider ones are made of the numbers along the
    last dimension, which goes. ONNX's `BitCast` knows equal widths only, so bits move between
    widths as integers: by shifts, and casts, which drop the highest.
    """
    have, want = x.dtype.itemsize, dtype.itemsize
    if have == want:
        return _as_type(b, x, dtype)
    bits = b.cast(_as_type(b, x, _unsigned(have)), _UINT64)
    shifts = np.arange(0, 8 * max(have, want), 8 * min(have, want))
    if have > want:
        parts = b.op(
            "BitShift",
            o.unsqueeze(b, bits, [x.rank]),
            b.constant(shifts, _UINT64),
            shape=(*x.shape, len(shifts)),
            direction="RIGHT",
        )
        return _as_type(b, b.cast(parts, _unsigned(want)), dtype)
    moved = b.op("BitShift", bits, b.constant(shifts, _UINT64), shape=x.shape, direction="LEFT")
    # Their bits are apart, so that no sum carries over. A reduction would not be exact: there ONNX
    # Runtime loses the last bits of large integers.
    columns = [
        o.gather(b, b.cast(moved, INT64), b.constant(np.int64(n)), x.rank - 1)
        for n in range(len(shifts))
    ]
    total = functools.reduce(lambda one, other: b.op("Add", one, other), columns)
    return _as_type(b, b.cast(total, _unsigned(want)), dtype)


def shift_bits(b: OnnxBuilder, x: Ref, count: Ref, direction: str) -> Ref:
    """The bits of integers moved by `count` places, and zeros where they were.

    ONNX moves bits of unsigned numbers alone, and what a runtime makes of more places than there
    are is its own matter.
    """
    unsigned = _unsigned(x.dtype.itemsize)
    bits = b.cast(_as_type(b, x, unsigned), _UINT64)
    places = b.cast(count, INT64)
    moved = b.op("BitShift", bits, b.cast(places, _UINT64), direction=direction)
    if not _are_below(count, 8 * x.dtype.itemsize):
        # Runtimes choose between numbers of 64 bits, and not between all narrower ones.
        zero, width = b.constant(0, INT64), b.constant(8 * x.dtype.itemsize, INT64)
        below_zero = b.op("Less", places, zero, dtype=BOOL)
        is_valid = b.op("And", b.op("Less", places, width, dtype=BOOL), b.op("Not", below_zero))
        moved = o.where(b, is_valid, b.cast(moved, INT64), zero)
    return b.cast(b.cast(moved, unsigned), x.dtype)


def shift_with_sign(b: OnnxBuilder, x: Ref, count: Ref) -> Ref:
    """The bits of signed integers moved to the right, and copies of the sign where they were."""
    wide, last = b.cast(x, INT64), b.constant(-1, INT64)
    negative = b.op("Less", wide, b.constant(0, INT64), dtype=BOOL)
    # The complement of a negative number has no sign: its bits move as any, and are turned back.
    moved = shift_bits(b, o.where(b, negative, b.op("Sub", last, wide), wide), count, "RIGHT")
    return b.cast(o.where(b, negative, b.op("Sub", last, moved), moved), x.dtype)


def _are_below(count: Ref, width: int) -> bool:
    """Return whether counts are known to be from 0 to below `width`."""
    numbers = count.constant
    return numbers is not None and bool(np.all((numbers >= 0) & (numbers < width)))


def _as_type(b: OnnxBuilder, x: Ref, dtype: np.dtype) -> Ref:
    """The bits of `x` as numbers of another type of the same width."""
    if x.dtype == dtype or (x.dtype.kind in "iu" and dtype.kind in "iu"):
        return b.cast(x, dtype)
    return b.op("BitCast", x, dtype=dtype, to=int(onnx_type(dtype)))


def _unsigned(itemsize: int) -> np.dtype:
    return np.dtype(f"u{itemsize}")
