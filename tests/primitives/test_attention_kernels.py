"""Attention by fused kernels gives what the implementation in blocks gives."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from oneflow.primitives.operators import attention
from oneflow.primitives.operators.attention_blocks import AttentionForm
from oneflow.primitives.operators.attention_kernels import (
    AttentionKernel,
    AttentionSizes,
    CudnnKernel,
    MaskSizes,
    SplashKernel,
    attention_sizes,
)

NUMBERS = (np.float64(0), np.int64(0), np.int64(0))
SCALE = 0.5


class CudnnStandIn(CudnnKernel):
    """The interface of cuDNN's kernel, in JAX's operations."""

    def supports(self, sizes: AttentionSizes) -> bool:
        return True

    def function(self, sizes, scale):
        def scores(q, k, mask):
            q = q.reshape(*q.shape[:2], sizes.groups, sizes.repeats, q.shape[-1])
            found = jnp.einsum("blgre,bsge->bgrls", q, k).reshape(
                sizes.batch, sizes.heads, sizes.queries, sizes.keys
            )
            found = found * scale
            if mask is not None:
                assert mask.ndim == 4
                assert mask.shape[2:] == (sizes.queries, sizes.keys)
                found = jnp.where(mask, found, -jnp.inf) if mask.dtype == bool else found + mask
            if sizes.causal:
                found = jnp.where(jnp.tril(jnp.ones(found.shape[-2:], bool)), found, -jnp.inf)
            return found

        def result_of(q, k, v, *mask):
            found = scores(q, k, mask[0] if mask else None)
            values = jnp.repeat(v, sizes.repeats, axis=2)
            lse = jax.nn.logsumexp(found, axis=-1)
            weights = jax.nn.softmax(found, axis=-1)
            return jnp.einsum("bhls,bshe->blhe", weights, values), lse.astype(jnp.float32)

        kernel = jax.custom_vjp(lambda *given: result_of(*given)[0])

        def forward(*given):
            out, lse = result_of(*given)
            return out, (given, out, lse)

        def backward(kept, g):
            given, out, lse = kept
            found = jax.vjp(lambda *given: result_of(*given)[0], *given)[1](g)
            # Another result or logarithm than what was kept would change the gradients.
            out_error, lse_error = map(jnp.subtract, (out, lse), result_of(*given))
            rows = jnp.any(g != 0, axis=-1)
            error = (out_error * rows[..., None]).sum() + (lse_error * rows.mT).sum()
            return (*[result + error for result in found[:3]], *map(jnp.zeros_like, given[3:]))

        kernel.defvjp(forward, backward)
        return kernel


def tensors(q_shape, k_shape, seed=0):
    rng = np.random.default_rng(seed)
    return [
        jnp.asarray(rng.standard_normal(shape), jnp.float32)
        for shape in (q_shape, k_shape, k_shape, q_shape)
    ]


def results(form, q, k, v, g, mask, causal, grouped, **others):
    """The result, the logarithms and the gradients."""
    flags = {
        **others,
        "scale": SCALE,
        "causal": causal,
        "dropout": False,
        "mask_gradient": False,
        "grouped": grouped,
    }
    given = (q, k, v, *NUMBERS)
    out, lse = attention.forward(form)(*given, *mask, **flags)
    backward = functools.partial(attention.backward(form), lse_gradient=False, **flags)
    return out, lse, *backward(g, *given, out, lse, *mask)


MASKS = {
    "none": None,
    "keys": lambda rng, lengths: rng.random((2, 1, 1, lengths[1])) > 0.3,
    "all": lambda rng, lengths: rng.random((2, 4, *lengths)) > 0.3,
    "unseen": lambda rng, lengths: (
        (rng.random(lengths) > 0.3) & (np.arange(lengths[0]) > 1)[:, None]
    ),
    "added": lambda rng, lengths: np.where(
        (np.arange(lengths[0]) == 1)[:, None], -np.inf, rng.standard_normal((4, *lengths))
    ).astype(np.float32),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("groups", [4, 2])
def test_kernel_operands(mask, groups):
    lengths = (6, 8)
    q, k, v, g = tensors((2, 4, lengths[0], 4), (2, groups, lengths[1], 4))
    made = MASKS[mask]
    masks = () if made is None else (jnp.asarray(made(np.random.default_rng(1), lengths)),)
    kernel = AttentionForm(2**20, kernel=CudnnStandIn())
    expected = results(AttentionForm(2**20), q, k, v, g, masks, False, groups != 4)
    found = results(kernel, q, k, v, g, masks, False, groups != 4)
    for mine, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, plain, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("is_added", [False, True])
@pytest.mark.parametrize("written", [False, True])
def test_first_queries_see_no_key_if_first_keys_are_padding(written, is_added):
    q, k, v, g = tensors((2, 4, 8, 4), (2, 4, 8, 4))
    mask = jnp.arange(8) > jnp.asarray([2, -1])[:, None, None, None]
    masks = (jnp.where(mask, 0, -jnp.inf).astype(jnp.float32) if is_added else mask,)
    given = (q, k, v, g, masks, True, False)
    expected = results(AttentionForm(2**20), *given, written=written)
    found = results(AttentionForm(2**20, kernel=CudnnStandIn()), *given, written=written)
    assert np.isneginf(found[1][0, :, :3]).all()
    for mine, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, plain, rtol=2e-5, atol=2e-5)


def test_hidden_keys_have_a_weight_if_a_query_sees_none():
    q, k, v, g = tensors((2, 4, 6, 4), (2, 4, 8, 4))
    masks = (jnp.asarray(MASKS["unseen"](np.random.default_rng(1), (6, 8))),)
    kernel, lowest = AttentionForm(2**20, kernel=CudnnStandIn()), float(np.finfo("f4").min)
    given = (q, k, v, g, masks, False, False)
    expected = results(AttentionForm(2**20), *given, fill=lowest, written=True)
    found = results(kernel, *given, fill=lowest, written=True)
    np.testing.assert_allclose(
        found[0][..., :2, :], np.broadcast_to(v.mean(-2, keepdims=True), (2, 4, 2, 4)), rtol=1e-5
    )
    for mine, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, plain, rtol=2e-5, atol=2e-5)
    added = (jnp.where(masks[0], 0, lowest).astype(jnp.float32),)
    given = (q, k, v, g, added, False, False)
    expected = results(AttentionForm(2**20), *given, written=True)
    found = results(kernel, *given, written=True)
    for mine, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, plain, rtol=2e-5, atol=2e-5)
    # Keys that have a weight beside others are for no kernel.
    assert attention_sizes(q, k, v, masks[0], False, -1e4) is None


@pytest.mark.parametrize(("groups", "causal"), [(2, True), (1, False)], ids=["causal", "grouped"])
def test_splash_attention(groups, causal):
    q, k, v, g = tensors((1, 2, 128, 64), (1, groups, 128, 64))
    kernel = AttentionForm(2**20, kernel=SplashKernel(interpret=True))
    expected = results(AttentionForm(2**20), q, k, v, g, (), causal, groups != 2)
    found = results(kernel, q, k, v, g, (), causal, groups != 2)
    for mine, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-4, atol=1e-4)


SPLASH_MASKS = {
    "keys": lambda rng, length: rng.random((2, 1, 1, length)) > 0.3,
    "first_keys_are_padding": lambda rng, length: (
        np.arange(length) >= np.array([3, length - 2])[:, None, None, None]
    ),
    "one_sequence_sees_no_key": lambda rng, length: (
        rng.random((2, 1, 1, length)) > np.array([0.3, 2.0])[:, None, None, None]
    ),
    "keys_of_all": lambda rng, length: rng.random((1, length)) > 0.3,
    "one": lambda rng, length: (
        (rng.random((length, length)) > 0.3) & (np.arange(length) > 1)[:, None]
    ),
    "no_block_but_one": lambda rng, length: (
        (np.arange(length) // 128 == 1)[:, None] & (np.arange(length) // 128 == 0)
    ),
    "of_sequences": lambda rng, length: rng.random((2, 1, length, length)) > 0.3,
}


@pytest.mark.parametrize("mask", SPLASH_MASKS)
@pytest.mark.parametrize(
    ("length", "groups", "causal", "written"),
    [(384, 2, True, False), (256, 1, False, True)],
    ids=["causal", "grouped"],
)
def test_splash_attention_with_masks(mask, length, groups, causal, written):
    q, k, v, g = tensors((2, 2, length, 64), (2, groups, length, 64))
    masks = (jnp.asarray(SPLASH_MASKS[mask](np.random.default_rng(1), length)),)
    kernel = AttentionForm(2**20, kernel=SplashKernel(interpret=True))
    given = (q, k, v, g, masks, causal, groups != 2)
    sizes = attention_sizes(q, k, v, *masks, causal) if groups == 2 else None
    assert sizes is None or kernel.kernel.supports(sizes)
    expected = results(AttentionForm(2**20), *given, written=written)
    # Traced, as in a program.
    found = jax.jit(lambda *given: results(kernel, *given, causal, groups != 2, written=written))(
        *given[:5]
    )
    for mine, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-4, atol=1e-4)


def test_hidden_keys_of_splash_attention_have_a_weight_if_a_query_sees_none():
    q, k, v, g = tensors((2, 2, 128, 64), (2, 2, 128, 64))
    lowest = float(np.finfo("f4").min)
    for mask in ("one_sequence_sees_no_key", "one"):
        masks = (jnp.asarray(SPLASH_MASKS[mask](np.random.default_rng(1), 128)),)
        given = (q, k, v, g, masks, False, False)
        expected = results(AttentionForm(2**20), *given, fill=lowest, written=True)
        kernel = AttentionForm(2**20, kernel=SplashKernel(interpret=True))
        found = results(kernel, *given, fill=lowest, written=True)
        for mine, plain in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, plain, rtol=1e-4, atol=1e-4)


SIZES = AttentionSizes(2, 4, 1, 256, 256, 64, jnp.dtype(jnp.bfloat16), True, None)


@pytest.mark.parametrize(
    "change",
    [
        {"queries": 200},
        {"features": 40},
        {"mask": MaskSizes(True, 1, 1, 256)},
        {"mask": MaskSizes(False, 1, 4, 256)},
        {"mask": MaskSizes(False, 2**8, 1, 256), "batch": 2**8},
        {"dtype": jnp.dtype(jnp.float64)},
    ],
    ids=str,
)
def test_splash_attention_needs_whole_blocks(change):
    kernel: AttentionKernel = SplashKernel()
    assert kernel.supports(SIZES)
    assert not kernel.supports(SIZES._replace(**change))


def products(jaxpr):
    """The dtypes of the operands of all products."""
    return {
        invar.aval.dtype.name
        for equation in jaxpr.eqns
        if equation.primitive.name == "dot_general"
        for invar in equation.invars
    }


@pytest.mark.parametrize(("half", "dtypes"), [(True, {"bfloat16"}), (False, {"float32"})])
def test_products_of_the_backward_pass(half, dtypes):
    """Accelerators multiply half precision, as in the forward pass."""
    q, k, v, g = (tensor.astype(jnp.bfloat16) for tensor in tensors((2, 8, 4), (2, 8, 4)))
    flags = {"scale": SCALE, "causal": True, "dropout": False, "mask_gradient": False}
    backward = functools.partial(
        attention.backward(AttentionForm(2**20, half)), lse_gradient=False, **flags
    )
    given = (g, q, k, v, *NUMBERS, q, jnp.zeros(q.shape[:-1]))
    found = products(jax.make_jaxpr(backward)(*given).jaxpr)
    # Scores are those of the forward pass, whose operands are in half precision on all platforms.
    assert found - {"bfloat16"} == dtypes - {"bfloat16"}


@pytest.mark.parametrize(
    ("platform", "kernel", "calls"),
    [
        ("cuda", CudnnKernel(), ["__cudnn$fmhaSoftmax", "__cudnn$fmhaSoftmaxBackward"]),
        ("tpu", SplashKernel(), ["tpu_custom_call"]),
    ],
    ids=["cuda", "tpu"],
)
def test_programs_of_accelerators_call_the_kernels(platform, kernel, calls):
    """The operator's lowerings have no matrix of scores."""
    if not kernel.supports(SIZES):
        pytest.skip("JAX finds no cuDNN: it needs `jax-cuda12-plugin` and NVIDIA's packages")
    q = jax.ShapeDtypeStruct((2, 4, 256, 64), jnp.bfloat16)
    lse = jax.ShapeDtypeStruct(q.shape[:-1], jnp.float32)
    flags = {"scale": SCALE, "causal": True, "dropout": False, "mask_gradient": False}
    forward = functools.partial(attention.attention.implementation(platform), **flags)
    backward = attention.attention_backward.implementation(platform)
    backward = functools.partial(backward, lse_gradient=False, **flags)
    for function, given in ((forward, ()), (backward, (q, lse))):
        operands = (q, q, q, *NUMBERS, *given)
        operands = operands if function is forward else (q, *operands)
        text = jax.jit(function).trace(*operands).lower(lowering_platforms=(platform,)).as_text()
        assert "256x256x" not in text
        assert any(call in text for call in calls)


def test_scores_that_are_computed_again_have_the_same_gradients():
    given = tensors((2, 3, 7, 4), (2, 3, 7, 4))

    def values(form):
        return jax.jit(lambda *given: results(form, *given, (), False, False))(*given)

    stored, again = AttentionForm(2**20), AttentionForm(2**20, recompute_scores=True)
    for result, expected in zip(values(again), values(stored), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("platform", "is_again"), [("cpu", False), ("tpu", True)])
def test_platforms_that_compute_scores_again(platform, is_again):
    """A step of ViT on a v5e moved 2,627 MB with the scores of 197 tokens stored, 1,733 without."""
    q = jax.ShapeDtypeStruct((2, 4, 197, 64), jnp.bfloat16)
    lse = jax.ShapeDtypeStruct(q.shape[:-1], jnp.float32)
    flags = {"scale": SCALE, "causal": False, "dropout": False, "mask_gradient": False}
    backward = attention.attention_backward.implementation(platform)
    backward = functools.partial(backward, lse_gradient=False, **flags)
    traced = jax.jit(backward).trace(q, q, q, q, *NUMBERS, q, lse)
    text = traced.lower(lowering_platforms=(platform,)).as_text()
    assert ("optimization_barrier" in text) is is_again
