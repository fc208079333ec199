"""Rotary position embeddings, recognised by the sum that ends them.

Source: Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding".
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import require_static

_RANK = 4


class _Rotation(NamedTuple):
    """A rotation: ``x * cosine + concat(-second, first) * sine`` for the halves of x."""

    x: Ref
    cosine: Ref
    sine: Ref


def rotary_embedding(b: OnnxBuilder, call: Call) -> Ref | None:
    """The sum as one operator; None where it is none, or its tables are not of two equal halves."""
    if b.opset < 23:
        return None
    one, other = call.operands
    rotation = _rotation(call, one, other) or _rotation(call, other, one)
    if rotation is None:
        return None
    batch, _, steps, last = rotation.x.shape
    (size,) = require_static([last], "the size of a rotary embedding")
    tables = []
    for table, function in ((rotation.cosine, "cos"), (rotation.sine, "sin")):
        shape = (1,) * (_RANK - table.rank) + tuple(table.shape)
        is_match = len(shape) == _RANK and shape[0] in (1, batch) and shape[1:] == (1, steps, size)
        if not is_match or not _is_repeated(call, table, function):
            return None
        half = o.slice_(b, table, [table.rank - 1], [0], [size // 2])
        half = o.reshape(b, half, (shape[0], steps, size // 2))
        tables.append(o.expand(b, half, (batch, steps, size // 2)))
    return b.op("RotaryEmbedding", rotation.x, *tables, shape=rotation.x.shape)


def _rotation(call: Call, plain: Ref, rotated: Ref) -> _Rotation | None:
    """The operands that the two addends of a sum rotate, if they do."""
    products = call.producer_of(plain, "mul"), call.producer_of(rotated, "mul")
    if products[0] is None or products[1] is None:
        return None
    for operand, sine in itertools.permutations(products[1].operands):
        x = _rotate_half(call, operand)
        others = [operand for operand in products[0].operands if operand is not x]
        if x is not None and len(others) == 1:
            return _Rotation(x, others[0], sine)
    return None


def _rotate_half(call: Call, operand: Ref) -> Ref | None:
    """The value whose negated second half and first half are joined here; None if there is none."""
    joined = call.producer_of(operand, "concat")
    neg = call.producer_of(joined.operands[0], "neg") if joined else None
    if joined is None or neg is None or len(joined.operands) != 2:
        return None
    first, second = _half(call, joined.operands[1]), _half(call, neg.operands[0])
    if first is None or second is None or first[0] is not second[0]:
        return None
    x = first[0]
    is_last = joined["dim"] == x.rank - 1 == _RANK - 1
    return x if is_last and (first[1], second[1]) == (0, 1) else None


def _half(call: Call, part: Ref) -> tuple[Ref, int] | None:
    """The value of whose last dimension this is one half, and which."""
    producer, place = call.producer_calls.get(part, (None, 0))
    if producer is None or producer.primitive not in ("split", "slice"):
        return None
    x = producer.operands[0]
    size, last = x.shape[-1], x.rank - 1
    if not isinstance(size, int) or size % 2 or part.shape[-1] != size // 2:
        return None
    if producer.primitive == "split":
        return (x, place) if producer["dim"] == last else None
    start = producer.operands[1].number
    if producer["dims"] != (last,) or producer["steps"] != (1,) or start not in (0, size // 2):
        return None
    return x, int(start > 0)


def _is_repeated(call: Call, table: Ref, function: str) -> bool:
    """Return True for cosines or sines of angles that stand twice side by side."""
    reshaped = call.producer_of(table, "reshape")
    while reshaped is not None and reshaped.operands[0].shape[-1:] == table.shape[-1:]:
        table = reshaped.operands[0]
        reshaped = call.producer_of(table, "reshape")
    sin_or_cos = call.producer_of(table, function)
    angles = call.producer_of(sin_or_cos.operands[0], "concat") if sin_or_cos else None
    if angles is None or len(angles.operands) != 2:
        return False
    one, other = angles.operands
    return one is other and angles["dim"] == one.rank - 1
