"""Which operators automatic mixed precision runs in which precision: the whole list.

Operators in neither class take what they get.
"""

from __future__ import annotations

from oneflow.primitives.operators import (
    activation as activation,
    attention as attention,
    conv as conv,
    cross_entropy as cross_entropy,
    ctc as ctc,
    distance as distance,
    einsum as einsum,
    elementwise as elementwise,
    loss as loss,
    matmul as matmul,
    norm as norm,
    reduce as reduce,
    scan as scan,
    softmax as softmax,
    special as special,
    statistics as statistics,
)

# Products and convolutions: they take most of the time, and half precision is enough for them.
HALF = frozenset(
    {
        matmul.matmul,
        matmul.linear,
        matmul.linear_no_bias,
        matmul.bilinear,
        einsum.einsum,
        conv.conv,
        attention.attention,
    }
)

# What loses too many digits, or overflows, in half precision.
FULL = frozenset(
    {
        *(elementwise.exp, elementwise.exp2, elementwise.expm1, elementwise.pow_),
        *(elementwise.log, elementwise.log2, elementwise.log10, elementwise.log1p),
        *(elementwise.reciprocal, elementwise.rsqrt),
        *(special.tan, special.asin, special.acos, special.sinh, special.cosh, special.erfinv),
        *(activation.softplus, activation.log_sigmoid),
        *(softmax.softmax, softmax.log_softmax, reduce.logsumexp),
        *(reduce.sum_, reduce.mean, reduce.prod, scan.cumsum, scan.cumprod, scan.logcumsumexp),
        *(statistics.var, statistics.std, statistics.norm, statistics.norm2),
        *(norm.moments, norm.normalize, norm.normalize_fixed),
        *(distance.cosine_similarity, distance.pairwise_distance),
        *(distance.l2_normalize, loss.cosine_embedding, loss.triplet_margin),
        *(cross_entropy.cross_entropy, cross_entropy.cross_entropy_probabilities),
        *(cross_entropy.nll, ctc.ctc, loss.smooth_l1, loss.huber, loss.soft_margin),
        *(loss.binary_cross_entropy, loss.binary_cross_entropy_with_logits),
        *(loss.kl_div, loss.kl_div_log, loss.poisson_nll, loss.gaussian_nll),
        *(loss.margin_ranking, loss.hinge_embedding, loss.multi_margin),
        *(loss.multilabel_margin, loss.multilabel_soft_margin, loss.combined_margin),
    }
)
