"""`CrossMapLRN2d`, whose windows have as many channels before an element as after it."""

from __future__ import annotations

import numpy as np
import pytest

import oneflow as flow
from tests.nn.twins import random_array


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
def test_windows_of_channels(size):
    x = random_array(2, 6, 2, 3)
    reach = (size - 1) // 2
    total = np.zeros_like(x)
    for channel in range(6):
        window = x[:, max(channel - reach, 0) : channel + reach + 1]
        total[:, channel] = np.square(window).sum(1)
    expected = x / (0.7 + 0.5 / size * total) ** 0.9
    layer = flow.nn.CrossMapLRN2d(size, 0.5, 0.9, 0.7)
    np.testing.assert_allclose(layer(flow.tensor(x)).numpy(), expected, rtol=1e-6)


def test_the_input_must_be_images():
    with pytest.raises(ValueError, match="4D"):
        flow.nn.CrossMapLRN2d(3)(flow.ones(2, 3, 4))
    assert repr(flow.nn.CrossMapLRN2d(3)) == "CrossMapLRN2d(3, alpha=0.0001, beta=0.75, k=1)"
