"""Positions that are counted from the front take no steps that count them from the end."""

import jax
import numpy as np
import pytest

from oneflow.primitives.operators.embedding import embedding_backward
from oneflow.primitives.operators.shape import select, select_update, slice_, slice_update

WHOLE, COLUMN, PART = np.zeros((4, 5)), np.zeros(4), np.zeros((4, 2))
AT, CUT = {"dims": (1,)}, {"dims": (1,), "steps": (1,)}
CASES = {
    "select": (select, (WHOLE, 2), AT),
    "select_update": (select_update, (WHOLE, COLUMN, 2), AT),
    "slice": (slice_, (WHOLE, 2), {**CUT, "sizes": (2,)}),
    "slice_update": (slice_update, (WHOLE, PART, 2), CUT),
    "embedding_backward": (
        embedding_backward,
        (PART, np.arange(4)),
        {"rows": 9, "padding": -1, "by_frequency": False},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_no_position_is_counted_from_the_end(name):
    primitive, operands, attributes = CASES[name]
    with jax.disable_jit(), jax.enable_x64(True):
        jaxpr = jax.make_jaxpr(lambda *arrays: primitive.impl(*arrays, **attributes))(*operands)
    steps = {equation.primitive.name for equation in jaxpr.eqns}
    assert "add" not in steps  # of the size
    assert steps & {"dynamic_slice", "dynamic_update_slice", "scatter-add"}
