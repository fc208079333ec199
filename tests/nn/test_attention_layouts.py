"""Builtins of attention with operands in OneFlow's layouts, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import _C, nn

BATCH, LENGTH, HEADS, SIZE = 2, 5, 3, 8
RNG = np.random.default_rng(7)
ORDERS = {"BHMK": (0, 2, 1, 3), "BMHK": (0, 1, 2, 3), "MBHK": (1, 0, 2, 3)}
SEPARATE = [*ORDERS, "BM(HK)", "MB(HK)"]


def drawn(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def in_layout(parts: list[np.ndarray], layout: str, part: int) -> flow.Tensor:
    """One of query, keys and values of the order BMHK, or several of them side by side."""
    if layout in ORDERS:
        return flow.tensor(np.ascontiguousarray(parts[part].transpose(ORDERS[layout])))
    count = 3 if "3" in layout else 2 if "2" in layout else 1
    array = np.stack(parts[3 - count :] if count > 1 else [parts[part]], -2)
    array = array.reshape(*array.shape[:2], -1)
    return flow.tensor(np.ascontiguousarray(array.swapaxes(0, 1)) if layout[0] == "M" else array)


def expected(parts: list[np.ndarray], mask: Any = None, scale: float | None = None) -> np.ndarray:
    q, k, v = (torch.tensor(array).transpose(1, 2) for array in parts)
    output = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, scale=scale)
    return output.transpose(1, 2).flatten(2).numpy()


def close(ours: flow.Tensor, right: np.ndarray) -> None:
    np.testing.assert_allclose(ours.numpy(), right, rtol=1e-4, atol=1e-5)


LAYOUTS = [
    *[(layout, "BMHK", "BHMK") for layout in SEPARATE],
    *[("BMHK", layout, layout) for layout in SEPARATE],
    ("BM(H3K)", None, None),
    ("MB(H3K)", None, None),
    ("BM(H3K)", "BM(H3K)", "BM(H3K)"),
    ("MB(HK)", "BM(H2K)", None),
    ("BMHK", "MB(H2K)", "MB(H2K)"),
]


@pytest.mark.parametrize("output", ["BM(HK)", "MB(HK)"])
@pytest.mark.parametrize(("query", "key", "value"), LAYOUTS)
def test_layouts(query: str, key: str | None, value: str | None, output: str) -> None:
    parts = [drawn(BATCH, LENGTH, HEADS, SIZE) for _ in range(3)]
    found = _C.fused_multi_head_attention_inference_v2(
        query=in_layout(parts, query, 0),
        query_layout=query,
        query_head_size=SIZE,
        key=None if key is None else in_layout(parts, key, 1),
        key_layout=key,
        value=None if value is None else in_layout(parts, value, 2),
        value_layout=value,
        output_layout=output,
    )
    right = expected(parts)
    close(found, right.swapaxes(0, 1) if output == "MB(HK)" else right)


@pytest.mark.parametrize("queries", [3, 5, 7])
@pytest.mark.parametrize("mask", ["none", "causal_from_top_left", "causal_from_bottom_right"])
@pytest.mark.parametrize("offset", [0, 2])
@pytest.mark.parametrize("bias", [None, (8,), (1, 8), (8, 8), (HEADS, 8, 8), (BATCH, 1, 1, 8)])
@pytest.mark.one_in(4)
def test_masks(queries: int, mask: str, offset: int, bias: tuple[int, ...] | None) -> None:
    parts = [drawn(BATCH, length, HEADS, SIZE) for length in (queries, 6, 6)]
    added = None if bias is None else drawn(*bias)
    found = _C.fused_multi_head_attention_inference_v2(
        query=flow.tensor(parts[0]),
        query_layout="BMHK",
        key=flow.tensor(parts[1]),
        key_layout="BMHK",
        value=flow.tensor(parts[2]),
        value_layout="BMHK",
        attn_bias=None if added is None else flow.tensor(added),
        attn_mask_type=mask,
        causal_diagonal_offset=offset,
        scale=0.7,
    )
    shift = offset + (6 - queries if mask.endswith("right") else 0)
    scores = torch.zeros(queries, 6)
    if mask != "none":
        scores.masked_fill_(torch.ones(queries, 6).tril(shift) == 0, -torch.inf)
    if added is not None:
        kept = added[..., :6] if added.ndim == 1 else added[..., :queries, :6]
        scores = scores + torch.tensor(kept)
    rows = torch.isfinite(scores).any(-1)
    right = expected(parts, scores, 0.7)
    seen = rows.expand(BATCH, HEADS, queries).all(1)
    close(found[flow.tensor(seen.numpy())], right[seen.numpy()])


@pytest.mark.parametrize("layout", ["(BM)HK", "(BM)(HK)", "(BM)(H3K)"])
@pytest.mark.parametrize("mask", ["none", "causal_from_top_left", "causal_from_bottom_right"])
@pytest.mark.parametrize("in_graph", [False, True])
def test_packed_sequences(layout: str, mask: str, in_graph: bool) -> None:
    lengths = [3, 1, 4]
    parts = [[drawn(1, count, HEADS, SIZE) for _ in range(3)] for count in lengths]
    right = [
        expected(part, torch.ones(n, n, dtype=torch.bool).tril() if mask != "none" else None)
        for part, n in zip(parts, lengths, strict=True)
    ]
    q, k, v = (np.concatenate([part[i][0] for part in parts]) for i in range(3))
    starts = flow.tensor(np.cumsum([0, *lengths]).astype(np.int32))

    def attend(q: Any, k: Any, v: Any, starts: Any) -> flow.Tensor:
        return _C.fused_multi_head_attention_inference_v2(
            query=q,
            query_layout=layout,
            query_head_size=SIZE,
            query_seq_start=starts,
            query_max_seq_len=4,
            key=k,
            key_layout=layout,
            key_seq_start=starts,
            key_max_seq_len=4,
            value=v,
            value_layout=layout,
            output_layout="(BM)(HK)",
            attn_mask_type=mask,
        )

    class Attend(nn.Graph):
        def build(self, *tensors: Any) -> flow.Tensor:
            return attend(*tensors)

    if layout == "(BM)(H3K)":
        q = k = v = np.stack([q, k, v], -2)
    arrays = [array if layout == "(BM)HK" else array.reshape(len(array), -1) for array in (q, k, v)]
    run: Any = Attend() if in_graph else attend
    close(run(*map(flow.tensor, arrays), starts), np.concatenate(right, 1)[0])


def test_lengths_of_packed_keys() -> None:
    parts = [drawn(BATCH, LENGTH, HEADS, SIZE) for _ in range(3)]
    packed = [flow.tensor(array.reshape(-1, HEADS, SIZE)) for array in parts]
    starts = flow.tensor([0, LENGTH, 2 * LENGTH], dtype=flow.int32)
    found = _C.fused_multi_head_attention_inference_v2(
        query=packed[0],
        query_layout="(BM)HK",
        query_seq_start=starts,
        query_max_seq_len=LENGTH,
        key=packed[1],
        key_layout="(BM)HK",
        key_seq_start=starts,
        key_seq_len=flow.tensor([2, 4], dtype=flow.int32),
        key_max_seq_len=LENGTH,
        value=packed[2],
        value_layout="(BM)HK",
        output_layout="(BM)(HK)",
    )
    mask = torch.arange(LENGTH) < torch.tensor([2, 4])[:, None]
    close(found, expected(parts, mask[:, None, None]).reshape(-1, HEADS * SIZE))


@pytest.mark.parametrize("earlier", [0, 3])
@pytest.mark.parametrize("past", SEPARATE)
@pytest.mark.parametrize("layout", [*SEPARATE, "BM(H3K)", "MB(H2K)"])
@pytest.mark.one_in(3)
def test_keys_and_values_behind_earlier_ones(earlier: int, past: str, layout: str) -> None:
    old, new = ([drawn(BATCH, length, HEADS, SIZE) for _ in range(3)] for length in (earlier, 2))
    keys, values = _C.fused_attention_concat_past_key_value(
        past_key=in_layout(old, past, 1) if earlier else None,
        past_key_layout=past,
        past_value=in_layout(old, past, 2) if earlier else None,
        past_value_layout=past,
        key=in_layout(new, layout, 1),
        key_layout=layout,
        value=in_layout(new, layout, 2),
        value_layout=layout,
        key_head_size=SIZE,
    )
    both = [np.concatenate(pair, 1) for pair in zip(old, new, strict=True)]
    close(keys, in_layout(both, past, 1).numpy())
    close(values, in_layout(both, past, 2).numpy())


X = flow.ones(BATCH, LENGTH, HEADS * SIZE)
PACKED = {"query": X[0], "query_layout": "(BM)(HK)", "query_head_size": SIZE}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"query_layout": "BMK"}, "`query_layout` must be one of BHMK, .* got 'BMK'"),
        ({"query_layout": "BHMK"}, "4 dimensions, but `query` has shape"),
        ({"query_head_size": None}, "`query` in the layout .* needs the size of a head"),
        ({"query_head_size": 7}, "must be a multiple of 7, got 24"),
        ({"key": X[..., :10]}, "dimension of `key` must be a multiple of 3, got 10"),
        ({"key": X[..., :12]}, "K of `key` must be 8, got 4"),
        ({"output_layout": "(BM)(HK)"}, "`output_layout` must be one of BM"),
        ({"causal": True, "attn_mask_type": "none"}, "`attn_mask_type` must be one of"),
        ({"causal_diagonal_offset": -1}, "must not be negative, got -1"),
        ({"query_seq_start": flow.tensor([0, 5])}, "are those of packed sequences"),
        ({**PACKED, "output_layout": "(BM)(HK)"}, "needs `query_seq_start`"),
    ],
)
def test_operands_that_do_not_fit(options: dict[str, Any], text: str) -> None:
    usual = {
        "query": X,
        "query_layout": "BM(HK)",
        "query_head_size": SIZE,
        "key": X,
        "key_layout": "BM(HK)",
        "value": X,
        "value_layout": "BM(HK)",
    }
    with pytest.raises(RuntimeError, match=text):
        _C.fused_multi_head_attention_inference_v2(**{**usual, **options})


def test_only_one_of_earlier_keys_and_values() -> None:
    with pytest.raises(RuntimeError, match="must both be given"):
        _C.fused_attention_concat_past_key_value(
            past_key=flow.ones(1, 1, 1, 1),
            past_key_layout="BMHK",
            past_value_layout="BMHK",
            key=flow.ones(1, 1, 1, 1),
            key_layout="BMHK",
            value=flow.ones(1, 1, 1, 1),
            value_layout="BMHK",
        )
