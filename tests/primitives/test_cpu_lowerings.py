"""Operators that have a quicker form on the CPU than the one that XLA has, or JAX makes."""

import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from oneflow.primitives.operation import default_rule
from oneflow.primitives.operators.distance import euclidean_distances, euclidean_distances_x
from oneflow.primitives.operators.grid_sample import deform_patches, grid_sample
from oneflow.primitives.operators.indexing import out_of_range
from oneflow.primitives.operators.norm import moments, normalize_gradient
from oneflow.primitives.operators.rearrange import roll
from oneflow.primitives.operators.resample import Resampling, resample
from oneflow.primitives.operators.sampling import _exact_sums, random_multinomial
from oneflow.primitives.operators.scan import cummax, cummin, cumprod, cumsum, logcumsumexp
from oneflow.primitives.operators.scatter import (
    scatter,
    scatter_add,
    scatter_amax,
    scatter_multiply,
)
from oneflow.primitives.operators.statistics import quantile
from oneflow.primitives.registry import Primitive
from tests.oracle import array_difference

pytestmark = pytest.mark.usefixtures("jax_x64")


class Lowering(NamedTuple):
    """A primitive with arrays, and the equation that takes long.

    Attributes:
        primitive: the primitive.
        arrays: makes its operands.
        attributes: its attributes.
        slow: a pattern of the equation.
    """

    primitive: Primitive
    arrays: Callable[[np.random.Generator], tuple[np.ndarray, ...]]
    attributes: dict[str, Any]
    slow: str

    def jaxpr(self, function: Callable, *arrays: np.ndarray) -> str:
        """The trace of a function with the attributes."""
        return str(jax.make_jaxpr(lambda *xs: function(*xs, **self.attributes))(*arrays))


def _image_of_infinities(rng):
    x = rng.standard_normal((9, 7, 8)).astype("float32")
    x[0, 0], x[1, 2], x[4, 1, 1] = -np.inf, np.inf, np.nan
    return (x,)


def _integers(rng):
    return (rng.integers(-3, 4, (5, 40)),)


def _images(rng):
    return (1e3 + rng.standard_normal((2, 3, 4, 5)).astype("float32"),)


def _weights(rng):
    weights = rng.random((3, 20)).astype("float32")
    weights[:, ::3] = 0
    return weights, np.int64(5), np.int64(7)


def _numbers_and_shares(rng):
    return rng.standard_normal((2**12, 4)).astype("float32"), np.float32([0.3, 0.8])


def _images_and_shifts(rng):
    return rng.standard_normal((2, 5, 1, 7, 3)), np.int64(-3), np.int64(9), np.int64(1)


def _rows_and_moments(rng):
    dy, x = rng.standard_normal((2, 3, 40, 5)).astype("float32")
    dy[0, 1], x[1, 2, 3] = np.inf, np.nan
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return dy, x, mean, variance, np.float32([[[1, 2, 0, -1, 3]]]), np.float32(1e-5)


def _images_and_grid(rng):
    x = rng.standard_normal((2, 3, 5, 4)).astype("float32")
    grid = rng.uniform(-1.5, 1.5, (2, 3, 6, 2)).astype("float32")
    x[0, 1, 2, 3], grid[0, 0, 0], grid[1, 2, 3] = np.inf, np.nan, np.inf
    return x, grid


def _images_and_offsets(rng):
    x = rng.standard_normal((2, 4, 5, 6)).astype("float32")
    return x, rng.uniform(-2, 2, (2, 2 * 9 * 2, 5, 6)).astype("float32")


def _rows_and_positions(rng):
    """Fewer rows than there are, and positions that occur twice; two are behind the end."""
    x, source = rng.standard_normal((4, 7)), rng.standard_normal((3, 9))
    positions = rng.integers(0, 7, (3, 9))
    positions[1, 2], positions[2, 0] = 7, 8
    return x.astype("float32"), source.astype("float32"), positions


def _rows_and_distinct_positions(rng):
    x, source, _ = _rows_and_positions(rng)
    return x, source[:, :7], rng.permuted(np.tile(np.arange(7), (3, 1)), axis=1)


def _truth_and_positions(rng):
    x, source, positions = _rows_and_positions(rng)
    return x > 0, source > 0, positions


def _rows_with_infinities(rng):
    x, y = rng.standard_normal((2, 130, 3)).astype("float32")
    x[5, 1], y[7, 2], x[9] = np.inf, np.nan, y[11]
    return x, y


def _long_rows(rng):
    """Rows of more features than are added up at once, and some over."""
    x, y = rng.standard_normal((2, 2, 130, 37)).astype("float32")
    x[0, 5, 1], y[1, 7, 36], x[0, 9] = np.inf, np.nan, y[0, 11]
    return x, y


def _rows_and_distances(rng):
    x, y = _rows_with_infinities(rng)
    distances = np.asarray(euclidean_distances.impl(x, y))
    return rng.standard_normal((130, 130)).astype("float32"), x, y, distances


def _long_row(rng):
    """A sum of so many elements that it is a tree of partial ones, which are exact."""
    return (rng.integers(-9, 9, 1003).astype("float32"),)


_OF_KERNEL = {"kernel": (3, 3), "stride": (1, 1), "padding": (1, 1), "dilation": (1, 1)}
_OF_GRID = {"mode": "bilinear", "padding_mode": "zeros", "align_corners": False}
_OF_COLUMNS = {"dim": 0, "keepdim": False, "interpolation": "linear", "skip_nan": False}
_PAIRS_OF_POSITIONS = r"i(32|64)\[3,[79],2\]"
_ALL_DIFFERENCES = r"f32\[130,130,3\]"
LOWERINGS = {
    "cdist": Lowering(euclidean_distances, _rows_with_infinities, {}, _ALL_DIFFERENCES),
    "cdist of long rows": Lowering(euclidean_distances, _long_rows, {}, r"f32\[2,130,130,37\]"),
    "cdist_gradient": Lowering(euclidean_distances_x, _rows_and_distances, {}, _ALL_DIFFERENCES),
    "scatter": Lowering(scatter, _rows_and_distinct_positions, {"dim": 1}, _PAIRS_OF_POSITIONS),
    "scatter_add": Lowering(scatter_add, _rows_and_positions, {"dim": 1}, _PAIRS_OF_POSITIONS),
    "scatter_add of truth": Lowering(
        scatter_add, _truth_and_positions, {"dim": 1}, _PAIRS_OF_POSITIONS
    ),
    "scatter_amax of columns": Lowering(
        scatter_amax,
        lambda rng: tuple(array.T for array in _rows_and_positions(rng)),
        {"dim": 0},
        r"i(32|64)\[9,3,2\]",
    ),
    "scatter_multiply": Lowering(
        scatter_multiply, _rows_and_positions, {"dim": 1}, _PAIRS_OF_POSITIONS
    ),
    "multinomial": Lowering(
        random_multinomial, _weights, {"count": 4, "replacement": False}, r"f32\[[^=]* = sort\["
    ),
    "multinomial with replacement": Lowering(
        random_multinomial, _weights, {"count": 9, "replacement": True}, r"= cum(sum|max)\["
    ),
    "cummax": Lowering(cummax, _image_of_infinities, {"dim": 1}, r"= pad\["),
    "cummax of a row": Lowering(cummax, _long_row, {"dim": 0}, r"= pad\["),
    "cummin": Lowering(cummin, _image_of_infinities, {"dim": 2}, r"= pad\["),
    "cummin of integers": Lowering(cummin, _integers, {"dim": 1}, r"= pad\["),
    "cumsum": Lowering(cumsum, _image_of_infinities, {"dim": 1}, "cumsum"),
    "cumsum of a row": Lowering(cumsum, _long_row, {"dim": 0, "reverse": True}, "cumsum"),
    "cumprod": Lowering(cumprod, _image_of_infinities, {"dim": 2}, "cumprod"),
    "logcumsumexp": Lowering(logcumsumexp, _image_of_infinities, {"dim": 1}, "cumlogsumexp"),
    "logcumsumexp of a row": Lowering(logcumsumexp, _long_row, {"dim": 0}, "cumlogsumexp"),
    "grid_sample": Lowering(grid_sample, _images_and_grid, _OF_GRID, r"f32\[2,3,18\] = gather"),
    "deform_patches": Lowering(
        deform_patches,
        _images_and_offsets,
        {**_OF_KERNEL, "groups": 2},
        r"f32\[4,2,270\] = gather",
    ),
    "moments": Lowering(moments, _images, {"dims": (2, 3)}, r"= square [^\n]*\n[^\n]*= reduce_sum"),
    "moments of channels": Lowering(
        moments, _images, {"dims": (0, 2, 3)}, r"= square [^\n]*\n[^\n]*= reduce_sum"
    ),
    "normalize": Lowering(
        normalize_gradient, _rows_and_moments, {"dims": (2,)}, r"f32\[3,40\] = reduce_sum"
    ),
    "roll": Lowering(roll, _images_and_shifts, {"dims": (1, 3, 1)}, "concatenate"),
    "quantile": Lowering(quantile, _numbers_and_shares, _OF_COLUMNS, r"= sort\["),
}


@pytest.fixture(params=LOWERINGS.values(), ids=LOWERINGS)
def lowering(request):
    return request.param


def test_the_slow_equation_is_not_in_the_lowering(lowering):
    arrays = lowering.arrays(np.random.default_rng(0))
    assert re.search(lowering.slow, lowering.jaxpr(lowering.primitive.impl, *arrays))
    found = lowering.jaxpr(lowering.primitive.lowerings["cpu"], *arrays)
    assert not re.search(lowering.slow, found)


def test_the_values_are_those_of_the_definition(lowering):
    arrays = lowering.arrays(np.random.default_rng(0))
    expected = lowering.primitive.impl(*arrays, **lowering.attributes)
    found = lowering.primitive.lowerings["cpu"](*arrays, **lowering.attributes)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert a.dtype == b.dtype
        assert not array_difference(np.asarray(a), np.asarray(b), str(a.dtype), 1.0)


@pytest.mark.parametrize("bad", [{}, {0: -1}, {4999: 8}, {4998: 2**40, 77: -9, 78: 9}], ids=str)
@pytest.mark.parametrize("count", [5000, 79])
def test_the_check_of_positions_tells_the_first_that_is_out_of_range(bad, count):
    positions = np.random.default_rng(0).integers(0, 8, 5000)
    positions[list(bad)] = list(bad.values())
    wrong = [position for position in positions[:count] if not 0 <= position < 8]
    is_any, first = out_of_range(positions[:count], 0, 8)
    assert is_any == bool(wrong)
    assert not wrong or first == wrong[0]


def test_the_gradient_of_an_extreme_so_far_is_that_of_the_lowering():
    assert default_rule(cummax) is not None  # makes the primitive
    derived = cummax._vjp
    attributes = {"argnums": (0,), "outputs": (0,), "inputs": 1, "attributes": (("dim", 1),)}
    (x,) = _integers(np.random.default_rng(0))
    x, g = x.astype("float32"), np.ones(x.shape, "float32")
    expected, found = (
        f(x, g, **attributes)[0] for f in (derived.impl, derived.implementation("cpu"))
    )
    assert np.array_equal(found, expected)
    traced = jax.make_jaxpr(lambda *xs: derived.implementation("cpu")(*xs, **attributes))(x, g)
    assert "running_argmax" in str(traced)


def test_draws_do_not_depend_on_the_number_of_rows():
    """A rank has some rows of a global tensor; few long rows are added up in another order."""
    row = np.random.default_rng(0).random((1, 5000)).astype("float32")
    draw = random_multinomial.lowerings["cpu"]
    sums = []
    for rows in (1, 64):
        weights = np.repeat(row, rows, axis=0)
        jaxpr = jax.make_jaxpr(functools.partial(draw, count=1, replacement=True))(
            weights, np.int64(5), np.int64(7)
        )
        assert "f64" in re.search(r"\w+:(\w+)\[[^=]*= running_sum", str(jaxpr))[1]
        sums.append(np.asarray(jax.jit(functools.partial(_exact_sums, dim=1))(weights))[0])
    assert np.array_equal(*sums)


def test_the_gradient_of_a_quantile_is_that_of_the_lowering():
    x, q = _numbers_and_shares(np.random.default_rng(0))
    vjp = default_rule(quantile)  # makes the primitive
    assert vjp is not None
    derived, g = quantile._vjp, np.ones((2, 4), "float32")
    attributes = {
        "argnums": (0,),
        "outputs": (0,),
        "inputs": 2,
        "attributes": tuple(_OF_COLUMNS.items()),
    }
    traced = [
        jax.make_jaxpr(lambda *xs, f=f: f(*xs, **attributes))(x, q, g)
        for f in (derived.impl, derived.implementation("cpu"))
    ]
    assert ["sort[" in str(jaxpr) for jaxpr in traced] == [True, False]
    expected, found = (
        f(x, q, g, **attributes)[0] for f in (derived.impl, derived.lowerings["cpu"])
    )
    assert np.array_equal(found, expected)


def test_a_resampled_image_lies_in_memory_as_the_operand_does():
    """Both are stored by calls that nothing is fused with, here and in the adjoint."""
    resampling = Resampling("linear", 4, 8)
    for candidate, size in ((resampling, 4), (resampling.transposed(), 8)):
        operand = np.ones((2, 3, size), "float32")
        function = functools.partial(resample.lowerings["cpu"], dim=2, resampling=candidate)
        equations = jax.make_jaxpr(function)(operand).eqns
        calls = [equation for equation in equations if equation.params.get("name") == "_call"]
        shapes = [equation.outvars[0].aval.shape for equation in calls]
        assert shapes == [operand.shape, (2, 3, 12 - size)]
