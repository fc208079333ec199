"""Attention and transformers against PyTorch's."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import nn
from oneflow.functional.nn import multi_head_attention
from oneflow.primitives.operators import attention as primitives
from oneflow.primitives.operators.attention_blocks import AttentionForm
from tests.nn.twins import assert_same, assert_twins_agree, both, raised_by, random_array, twin
from tests.oracle import to_flow, to_torch

LENGTH, KEYS, BATCH, SIZE, HEADS = 4, 5, 2, 8, 2
HIDDEN_KEYS = np.array([[False, False, True, False, True], [False, True, False, False, False]])
CAUSAL = np.triu(np.ones((LENGTH, LENGTH), bool), 1)
FUTURE = np.triu(np.ones((LENGTH, KEYS), bool), 1)


def attention_twins(**options):
    return twin(lambda lib: lib.nn.MultiheadAttention(SIZE, HEADS, **options))


def run(module, make, arrays, **masks):
    masks = {
        name: make(mask) if isinstance(mask, np.ndarray) else mask for name, mask in masks.items()
    }
    return module(*[make(array) for array in arrays], **masks)


@pytest.mark.parametrize(
    "options",
    [{}, {"bias": False}, {"kdim": 3, "vdim": 6}, {"add_bias_kv": True, "add_zero_attn": True}],
    ids=str,
)
def test_multi_head_attention(options):
    mine, theirs = attention_twins(**options)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    sizes = (SIZE, options.get("kdim", SIZE), options.get("vdim", SIZE))
    lengths = (LENGTH, KEYS, KEYS)
    inputs = [random_array(n, BATCH, size) for n, size in zip(lengths, sizes, strict=True)]
    assert_twins_agree(
        mine,
        theirs,
        inputs,
    )


@pytest.mark.parametrize("attn_mask", [None, FUTURE, np.stack([FUTURE] * HEADS * BATCH)])
@pytest.mark.parametrize("has_padding", [True, False])
def test_masks_of_truth_values_stay_such(attn_mask, has_padding, monkeypatch):
    dtypes = []

    def attend(q, k, v, mask, *others):
        dtypes.append(None if mask is None else mask.dtype)
        return nn.functional.scaled_dot_product_attention(q, k, v, mask, *others)

    monkeypatch.setattr(multi_head_attention, "scaled_dot_product_attention", attend)
    mine = nn.MultiheadAttention(SIZE, HEADS, batch_first=True).double()
    arrays = [random_array(BATCH, n, SIZE, seed=n) for n in (LENGTH, KEYS, KEYS)]
    padding = HIDDEN_KEYS if has_padding else None
    masks = {"attn_mask": attn_mask, "key_padding_mask": padding}
    (result, _), (expected, _) = (
        run(mine, to_flow, arrays, need_weights=need_weights, **masks)
        for need_weights in (False, True)
    )
    np.testing.assert_allclose(*(x.detach().numpy() for x in (result, expected)), rtol=1e-9)
    is_masked = attn_mask is not None or has_padding
    assert dtypes == [flow.bool if is_masked else None]


@pytest.mark.parametrize("need_weights", [True, False])
def test_masks_and_weights(need_weights):
    mine, theirs = attention_twins(batch_first=True)
    arrays = [random_array(BATCH, n, SIZE, seed=n) for n in (LENGTH, KEYS, KEYS)]
    masks = {
        "key_padding_mask": HIDDEN_KEYS,
        "attn_mask": random_array(LENGTH, KEYS),
        "need_weights": need_weights,
        "average_attn_weights": False,
    }
    results = run(mine, to_flow, arrays, **masks), run(theirs, to_torch, arrays, **masks)
    assert_same(results[0][0], results[1][0])
    if need_weights:
        assert_same(results[0][1], results[1][1], "weights")
    else:
        assert results[0][1] is None


def test_self_attention_without_a_batch():
    mine, theirs = attention_twins()
    x, y = both(random_array(LENGTH, SIZE))
    assert_same(mine(x, x, x), theirs(y, y, y))


LAYER = {"dim_feedforward": 6, "dropout": 0.0}


@pytest.mark.parametrize(
    "options",
    [{}, {"norm_first": True, "batch_first": True, "activation": "gelu", "bias": False}],
    ids=str,
)
def test_encoder(options):
    def make(lib):
        layer = lib.nn.TransformerEncoderLayer(SIZE, HEADS, **LAYER, **options)
        return lib.nn.TransformerEncoder(layer, 2, lib.nn.LayerNorm(SIZE))

    mine, theirs = twin(make)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    shape = (BATCH, LENGTH) if options.get("batch_first") else (LENGTH, BATCH)
    assert_twins_agree(mine, theirs, [random_array(*shape, SIZE)])


def test_transformer():
    mine, theirs = twin(lambda lib: lib.nn.Transformer(SIZE, HEADS, 1, 1, **LAYER))
    assert list(mine.state_dict()) == list(theirs.state_dict())
    source, target = random_array(KEYS, BATCH, SIZE), random_array(LENGTH, BATCH, SIZE)
    masks = {
        "tgt_mask": CAUSAL,
        "src_key_padding_mask": HIDDEN_KEYS,
        "memory_key_padding_mask": HIDDEN_KEYS,
    }
    results = (
        run(mine, to_flow, [source, target], **masks),
        run(theirs, to_torch, [source, target], **masks),
    )
    assert_same(*results)
    mask = flow.nn.Transformer.generate_square_subsequent_mask(3)
    assert_same(mask, torch.nn.Transformer.generate_square_subsequent_mask(3))


def test_layers_of_a_stack_are_independent_copies():
    layer = flow.nn.TransformerEncoderLayer(SIZE, HEADS, **LAYER)
    stack = flow.nn.TransformerEncoder(layer, 2)
    first, second = (block.linear1.weight for block in stack.layers)
    with flow.no_grad():
        first.add_(1.0)
    assert np.allclose(first.numpy() - 1, second.numpy(), atol=1e-6)
    assert np.array_equal(second.numpy(), layer.linear1.weight.numpy())


@pytest.mark.usefixtures("jax_x64")
@pytest.mark.parametrize("dropout", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_blocks_of_queries_change_nothing(causal, dropout):
    """The primitive gives the same values and gradients whether it works in blocks or at once."""
    arrays = [random_array(2, n, 4) for n in (7, 6, 6, 7)]
    mask = [] if causal else [random_array(1, 7, 6)]
    numbers = [np.float64(0.5), np.int64(0), np.int64(0)]
    facts = {"scale": 0.5, "causal": causal, "dropout": dropout, "mask_gradient": not causal}
    results = []
    for limit in (2**20, 30):
        q, k, v, g = arrays
        form = AttentionForm(limit)
        forward = jax.jit(functools.partial(primitives.forward(form), **facts))
        backward = jax.jit(functools.partial(primitives.backward(form), lse_gradient=True, **facts))
        out, logsum = forward(q, k, v, *numbers, *mask)
        grads = backward(g, q, k, v, *numbers, out, logsum, *mask, 0 * logsum)
        results.append([np.asarray(array) for array in (out, logsum, *grads)])
    for whole, blocks in zip(*results, strict=True):
        np.testing.assert_allclose(blocks, whole, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "batches",
    [((2,), (), (3, 2), ()), ((), (1, 2), (3, 1), (2,)), ((3, 1), (2,), (), (3, 2))],
    ids=str,
)
def test_batches_broadcast(batches):
    sizes = (LENGTH, SIZE), (KEYS, SIZE), (KEYS, 3), (LENGTH, KEYS)
    arrays = [
        random_array(*batch, *size, seed=n)
        for n, (batch, size) in enumerate(zip(batches, sizes, strict=True))
    ]

    def results(library, make):
        *inputs, mask = map(make, arrays)
        inputs = [tensor.requires_grad_() for tensor in inputs]
        out = library.nn.functional.scaled_dot_product_attention(*inputs, mask)
        (out * out).sum().backward()
        return [out, *[tensor.grad for tensor in inputs]]

    for mine, theirs in zip(results(flow, to_flow), results(torch, to_torch), strict=True):
        assert_same(mine, theirs)


def test_second_gradient():
    results = []
    for lib, make in ((flow, to_flow), (torch, to_torch)):
        q, k, v, mask = (
            make(random_array(2, *shape)).requires_grad_()
            for shape in ((LENGTH, 3), (KEYS, 3), (KEYS, 3), (LENGTH, KEYS))
        )
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            mixed = lib.nn.functional.scaled_dot_product_attention(q, k, v, mask)
        grads = lib.autograd.grad((mixed**2).sum(), [q, k, v, mask], create_graph=True)
        sum((grad**2).sum() for grad in grads).backward()
        results.append([tensor.grad for tensor in (q, k, v, mask)])
    assert_same(*results, "second gradient")


def test_dropout_drops_weights_and_keeps_their_mean():
    q = flow.zeros(1, 1, 400, 4)
    value = flow.ones(1, 1, 400, 1, requires_grad=True)
    flow.manual_seed(0)
    mixed = flow.nn.functional.scaled_dot_product_attention(q, q, value, dropout_p=0.5)
    mixed.sum().backward()
    assert abs(mixed.mean().item() - 1) < 0.02
    assert mixed.std().item() > 0.02
    # The backward pass draws the same mask: gradients add up to the results.
    assert abs(value.grad.sum().item() - mixed.sum().item()) < 1e-2


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, x: lib.nn.MultiheadAttention(8, 3),
        lambda lib, x: lib.nn.MultiheadAttention(0, 1),
        lambda lib, x: lib.nn.MultiheadAttention(8, 2)(x[..., :4], x, x),
        lambda lib, x: lib.nn.MultiheadAttention(8, 2)(x, x, x, attn_mask=x[:3, 0, :3]),
        lambda lib, x: lib.nn.MultiheadAttention(8, 2)(x, x[0], x),
        lambda lib, x: lib.nn.MultiheadAttention(8, 2)(x[0], x[0], x),
        lambda lib, x: lib.nn.MultiheadAttention(8, 2)(x, x, x, attn_mask=x[0, 0]),
        lambda lib, x: lib.nn.MultiheadAttention(8, 2)(x[0], x[0], x[0], attn_mask=x),
        lambda lib, x: lib.nn.MultiheadAttention(8, 2)(x, x, x, key_padding_mask=x[0, 0] > 0),
        lambda lib, x: lib.nn.MultiheadAttention(8, 2)(x, x, x, is_causal=True),
        lambda lib, x: lib.nn.TransformerEncoderLayer(8, 2, activation="tanh"),
        lambda lib, x: lib.nn.Transformer(6, 2, 1, 1)(x, x),
    ],
)
def test_errors_are_of_pytorchs_type(call):
    x = random_array(LENGTH, BATCH, SIZE).astype(np.float32)
    with pytest.raises(raised_by(lambda: call(torch, to_torch(x)))):
        call(flow, to_flow(x))


def test_the_choice_of_an_implementation_changes_nothing():
    backend = nn.attention.SDPBackend
    q = flow.randn(1, 2, 3, 4)
    expected = nn.functional.scaled_dot_product_attention(q, q, q)
    for chosen in (backend.MATH, [backend.FLASH_ATTENTION, backend.EFFICIENT_ATTENTION]):
        with nn.attention.sdpa_kernel(chosen):
            assert nn.functional.scaled_dot_product_attention(q, q, q).equal(expected)
    with pytest.raises(TypeError, match="SDPBackend"):
        nn.attention.sdpa_kernel("math").__enter__()
    assert {member.name: member.value for member in backend} == {
        name: member.value for name, member in torch.nn.attention.SDPBackend.__members__.items()
    }
