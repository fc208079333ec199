"""Pooling in its form for the CPU."""

import numpy as np
import pytest

from oneflow.primitives.operators.pool import max_pool, max_pool_gradient
from oneflow.primitives.operators.windows import Windows


@pytest.mark.parametrize(("kernel", "stride"), [(2, 2), (3, 2)])
def test_every_window_has_a_maximum_though_its_value_was_rounded_otherwise(
    kernel: int, stride: int
) -> None:
    """XLA may compute what is pooled twice, in loops that round it differently."""
    windows = Windows((1, 2), (kernel,) * 2, (stride,) * 2, ((0, 0),) * 2, (1, 1))._asdict()
    x = np.random.default_rng(0).standard_normal((2, 9, 9, 3)).astype(np.float32)
    out = np.asarray(max_pool.implementation("cpu")(x, **windows))
    rounded = np.nextafter(out, np.float32(9))
    gradient = max_pool_gradient.implementation("cpu")
    result = np.asarray(gradient(np.ones_like(out), x, rounded, **windows))
    assert result.sum() == out.size
    np.testing.assert_array_equal(result, gradient(np.ones_like(out), x, out, **windows))
