"""Mixed precision on the CPU gives PyTorch's dtypes in its place, for all operators it knows."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import oneflow as flow
from tests.in_place import enabled, in_place_of

mock = in_place_of("torch")

UNARY = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos sinh cosh "
    "erfinv erf sum mean prod var std norm median abs relu floor sigmoid tanh nanmean nansum"
)
ACTIVATIONS = "gelu softplus logsigmoid silu mish elu dropout"
ALONG = "softmax log_softmax cumsum cumprod logsumexp logcumsumexp"
PRODUCTS = "mm matmul kron nn.functional.linear"
LOSSES = (
    "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy "
    "binary_cross_entropy_with_logits poisson_nll_loss hinge_embedding_loss soft_margin_loss "
    "multilabel_soft_margin_loss"
)
# Each a function of the library, `F`, and of a function that makes a tensor of a shape.
CALLS = {
    **{name: f"t.{name}(m(2, 3))" for name in UNARY.split()},
    **{name: f"F.{name}(m(2, 3))" for name in ACTIVATIONS.split()},
    **{name: f"t.{name}(m(2, 3), 1)" for name in ALONG.split()},
    **{name: f"t.{name}(m(2, 2), m(2, 2))" for name in PRODUCTS.split()},
    **{name: f"F.{name}(m(2, 3), m(2, 3))" for name in LOSSES.split()},
    "softmin": "F.softmin(m(2, 3), -1)",
    "layer_norm": "F.layer_norm(m(2, 3), (3,))",
    "rms_norm": "F.rms_norm(m(2, 3), (3,))",
    "group_norm": "F.group_norm(m(2, 4, 3), 2)",
    "batch_norm": "F.batch_norm(m(2, 4, 3), None, None, training=True)",
    "batch_norm in inference": "F.batch_norm(m(2, 4, 3), m(4), m(4))",
    "instance_norm": "F.instance_norm(m(2, 4, 3))",
    "normalize": "F.normalize(m(2, 3))",
    "pow": "t.pow(m(3), 2.0)",
    "number to a power": "2.0 ** m(3)",
    "power of tensors": "m(3) ** m(3)",
    "atan2": "t.atan2(m(3), m(3))",
    "dist": "t.dist(m(3), m(3))",
    "renorm": "t.renorm(m(3, 2), 2, 0, 1.0)",
    "cosine_similarity": "F.cosine_similarity(m(2, 3), m(2, 3))",
    "pairwise_distance": "F.pairwise_distance(m(2, 3), m(2, 3))",
    "linalg.norm": "t.linalg.norm(m(3))",
    "linalg.vector_norm": "t.linalg.vector_norm(m(3))",
    "linalg.matrix_norm": "t.linalg.matrix_norm(m(3, 3))",
    "addmm": "t.addmm(m(2, 2), m(2, 2), m(2, 2))",
    "linalg.multi_dot": "t.linalg.multi_dot([m(2, 2), m(2, 2)])",
    "linalg.matrix_power": "t.linalg.matrix_power(m(2, 2), 2)",
    "outer": "t.outer(m(2), m(2))",
    "bmm": "t.bmm(m(1, 2, 2), m(1, 2, 2))",
    "addbmm": "t.addbmm(m(2, 2), m(1, 2, 2), m(1, 2, 2))",
    "baddbmm": "t.baddbmm(m(1, 2, 2), m(1, 2, 2), m(1, 2, 2))",
    "einsum": "t.einsum('ij,jk->ik', m(2, 2), m(2, 2))",
    "tensordot": "t.tensordot(m(2, 2), m(2, 2), 1)",
    "conv1d": "F.conv1d(m(1, 1, 3), m(1, 1, 2))",
    "conv2d": "F.conv2d(m(1, 1, 3, 3), m(1, 1, 2, 2), m(1))",
    "conv3d": "F.conv3d(m(1, 1, 3, 3, 3), m(1, 1, 2, 2, 2))",
    "conv_transpose1d": "F.conv_transpose1d(m(1, 1, 3), m(1, 1, 2))",
    "conv_transpose2d": "F.conv_transpose2d(m(1, 1, 3, 3), m(1, 1, 2, 2), m(1))",
    "conv_transpose3d": "F.conv_transpose3d(m(1, 1, 3, 3, 3), m(1, 1, 2, 2, 2))",
    "attention": "F.scaled_dot_product_attention(m(1, 2, 2), m(1, 2, 2), m(1, 2, 2))",
    "mse_loss of all": "F.mse_loss(m(3), m(3), reduction='none')",
    "l1_loss of all": "F.l1_loss(m(3), m(3), reduction='none')",
    "kl_div": "F.kl_div(m(3), m(3), reduction='sum')",
    "nll_loss": "F.nll_loss(m(2, 3), t.tensor([0, 1]))",
    "cross_entropy": "F.cross_entropy(m(2, 3), t.tensor([0, 1]))",
    "cosine_embedding_loss": "F.cosine_embedding_loss(m(2, 3), m(2, 3), t.ones(2))",
    "margin_ranking_loss": "F.margin_ranking_loss(m(3), m(3), m(3))",
    "triplet_margin_loss": "F.triplet_margin_loss(m(2, 3), m(2, 3), m(2, 3))",
    "multi_margin_loss": "F.multi_margin_loss(m(2, 3), t.tensor([0, 1]))",
    "gaussian_nll_loss": "F.gaussian_nll_loss(m(3), m(3), m(3))",
    "avg_pool2d": "F.avg_pool2d(m(1, 1, 4, 4), 2)",
    "max_pool2d": "F.max_pool2d(m(1, 1, 4, 4), 2)",
    "lp_pool2d": "F.lp_pool2d(m(1, 1, 4, 4), 2, 2)",
    "interpolate": "F.interpolate(m(1, 1, 4, 4), scale_factor=2, mode='bilinear')",
    "cat": "t.cat([m(2), t.ones(2)])",
    "add": "m(2) + t.ones(2)",
    "addcmul": "t.addcmul(m(2), m(2), m(2))",
    "cross": "t.linalg.cross(m(3), m(3))",
    "vander": "t.vander(m(3))",
    "cov": "t.cov(m(2, 3))",
}


def _dtype(t: Any, name: str, dtype: str) -> str:
    def ones(*shape: int) -> Any:
        return t.ones(*shape, dtype=getattr(t, dtype))

    with t.autocast("cpu", dtype=t.bfloat16):
        result = eval(CALLS[name], {"t": t, "F": t.nn.functional, "m": ones})
    return str(result.dtype).partition(".")[2]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("name", CALLS)
def test_dtypes_are_those_of_pytorch(name: str, dtype: str) -> None:
    expected = _dtype(torch, name, dtype)
    with enabled():
        assert _dtype(mock, name, dtype) == expected


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "sum", "exp", "linalg.norm"])
def test_oneflow_gives_single_precision(name: str) -> None:
    assert _dtype(flow, name, "bfloat16") == "float32"


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm", "batch_norm in inference"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_norms_of_channels_keep_the_precision(name: str, dtype: str) -> None:
    """As on GPUs, where PyTorch's list of what needs single precision has other norms only."""
    assert _dtype(flow, name, dtype) == _dtype(torch, name, dtype) == dtype
