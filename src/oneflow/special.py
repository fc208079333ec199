"""Special functions."""

# Generated from the function registry by `tools/make_facades.py` (make stubs).
from oneflow.functional.elementwise.activation import sigmoid as expit
from oneflow.functional.elementwise.binary import xlogy as xlogy
from oneflow.functional.elementwise.rounding import round_ as round
from oneflow.functional.elementwise.special import (
    digamma as digamma,
    digamma as psi,
    entr as entr,
    erf as erf,
    erfc as erfc,
    erfinv as erfinv,
    i0 as i0,
    i0e as i0e,
    i1 as i1,
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
    "digamma", "entr", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc",
    "gammaln", "i0", "i0e", "i1", "i1e", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp",
    "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round", "sinc", "softmax", "xlog1py",
    "xlogy", "zeta",
]
# fmt: on
