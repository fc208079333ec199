"""Attention that is written out becomes one primitive, with the same values and gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oneflow as flow
import oneflow.nn.functional as F
from oneflow import nn
from oneflow.passes import fuse_attention
from tests.graph.helpers import graph_of, only_step

SHAPE = (2, 3, 8, 4)
HIDDEN = -math.inf
LOWEST = flow.finfo(flow.float32).min


def product(q, k):
    return q @ k.transpose(-2, -1)


def nano_gpt(q, k, v, mask):
    scores = product(q, k) * (1.0 / math.sqrt(k.size(-1)))
    scores = scores.masked_fill(mask == 0, HIDDEN)
    return F.dropout(F.softmax(scores, dim=-1), 0.2) @ v


def old_gpt2(q, k, v, mask):
    scores = product(q, k) / flow.full([], 2.0)
    return F.softmax(flow.where(mask, scores, flow.full([], LOWEST)), dim=-1).type_as(v) @ v


def old_bert(q, k, v, mask):
    scores = product(q, k) / math.sqrt(4) + (1.0 - mask.float()) * -10000.0
    return flow.matmul(nn.Softmax(dim=-1)(scores), v)


def added(q, k, v, mask):
    return F.softmax(product(q * 0.5, k) + flow.zeros(1).masked_fill(~mask, HIDDEN), -1) @ v


def bloom(q, k, v, mask):
    q, k, v = (part.reshape(6, 8, 4) for part in (q, k, v))
    bias = flow.ones(6, 1, 8).cumsum(-1)
    scores = flow.baddbmm(bias, q, k.transpose(1, 2), beta=1.0, alpha=0.5)
    return flow.bmm(F.softmax(scores, dim=-1, dtype=flow.float32), v).view(SHAPE)


def megatron(q, k, v, mask):
    keys = k.reshape(6, 8, 4).transpose(1, 2)
    scores = flow.baddbmm(flow.zeros(6, 8, 8), q.reshape(6, 8, 4), keys, beta=0.0, alpha=0.5)
    weights = F.softmax(scores.view(2, 3, 8, 8).masked_fill(~mask, HIDDEN), dim=-1)
    return flow.bmm(F.dropout(weights, 0.1).view(6, 8, 8), v.reshape(6, 8, 4)).view(SHAPE)


def libai(q, k, v, mask):
    scores = flow.matmul(q, k, transpose_b=True, alpha=0.5)
    return (
        flow._C.fused_scale_mask_softmax_dropout(scores, mask, fill_value=LOWEST, scale=1.0, p=0.1)[
            0
        ]
        @ v
    )


def libai_causal(q, k, v, mask):
    scores = flow.matmul(q, k, transpose_b=True, alpha=0.5)
    weights, _ = flow._C.fused_scale_tril_softmax_mask_scale(
        scores, p=0.1, diagonal=0, tril_scale_value=1.0, tril_fill_value=HIDDEN
    )
    return weights @ v


def key_padding(mask):
    """The keys that are no padding, the first one always."""
    return mask[:, :, :1] | (flow.arange(8) == 0)


def padded_gpt2(q, k, v, mask):
    scores = flow.where(mask, product(q, k) / flow.full([], 2.0), flow.full([], LOWEST))
    return F.softmax(scores + (1.0 - key_padding(mask).float()) * LOWEST, dim=-1) @ v


def padded_nano_gpt(q, k, v, mask):
    seen = flow.ones(8, 8).tril().view(1, 1, 8, 8)
    scores = (product(q, k) * 0.5).masked_fill(seen == 0, HIDDEN)
    return F.softmax(scores.masked_fill(~key_padding(mask), HIDDEN), dim=-1) @ v


def hidden_twice(q, k, v, mask):
    scores = product(q, k).masked_fill(~mask, LOWEST)
    return F.softmax(flow.where(key_padding(mask), scores, LOWEST), dim=-1) @ v


def added_then_hidden(q, k, v, mask):
    scores = product(q, k) + key_padding(mask).float().cumsum(-1)
    return F.softmax(scores.masked_fill(~mask, HIDDEN), dim=-1) @ v


def added_twice(q, k, v, mask):
    near = flow.ones(1, 1, 8, 8).cumsum(-1)
    return F.softmax(product(q, k) + near + (1.0 - mask.float()) * -10000.0, dim=-1) @ v


def padded_triangle(q, k, v, mask):
    scores = product(q, k).masked_fill(flow.triu(flow.ones(8, 8), 1).bool(), HIDDEN)
    return F.softmax(scores + (1.0 - key_padding(mask).float()) * LOWEST, dim=-1) @ v


def causal_then_added(q, k, v, mask):
    scores = product(q, k).masked_fill(flow.triu(flow.ones(8, 8), 1).bool(), HIDDEN)
    return F.softmax(scores + flow.zeros(1).masked_fill(~mask, HIDDEN), dim=-1) @ v


def two_masks(q, k, v, mask):
    scores = product(q, k).masked_fill(~mask, HIDDEN)
    return F.softmax(scores + mask.float(), dim=-1) @ v


def by_einsum(q, k, v, mask):
    scores = flow.einsum("bhqd,bhkd->bhqk", q, k) * 0.5
    weights = F.softmax(scores.masked_fill(~mask, HIDDEN), dim=-1)
    return flow.einsum("bhqk,bhkd->bhqd", weights, v)


def heads_last_by_einsum(q, k, v, mask):
    q, k, v = (part.transpose(1, 2) for part in (q, k, v))
    scores = flow.einsum("bqhd,bkhd->bhqk", q, k).masked_fill(~mask, HIDDEN)
    return flow.einsum("bhqk,bkhd->bqhd", F.softmax(scores, dim=-1), v).transpose(1, 2)


def swapped_by_einsum(q, k, v, mask):
    scores = flow.einsum("bhkd,bhqd->bhqk", k, q) / 2.0
    weights = F.softmax(flow.where(mask, scores, HIDDEN), dim=-1)
    return flow.einsum("bhkd,bhqk->bhqd", v, weights)


def triangle_above(q, k, v, mask):
    hidden = flow.triu(flow.ones(8, 8), diagonal=1).bool()
    return F.softmax(product(q, k).masked_fill(hidden, HIDDEN), dim=-1) @ v


def triangle_below(q, k, v, mask):
    seen = flow.ones(8, 8).tril().view(1, 1, 8, 8)
    return F.softmax(flow.where(seen == 1, product(q, k), HIDDEN), dim=-1) @ v


def half_precision(q, k, v, mask):
    with flow.autocast("cpu", dtype=flow.bfloat16):
        return F.softmax((product(q, k) * 0.5).float(), dim=-1).type_as(q.bfloat16()) @ v


# Each with whether the primitive is causal.
WRITTEN = {
    nano_gpt: False, megatron: False, old_gpt2: False, old_bert: False, added: False, bloom: False,
    libai: False, libai_causal: True, triangle_above: True, triangle_below: True,
    half_precision: False, padded_nano_gpt: True, causal_then_added: True,
    by_einsum: False, heads_last_by_einsum: False, swapped_by_einsum: False,
    hidden_twice: False, added_twice: False, padded_triangle: True,
}  # fmt: skip


def other_dimension(q, k, v, mask):
    return F.softmax(product(q, k), dim=-2) @ v


def weights_returned(q, k, v, mask):
    weights = F.softmax(product(q, k), dim=-1)
    return weights @ v + weights.sum()


def scores_read(q, k, v, mask):
    scores = product(q, k)
    return F.softmax(scores, dim=-1) @ v + scores.mean()


def narrower_weights(q, k, v, mask):
    return F.softmax(product(q, k), dim=-1).half().float() @ v


def wider_values(q, k, v, mask):
    return F.softmax(product(q, k), dim=-1).double() @ v.double()


def mask_scaled(q, k, v, mask):
    return F.softmax((product(q, k) + mask.float()) * 0.5, dim=-1) @ v


def three_masks(q, k, v, mask):
    return F.softmax(product(q, k) + mask.float() + mask.float() + mask.float(), dim=-1) @ v


def two_fills(q, k, v, mask):
    scores = product(q, k).masked_fill(~mask, HIDDEN)
    return F.softmax(scores.masked_fill(~key_padding(mask), LOWEST), dim=-1) @ v


def weak_fill(q, k, v, mask):
    scores = product(q, k).masked_fill(~mask, -10000.0)
    return F.softmax(scores + mask.float(), dim=-1) @ v


def broadcast_by_einsum(q, k, v, mask):
    scores = flow.einsum("bhqd,bhkd->bhqk", q, k[:1])
    return flow.einsum("bhqk,bhkd->bhqd", F.softmax(scores, dim=-1), v)


def summed_twice_by_einsum(q, k, v, mask):
    weights = F.softmax(product(q, k), dim=-1)
    return flow.einsum("bhqk,bhkd->bqd", weights, v).unsqueeze(1)


def scaled_by_a_tensor(q, k, v, mask):
    return F.softmax(product(q, k) * q.detach().abs().max(), dim=-1) @ v


def added_to_columns(q, k, v, mask):
    return F.softmax(product(q, k) + flow.ones(8).cumsum(-1), dim=-1) @ v


def learned_bias(q, k, v, mask):
    return F.softmax(product(q, k) + v.sum(-1, keepdim=True), dim=-1) @ v


def broadcast_keys(q, k, v, mask):
    return F.softmax(product(q, k[:1]), dim=-1) @ v


def channels_dropped(q, k, v, mask):
    return F.dropout2d(F.softmax(product(q, k), dim=-1), 0.5) @ v


def scaled_weights(q, k, v, mask):
    return (F.softmax(product(q, k), dim=-1) * 2) @ v


def hidden_by_nan(q, k, v, mask):
    return F.softmax(product(q, k).masked_fill(~mask, math.nan), dim=-1) @ v


def shown_or_nan(q, k, v, mask):
    nan = flow.full([], math.nan)
    return F.softmax(flow.where(mask, product(q, k), nan), dim=-1) @ v


OTHERS = (
    other_dimension, weights_returned, scores_read, narrower_weights, wider_values, mask_scaled,
    three_masks, two_fills, weak_fill, scaled_by_a_tensor, added_to_columns, learned_bias,
    broadcast_by_einsum, summed_twice_by_einsum,
    broadcast_keys, channels_dropped, scaled_weights, hidden_by_nan, shown_or_nan,
    two_masks, padded_gpt2, added_then_hidden,
)  # fmt: skip


@pytest.fixture
def as_on_accelerators(monkeypatch):
    """Let the pass work on CPUs, as if they had a kernel for all calls."""
    monkeypatch.setattr(fuse_attention, "DEVICE_TYPES", {"cpu"})
    monkeypatch.setattr(fuse_attention, "is_fused", lambda operation: True)


def results_of(attend, inputs, mask):
    """The result, the gradients, and the operations of a graph that trains."""

    def build(*inputs):
        leaves = [x.detach().requires_grad_() for x in inputs[:3]]
        result = attend(*leaves, inputs[3])
        return (result, *flow.autograd.grad(result.float().sin().sum(), leaves))

    graph = graph_of(build)
    flow.manual_seed(3)
    results = [result.float().numpy() for result in graph(*inputs, mask)]
    return results, [i.operation for i in only_step(graph).executable.program.instructions]


def count(operations, name):
    return sum(operation.primitive.name == name for operation in operations)


@pytest.fixture
def inputs():
    rng = np.random.default_rng(0)
    return [flow.tensor(rng.standard_normal(SHAPE), dtype=flow.float32) for _ in range(3)]


@pytest.fixture
def mask():
    return flow.tensor(
        (np.random.default_rng(1).random((2, 1, 8, 8)) > 0.4) | np.eye(8, dtype=bool)
    )


@pytest.mark.parametrize("attend", WRITTEN)
def test_attention_is_fused(attend, inputs, mask, monkeypatch, request):
    expected, operations = results_of(attend, inputs, mask)
    assert not count(operations, "attention")
    request.getfixturevalue("as_on_accelerators")
    found, operations = results_of(attend, inputs, mask)
    assert count(operations, "attention") == count(operations, "attention_backward") == 1
    assert not count(operations, "softmax") + count(operations, "softmax_backward")
    (call,) = [operation for operation in operations if operation.primitive.name == "attention"]
    assert call.attributes["causal"] is WRITTEN[attend]
    tolerance = 2e-2 if attend is half_precision else 2e-6
    for mine, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, plain, rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("as_on_accelerators")
def test_other_programs_stay(inputs, mask):
    operations = results_of(all_others, inputs, mask)[1]
    assert not count(operations, "attention")
    assert count(operations, "softmax") == len(OTHERS)


def all_others(q, k, v, mask):
    return sum(attend(q, k, v, mask).float() for attend in OTHERS)


def test_programs_stay_where_no_kernel_computes_them(inputs, mask, monkeypatch):
    monkeypatch.setattr(fuse_attention, "DEVICE_TYPES", {"cpu"})
    _, operations = results_of(nano_gpt, inputs, mask)
    assert not count(operations, "attention")


@pytest.mark.usefixtures("as_on_accelerators")
def test_each_layer_is_fused(inputs, mask):
    def layers(q, k, v, mask):
        return nano_gpt(old_gpt2(old_bert(q, k, v, mask), k, v, mask), k, v, mask)

    _, operations = results_of(layers, inputs, mask)
    assert count(operations, "attention") == count(operations, "attention_backward") == 3


@pytest.mark.parametrize("attend", [old_bert, two_masks, padded_gpt2, added_then_hidden])
@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.usefixtures("as_on_accelerators")
def test_inference_is_fused(attend, seen, inputs, mask):
    if not seen:
        unseen_row(inputs, mask)
    graph = graph_of(lambda *given: attend(*given))
    found = graph(*inputs, mask).numpy()
    operations = [i.operation for i in only_step(graph).executable.program.instructions]
    assert count(operations, "attention") == 1
    np.testing.assert_allclose(found, attend(*inputs, mask).numpy(), rtol=2e-6, atol=2e-6)


def unseen_row(inputs, mask):
    mask[1, :, 2] = False


def infinite_query(inputs, mask):
    inputs[0][0, 1, 3] = math.inf


def nan_key(inputs, mask):
    inputs[1][0, 1, 3] = math.nan


def nan_value(inputs, mask):
    inputs[2][1, 2, 5, 1] = math.nan


def unseen_start(inputs, mask):
    mask[0, :, :3, :3] = False


MASKED = (
    nano_gpt, megatron, old_gpt2, old_bert, added, libai, padded_nano_gpt, causal_then_added,
    by_einsum, heads_last_by_einsum, swapped_by_einsum, hidden_twice, added_twice, padded_triangle,
)  # fmt: skip
NOT_FINITE = [
    *((attend, change) for attend in MASKED for change in (unseen_row, unseen_start)),
    *((triangle_above, change) for change in (infinite_query, nan_key, nan_value)),
    *((nano_gpt, change) for change in (infinite_query, nan_value)),
]


@pytest.mark.parametrize(("attend", "change"), NOT_FINITE)
def test_values_that_are_not_finite_stay_so(attend, change, inputs, mask, request):
    change(inputs, mask)
    expected, _ = results_of(attend, inputs, mask)
    request.getfixturevalue("as_on_accelerators")
    found, operations = results_of(attend, inputs, mask)
    assert count(operations, "attention") == 1
    for mine, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, plain, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("attend", [two_masks, padded_gpt2, added_then_hidden])
def test_gradients_behind_a_choice_and_a_sum_stay(attend, inputs, mask, request):
    """A choice stops the gradients of a query that sees no key, and a sum does not."""
    unseen_row(inputs, mask)
    expected, _ = results_of(attend, inputs, mask)
    request.getfixturevalue("as_on_accelerators")
    for mine, plain in zip(results_of(attend, inputs, mask)[0], expected, strict=True):
        np.testing.assert_allclose(mine, plain, rtol=2e-6, atol=2e-6)


def complex_einsum(q, k, v):
    # The loss takes the sine, which of values near 50 would show the rounding of the processor.
    scores = flow.einsum("bhqd,bhkd->bhqk", flow.complex(q, k), flow.complex(k, v))
    return flow.einsum("bhqk,bhkd->bhqd", scores, flow.complex(q, v)).imag / 16


def integer_einsum(q, k, v):
    scores = flow.einsum("bhqd,bhkd->bhqk", (q * 3).int(), (k * 3).int())
    return scores.sum(-1, keepdim=True).float()


def double_einsum(q, k, v):
    return flow.einsum("bhqd,bhkd->bhqk", q.double(), k.double()).sum(-1, keepdim=True).float()


def single_einsum(q, k, v):
    return flow.einsum("bhqd,bhkd->bhqk", q, k).sum(-1, keepdim=True)


@pytest.mark.parametrize("beside", [complex_einsum, integer_einsum, double_einsum, single_einsum])
@pytest.mark.parametrize("attend", [old_gpt2, by_einsum])
def test_products_beside_attention_stay(beside, attend, inputs, mask, request):
    def build(q, k, v, mask):
        return attend(q, k, v, mask) + beside(q, k, v)

    alone = [count(results_of(f, inputs, mask)[1], "einsum") for f in (build, attend)]
    expected, _ = results_of(build, inputs, mask)
    request.getfixturevalue("as_on_accelerators")
    found, operations = results_of(build, inputs, mask)
    assert count(operations, "attention") == 1
    assert count(operations, "einsum") == alone[0] - alone[1] > 0
    for mine, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-5, atol=1e-5)


PAIR = flow.placement("cpu", [0, 1])


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.usefixtures("as_on_accelerators")
def test_devices_share_the_primitive_as_what_was_written(dim, inputs, mask):
    expected, _ = results_of(old_gpt2, [x[:, :2] for x in inputs], mask)
    given = [
        x[:, :2].to_global(PAIR, flow.sbp.broadcast).to_global(sbp=flow.sbp.split(dim))
        for x in inputs
    ]
    seen = mask.to_global(PAIR, flow.sbp.broadcast)

    def attend(q, k, v, mask):
        hidden = flow.full([], LOWEST, placement=PAIR, sbp=flow.sbp.broadcast)
        return F.softmax(flow.where(mask, product(q, k) / 2.0, hidden), dim=-1) @ v

    found, operations = results_of(attend, given, seen)
    assert count(operations, "attention") == 1
    for mine, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, plain, rtol=2e-6, atol=2e-6)
