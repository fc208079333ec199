"""Operators that have a quicker form on the CPU than the one that XLA has, or JAX makes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from oneflow.primitives.operators.scan import logcumsumexp
from oneflow.primitives.registry import Primitive
from tests.oracle import array_difference

pytestmark = pytest.mark.usefixtures("jax_x64")


class Lowering(NamedTuple):
    """A primitive with arrays, and the equation that takes long.

    Attributes:
        primitive: the primitive.
        arrays: makes its operands.
        attributes: its attributes.
        slow: the name of the equation.
    """

    primitive: Primitive
    arrays: Callable[[np.random.Generator], tuple[np.ndarray, ...]]
    attributes: dict[str, Any]
    slow: str

    def jaxpr(self, function: Callable, *arrays: np.ndarray) -> str:
        """The trace of a function with the attributes."""
        return str(jax.make_jaxpr(lambda *xs: function(*xs, **self.attributes))(*arrays))


def _image_of_infinities(rng):
    x = rng.standard_normal((5, 7, 3)).astype("float32")
    x[0, 0], x[1, 2], x[4, 1, 1] = -np.inf, np.inf, np.nan
    return (x,)


LOWERINGS = {
    "logcumsumexp": Lowering(logcumsumexp, _image_of_infinities, {"dim": 1}, "cumlogsumexp"),
}


@pytest.fixture(params=LOWERINGS.values(), ids=LOWERINGS)
def lowering(request):
    return request.param


def test_the_slow_equation_is_not_in_the_lowering(lowering):
    arrays = lowering.arrays(np.random.default_rng(0))
    assert lowering.slow in lowering.jaxpr(lowering.primitive.impl, *arrays)
    assert lowering.slow not in lowering.jaxpr(lowering.primitive.lowerings["cpu"], *arrays)


def test_the_values_are_those_of_the_definition(lowering):
    arrays = lowering.arrays(np.random.default_rng(0))
    expected = lowering.primitive.impl(*arrays, **lowering.attributes)
    found = lowering.primitive.lowerings["cpu"](*arrays, **lowering.attributes)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert a.dtype == b.dtype
        assert not array_difference(np.asarray(a), np.asarray(b), str(a.dtype), 1.0)
