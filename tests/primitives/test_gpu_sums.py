"""Sums over leading dimensions as GPUs compute them: in stages."""

import jax
import numpy as np
import pytest

from oneflow.base.dtype import float64
from oneflow.primitives.operators.reduce import sum_, sum_to

pytestmark = pytest.mark.usefixtures("jax_x64")
# Shapes, and whether stages of rows are added up.
SHAPES = {(4096, 32): True, (4, 1024, 8, 8): True, (13, 197, 40): True, (509, 32): False}
SHAPES |= {(3079, 32): False, (1024, 32): False, (4096, 3): False, (0, 32): False}


def _numbers(shape, dtype):
    """Integers, whose sums have no rounding errors."""
    numbers = np.random.default_rng(0).integers(-4, 5, shape)
    return np.asarray(jax.numpy.asarray(numbers, dtype))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "complex64", "bool"])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_are_those_of_other_platforms(shape, dtype):
    x, dims = _numbers(shape, dtype), tuple(range(2 if len(shape) > 2 else 1))
    for keepdim in (False, True):
        options = {"dims": dims, "keepdim": keepdim}
        if dtype in ("bool", "int32"):
            options["dtype"] = float64
        ours, other = sum_.lowerings["cuda"](x, **options), sum_.impl(x, **options)
        assert ours.dtype == other.dtype
        np.testing.assert_array_equal(ours, other)
    if dtype != "bool":
        to = {"shape": (1,) * (len(dims) - 1) + shape[len(dims) :]}
        np.testing.assert_array_equal(sum_to.lowerings["cuda"](x, **to), sum_to.impl(x, **to))


@pytest.mark.parametrize("dims", [(1,), (0, 2), (0, 1, 2), ()])
def test_other_sums_are_as_they_were(dims):
    x = _numbers((512, 3, 64), "float32")
    ours = sum_.lowerings["cuda"](x, dims=dims)
    np.testing.assert_array_equal(ours, sum_.impl(x, dims=dims))


@pytest.mark.parametrize(("shape", "has_stages"), SHAPES.items())
def test_many_rows_are_added_up_in_stages(shape, has_stages):
    dims = tuple(range(2 if len(shape) > 2 else 1))
    x = jax.ShapeDtypeStruct(shape, "float32")
    jaxpr = jax.make_jaxpr(lambda x: sum_.lowerings["cuda"](x, dims=dims))(x)
    sums = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "reduce_sum"]
    assert len(sums) == 1 + has_stages
