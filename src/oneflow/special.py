"""Special functions."""

# Generated from the function registry by `tools/make_facades.py` (make stubs).
from oneflow.functional.elementwise.activation import sigmoid as expit
from oneflow.functional.elementwise.bessel import (
    airy_ai as airy_ai,
    bessel_j0 as bessel_j0,
    bessel_j1 as bessel_j1,
    bessel_y0 as bessel_y0,
    bessel_y1 as bessel_y1,
    erfcx as erfcx,
    modified_bessel_k0 as modified_bessel_k0,
    modified_bessel_k1 as modified_bessel_k1,
    scaled_modified_bessel_k0 as scaled_modified_bessel_k0,
    scaled_modified_bessel_k1 as scaled_modified_bessel_k1,
    spherical_bessel_j0 as spherical_bessel_j0,
)
from oneflow.functional.elementwise.binary import xlogy as xlogy
from oneflow.functional.elementwise.polynomials import (
    chebyshev_polynomial_t as chebyshev_polynomial_t,
    chebyshev_polynomial_u as chebyshev_polynomial_u,
    chebyshev_polynomial_v as chebyshev_polynomial_v,
    chebyshev_polynomial_w as chebyshev_polynomial_w,
    hermite_polynomial_h as hermite_polynomial_h,
    hermite_polynomial_he as hermite_polynomial_he,
    laguerre_polynomial_l as laguerre_polynomial_l,
    legendre_polynomial_p as legendre_polynomial_p,
    shifted_chebyshev_polynomial_t as shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u as shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v as shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w as shifted_chebyshev_polynomial_w,
)
from oneflow.functional.elementwise.rounding import round_ as round
from oneflow.functional.elementwise.special import (
    digamma as digamma,
    digamma as psi,
    entr as entr,
    erf as erf,
    erfc as erfc,
    erfinv as erfinv,
    i0 as i0,
    i0 as modified_bessel_i0,
    i0e as i0e,
    i1 as i1,
    i1 as modified_bessel_i1,
    i1e as i1e,
    igamma as gammainc,
    igammac as gammaincc,
    lgamma as gammaln,
    log_ndtr as log_ndtr,
    logit as logit,
    mvlgamma as multigammaln,
    ndtr as ndtr,
    ndtri as ndtri,
    polygamma as polygamma,
    xlog1py as xlog1py,
    zeta as zeta,
)
from oneflow.functional.elementwise.trigonometry import sinc as sinc
from oneflow.functional.elementwise.unary import exp2 as exp2, expm1 as expm1, log1p as log1p
from oneflow.functional.nn.softmax import log_softmax as log_softmax, softmax as softmax
from oneflow.functional.reduce.sums import logsumexp as logsumexp

# fmt: off
__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t",
    "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr",
    "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln",
    "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e", "i1", "i1e",
    "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax", "logit",
    "logsumexp", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
    "modified_bessel_k1", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "sinc", "softmax", "spherical_bessel_j0", "xlog1py", "xlogy",
    "zeta",
]
# fmt: on
