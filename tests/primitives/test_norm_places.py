"""Normalisation of groups and channels as GPUs and TPUs compute it."""

import jax
import numpy as np
import pytest

from oneflow.primitives.operators import norm_places
from oneflow.primitives.operators.norm import moments, normalize_gradient

pytestmark = pytest.mark.usefixtures("jax_x64")
# Rows of 256; of a divisor below; of all places; and of what there is.
PLACES = {(64, 64): 256, (509, 3): 509, (211, 211): 211, (8191,): 8191, (4, 5): 20, (1, 1): 1}
GROUPS = [(64, 64), (509, 3), (4, 5), (7,), (1, 1), (2, 3, 6)]


def _groups(places, dtype="float32"):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 4, *places)).astype("float32")
    return np.asarray(jax.numpy.asarray(x, dtype)), tuple(range(2, x.ndim))


@pytest.mark.parametrize(("places", "row"), PLACES.items())
def test_rows_are_parts_of_all_places(places, row):
    assert norm_places._rows(places) == (np.prod(places) // row, row)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("places", GROUPS)
def test_moments_are_those_of_float64(places, grouped, dtype):
    """Moments of groups, and of channels over a batch, as in `batch_norm`."""
    x, dims = _groups(places, dtype)
    if not grouped:
        x = x.reshape(2, 12, *places)
        dims = (0, *range(2, x.ndim))
    mean, variance = moments.impl(x, dims=dims, grouped=grouped)
    exact = x.astype("float64")
    assert mean.dtype == variance.dtype == np.float32
    np.testing.assert_allclose(mean, exact.mean(dims, keepdims=True), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(variance, exact.var(dims, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("places", GROUPS)
def test_moments_of_the_one_part_of_a_device_are_those_of_a_batch(places):
    x, _ = _groups(places)
    x = x.reshape(2, 12, *places)
    dims = (0, *range(2, x.ndim))
    of_part = moments.impl(x[None], dims=tuple(dim + 1 for dim in dims))
    for part, whole in zip(of_part, moments.impl(x, dims=dims), strict=True):
        np.testing.assert_array_equal(part, whole[None])
    form = norm_places.places_of(x.shape, dims, False)
    assert form == norm_places.places_of((1, *x.shape), (1, *range(3, x.ndim + 1)), False)
    assert form is not None


def test_variances_beside_large_means_keep_their_digits():
    x, dims = _groups((64, 64))
    x = x + np.float32(1e6)
    _, variance = moments.impl(x, dims=dims, grouped=True)
    np.testing.assert_allclose(variance, x.astype("float64").var(dims, keepdims=True), rtol=1e-5)


def test_the_first_number_of_rows_may_be_unlike_all_others():
    x, dims = _groups((64, 64))
    x = x * np.float32(1e-3)
    x.reshape(2, 3, 4, -1, 256)[..., 0] = 1e3
    _, variance = moments.impl(x, dims=dims, grouped=True)
    np.testing.assert_allclose(variance, x.astype("float64").var(dims, keepdims=True), rtol=1e-4)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("first", "other"),
    [(np.inf, 0), (0, np.inf), (-np.inf, np.inf), (np.nan, 0), (1e30, 0), (0, 1e30), (3e38, -2e38)],
)
def test_moments_of_infinities_are_those_of_the_cpu(first, other):
    x = np.zeros((1, 1, 2, 4, 5), "float32")
    x[0, 0, 0, 0, 0], x[0, 0, 1, 2, 3] = first, other
    ours = moments.impl(x, dims=(2, 3, 4), grouped=True)
    np.testing.assert_allclose(ours, moments.lowerings["cpu"](x, dims=(2, 3, 4)), rtol=1e-6)


@pytest.mark.parametrize("has_weight", [True, False])
@pytest.mark.parametrize("places", GROUPS)
def test_gradients_are_those_of_the_cpu(places, has_weight):
    x, dims = _groups(places)
    rng = np.random.default_rng(1)
    dy = rng.standard_normal(x.shape).astype("float32")
    shape = (1, 3, 4, *(1,) * len(places)) if has_weight else ()
    weight = np.asarray(rng.standard_normal(shape), "float32")
    statistics = x.mean(dims, keepdims=True), x.var(dims, keepdims=True)
    arguments = dy, x, *statistics, weight, np.float32(1e-5)
    ours = normalize_gradient.impl(*arguments, dims=dims, grouped=True)
    on_cpu = normalize_gradient.lowerings["cpu"](*arguments, dims=dims)
    for mine, other in zip(ours, on_cpu, strict=True):
        assert mine.dtype == other.dtype
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("shape", "dims", "grouped"),
    [((2, 3, 4, 64, 64), (2, 3, 4), True), ((2, 12, 64, 64), (0, 2, 3), False)],
)
def test_activations_are_read_once(shape, dims, grouped):
    """Sums of rows take all numbers, and no other sum does."""
    x = jax.ShapeDtypeStruct(shape, "float32")
    jaxpr = jax.make_jaxpr(lambda x: moments.impl(x, dims=dims, grouped=grouped))(x)
    (call,) = [eqn for eqn in jaxpr.eqns if "jaxpr" in eqn.params]
    equations = call.params["jaxpr"].eqns
    sums = [eqn for eqn in equations if eqn.primitive.name == "reduce_sum"]
    large = [eqn.params["axes"] for eqn in sums if eqn.invars[0].aval.size == 2 * 12 * 4096]
    assert large == [(3,), (3,)]


@pytest.mark.parametrize("grouped", [True, False])
def test_tpus_add_up_batches_themselves(grouped):
    x, dims = _groups((64, 64))
    if not grouped:
        x, dims = x.reshape(2, 12, 64, 64), (0, 2, 3)
    on_tpu, on_gpu = (
        function(x, dims=dims, grouped=grouped)
        for function in (moments.lowerings["tpu"], moments.impl)
    )
    for here, there in zip(on_tpu, on_gpu, strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-5, atol=1e-6)
    text = str(jax.make_jaxpr(lambda x: moments.lowerings["tpu"](x, dims=dims, grouped=grouped))(x))
    assert ("moments_of_places" in text) is grouped
