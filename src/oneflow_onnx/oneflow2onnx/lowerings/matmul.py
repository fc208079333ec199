"""Matrix products and attention."""

from __future__ import annotations

import operator
import string

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import INT64, OnnxBuilder
from oneflow_onnx.oneflow2onnx.formulas import Formula, row_numbers
from oneflow_onnx.oneflow2onnx.lowering import Call, Unsupported, lowering
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import CapturedSize, Dim, combine, product

BOOL = np.dtype(bool)


@lowering("matmul")
def _matmul(b: OnnxBuilder, call: Call) -> Ref:
    x, y = call.operands
    transposed = call.producer_of(y, "transpose")
    if transposed is not None and x.rank == y.rank == 2 and x.is_float and b.opset >= 11:
        (weight,) = transposed.operands
        return b.op("Gemm", x, weight, shape=call.result.shape, transB=1)
    return o.matmul(b, x, y)


@lowering("matmul_to_float32")
def _matmul_to_float32(b: OnnxBuilder, call: Call) -> Ref:
    return b.cast(o.matmul(b, *call.operands), np.dtype(np.float32))


@lowering("linear", "linear_no_bias")
def _linear(b: OnnxBuilder, call: Call) -> Ref:
    x, weight, *bias = call.operands
    shape = call.result.shape
    if x.rank == 2 and x.is_float and (bias or b.opset >= 11):
        return b.op("Gemm", x, weight, *bias, shape=shape, transB=1)
    product = b.op("MatMul", x, o.transpose(b, weight, (1, 0)), shape=shape)
    return b.op("Add", product, *bias) if bias else product


@lowering("outer_rows")
def _outer_rows(b: OnnxBuilder, call: Call) -> Ref:
    y, x = (
        o.reshape(b, operand, (product(operand.shape[:-1]), operand.shape[-1]))
        for operand in call.operands
    )
    return o.matmul(b, o.transpose(b, y, (1, 0)), x)


@lowering("bilinear")
def _bilinear(b: OnnxBuilder, call: Call) -> Ref:
    x, y, weight, *bias = call.operands
    shape = call.result.shape
    result = b.op("Einsum", x, weight, y, shape=shape, equation="...i,oij,...j->...o")
    return b.op("Add", result, *bias) if bias else result


@lowering("einsum")
def _einsum(b: OnnxBuilder, call: Call) -> Ref:
    labels = sorted({label for part in call["inputs"] for label in part})
    symbols = dict(zip(labels, string.ascii_letters, strict=False))
    sizes: dict = {}
    for operand, part in zip(call.operands, call["inputs"], strict=True):
        sizes.update({key: n for key, n in zip(part, operand.shape, strict=True) if n != 1})
    operands, terms = [], []
    for operand, part in zip(call.operands, call["inputs"], strict=True):
        # A size of 1 broadcasts.
        single = [d for d, key in enumerate(part) if operand.shape[d] == 1 and key in sizes]
        operands.append(o.squeeze(b, operand, single))
        terms.append("".join(symbols[key] for d, key in enumerate(part) if d not in single))
    equation = f"{','.join(terms)}->{''.join(symbols[key] for key in call['output'])}"
    return b.op("Einsum", *operands, shape=call.result.shape, equation=equation)


@lowering("attention")
def _attention(b: OnnxBuilder, call: Call) -> tuple[Ref, None]:
    q, k, v, _, _, _, *mask = call.operands
    if call["dropout"]:
        raise Unsupported("attention with dropout (call `eval()` on the model before exporting)")
    if b.opset >= 23 and q.rank == k.rank == v.rank == 4 and not mask:
        causal, factor = int(call["causal"]), call["scale"]
        shape = call.result.shape
        return b.op("Attention", q, k, v, shape=shape, is_causal=causal, scale=factor), None
    if call["grouped"]:
        k, v = (_repeated_heads(b, heads, q) for heads in (k, v))
    keys = o.transpose(b, k, [*range(k.rank - 2), k.rank - 1, k.rank - 2])
    scale = b.constant(np.asarray(call["scale"], q.dtype))
    scores = o.matmul(b, b.op("Mul", q, scale), keys)
    allowed = _allowed(b, call, scores, mask)
    if mask and mask[0].dtype != BOOL:
        scores = b.op("Add", scores, b.cast(mask[0], scores.dtype))
    if allowed is None:
        weights = b.op("Softmax", scores, axis=scores.rank - 1)
    else:
        lowest = b.constant(_lowest(scores.dtype))
        weights = b.op("Softmax", o.where(b, allowed, scores, lowest), axis=scores.rank - 1)
        # A query that sees no key gets zeros.
        weights = o.where(b, allowed, weights, b.constant(0, scores.dtype))
    return o.matmul(b, weights, v), None


def _repeated_heads(b: OnnxBuilder, x: Ref, queries: Ref) -> Ref:
    """Keys or values with a head for each of the queries."""
    *batch, groups, rows, columns = x.shape
    heads = queries.shape[-3]
    if isinstance(groups, CapturedSize) or isinstance(heads, CapturedSize):
        raise Unsupported("grouped attention with a number of heads that is not fixed")
    column = o.unsqueeze(b, x, [x.rank - 2])
    repeated = o.expand(b, column, (*batch, groups, heads // groups, rows, columns))
    return o.reshape(b, repeated, (*batch, heads, rows, columns))


def _lowest(dtype: np.dtype) -> np.ndarray:
    """A number below all scores."""
    return np.array(-3e38 if dtype.name != "float16" else -6e4, dtype)


def _allowed(b: OnnxBuilder, call: Call, scores: Ref, mask: list[Ref]) -> Ref | None:
    """The keys that each query may see; None: all."""
    allowed = mask[0] if mask and mask[0].dtype == BOOL else None
    if not call["causal"]:
        return allowed
    queries, keys = scores.shape[-2:]
    if isinstance(queries, CapturedSize) or isinstance(keys, CapturedSize):
        rows, columns = o.positions(b, queries), o.positions(b, keys)
        later = b.op("Less", o.unsqueeze(b, rows, [1]), o.unsqueeze(b, columns, [0]), dtype=BOOL)
        causal = b.op("Not", later)
    else:
        causal = b.constant(np.tril(np.ones((queries, keys), bool)))
    return causal if allowed is None else b.op("And", causal, allowed)


@lowering("grouped_matmul", "grouped_matmul_transposed")
def _grouped_matmul(b: OnnxBuilder, call: Call) -> Ref:
    """The products of all rows with all matrices, and of each row that with its group's."""
    x, weight, ends = call.operands
    if call.primitive == "grouped_matmul_transposed":
        weight = o.transpose(b, weight, (0, 2, 1))
    products = o.matmul(b, o.unsqueeze(b, x, [0]), weight)
    inside = _rows_in_groups(b, x.shape[0], ends)
    return o.reduce(b, "ReduceSum", _only(b, inside, products), [0], keepdim=False)


@lowering("grouped_outer")
def _grouped_outer(b: OnnxBuilder, call: Call) -> Ref:
    x, y, ends = call.operands
    inside = _rows_in_groups(b, x.shape[0], ends)
    left, right = (_only(b, inside, o.unsqueeze(b, operand, [0])) for operand in (x, y))
    return o.matmul(b, o.transpose(b, left, (0, 2, 1)), right)


def _rows_in_groups(b: OnnxBuilder, rows: Dim, ends: Ref) -> Ref:
    """The rows that are in each group, as bools of shape [groups, rows, 1]; groups end in order."""
    end = Formula(b, o.unsqueeze(b, b.cast(ends, INT64), [1, 2]))
    previous = end.part(0, combine(ends.shape[0], 1, operator.sub), -3)
    start = o.concat(b, [b.constant(np.zeros((1, 1, 1), np.int64)), previous.ref], 0)
    row = row_numbers(b, rows)
    return ((row < end) & (row < Formula(b, start)).apply("Not")).ref


def _only(b: OnnxBuilder, inside: Ref, x: Ref) -> Ref:
    """The elements of rows in a group, and zeros."""
    return o.where(b, inside, x, b.constant(0, x.dtype))
