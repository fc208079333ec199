"""Special functions agree with SciPy's, and their gradients with differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.special

import oneflow as flow

EVERYWHERE = np.concatenate([np.geomspace(1e-6, 300, 401), -np.geomspace(1e-6, 25, 201)])
ABOVE = np.geomspace(1e-6, 300, 401)
BESSEL: dict[str, tuple[Callable, np.ndarray]] = {
    "airy_ai": (lambda x: scipy.special.airy(x)[0], EVERYWHERE),
    "bessel_j0": (scipy.special.j0, EVERYWHERE),
    "bessel_j1": (scipy.special.j1, EVERYWHERE),
    "bessel_y0": (scipy.special.y0, ABOVE),
    "bessel_y1": (scipy.special.y1, ABOVE),
    "erfcx": (scipy.special.erfcx, EVERYWHERE[EVERYWHERE > -3]),
    "modified_bessel_k0": (scipy.special.k0, ABOVE),
    "modified_bessel_k1": (scipy.special.k1, ABOVE),
    "scaled_modified_bessel_k0": (scipy.special.k0e, ABOVE),
    "scaled_modified_bessel_k1": (scipy.special.k1e, ABOVE),
    "spherical_bessel_j0": (lambda x: scipy.special.spherical_jn(0, np.abs(x)), EVERYWHERE),
}
POLYNOMIALS = {
    "chebyshev_polynomial_t": scipy.special.chebyt,
    "chebyshev_polynomial_u": scipy.special.chebyu,
    "hermite_polynomial_h": scipy.special.hermite,
    "hermite_polynomial_he": scipy.special.hermitenorm,
    "laguerre_polynomial_l": scipy.special.laguerre,
    "legendre_polynomial_p": scipy.special.legendre,
    "shifted_chebyshev_polynomial_t": scipy.special.sh_chebyt,
    "shifted_chebyshev_polynomial_u": scipy.special.sh_chebyu,
}


@pytest.mark.parametrize("name", BESSEL)
def test_values_are_exact_to_rounding(name: str) -> None:
    reference, numbers = BESSEL[name]
    function = getattr(flow.special, name)
    expected = reference(numbers)
    np.testing.assert_allclose(function(flow.tensor(numbers)).numpy(), expected, 2e-13, 1e-13)
    single = numbers.astype(np.float32)
    rounded = reference(single.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(function(flow.tensor(single)).numpy(), rounded, 2e-7, 1e-9)


@pytest.mark.parametrize("name", BESSEL)
def test_gradients_are_the_slopes(name: str) -> None:
    reference, numbers = BESSEL[name]
    x = numbers[(np.abs(numbers) > 0.1) & (np.abs(numbers) < 24)]
    given = flow.tensor(x, requires_grad=True)
    (slope,) = flow.autograd.grad(getattr(flow.special, name)(given).sum(), given)
    step = 1e-3 * np.minimum(np.abs(x), 1)
    # Four values cancel all errors up to the fourth power of the step.
    near, far = (reference(x + k * step) - reference(x - k * step) for k in (1, 2))
    expected = (8 * near - far) / (12 * step)
    np.testing.assert_allclose(slope.numpy(), expected, 1e-8, 1e-8)


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_derivatives_of_polynomials(name: str) -> None:
    degrees, numbers = range(7), np.linspace(-2, 3, 11)
    x = flow.tensor(numbers, requires_grad=True)
    for degree in degrees:
        reference = POLYNOMIALS[name](degree)
        value = getattr(flow.special, name)(x, degree)
        (slope,) = flow.autograd.grad(value.sum(), x, create_graph=True)
        (curvature,) = flow.autograd.grad(slope.sum(), x)
        for order, found in enumerate((value, slope, curvature)):
            expected = np.polynomial.Polynomial(reference.coeffs[::-1]).deriv(order)(numbers)
            np.testing.assert_allclose(found.detach().numpy(), expected, 1e-9, 1e-7)


def test_what_is_no_degree_gives_no_number() -> None:
    degrees = flow.tensor([float("nan"), float("inf"), -float("inf"), 1e9])
    assert flow.special.legendre_polynomial_p(flow.tensor(0.5), degrees).isnan().all()


def test_half_precision_is_rounded_once() -> None:
    x = flow.linspace(0.1, 30, 50).half()
    for name in ("bessel_j0", "airy_ai", "scaled_modified_bessel_k1"):
        function = getattr(flow.special, name)
        assert (function(x) == function(x.double()).half()).all()
