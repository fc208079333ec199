"""The precision of products of float32 matrices."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import pytest

import oneflow as flow
from oneflow.primitives.operators.matmul import matmul


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = flow.get_float32_matmul_precision()
    yield
    flow.set_float32_matmul_precision(before)


@pytest.mark.parametrize("precision", ["highest", "high", "medium"])
def test_products_are_lowered_with_it(precision):
    flow.set_float32_matmul_precision(precision)
    assert flow.get_float32_matmul_precision() == precision
    x = jnp.ones((2, 2), jnp.float32)
    text = jax.jit(matmul.impl).lower(x, x).as_text()
    assert {"highest": "HIGHEST", "high": "HIGH", "medium": "DEFAULT"}[precision] in text


def test_other_names_have_no_effect():
    before = flow.get_float32_matmul_precision()
    with pytest.warns(UserWarning, match="'exact' has no effect"):
        flow.set_float32_matmul_precision("exact")
    assert flow.get_float32_matmul_precision() == before
