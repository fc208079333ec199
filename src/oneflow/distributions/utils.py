"""Parameters of distributions, under the path of PyTorch."""

from oneflow.distributions.parameters import (
    broadcast_all as broadcast_all,
    clamp_probs as clamp_probs,
    lazy_property as lazy_property,
    logits_to_probs as logits_to_probs,
    probs_to_logits as probs_to_logits,
    tril_matrix_to_vec as tril_matrix_to_vec,
    vec_to_tril_matrix as vec_to_tril_matrix,
)
