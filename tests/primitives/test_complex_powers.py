"""Powers of complex numbers where the logarithm, by which they are computed, has no value."""

from __future__ import annotations

import pytest

import oneflow as flow

EXPONENTS = [0.5 + 0.5j, 1 - 0.2j, 2 + 0j]


@pytest.mark.parametrize("dtype", [flow.complex64, flow.complex128])
def test_powers_of_zero_are_zero(dtype):
    exponents = flow.tensor(EXPONENTS, dtype=dtype, requires_grad=True)
    powers = flow.zeros(3, dtype=dtype) ** exponents
    assert powers.tolist() == [0, 0, 0]
    flow.view_as_real(powers).sum().backward()
    assert exponents.grad.tolist() == [0, 0, 0]
