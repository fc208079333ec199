"""Layers and losses as functions: re-exported from `oneflow.functional`."""

from oneflow.nn.modules.upsampling import upsample as upsample
from oneflow.tensor.tensor import Tensor as Tensor

# isort: split
# Generated from the function registry by `tools/make_facades.py` (make stubs).
from oneflow.functional.elementwise.activation import (
    celu as celu,
    celu_ as celu_,
    elu as elu,
    elu_ as elu_,
    gelu as gelu,
    leaky_relu as leaky_relu,
    leaky_relu_ as leaky_relu_,
    logsigmoid as log_sigmoid,
    logsigmoid as logsigmoid,
    mish as mish,
    prelu as prelu,
    quick_gelu as quick_gelu,
    relu as relu,
    rrelu as rrelu,
    rrelu_ as rrelu_,
    selu as selu,
    selu_ as selu_,
    sigmoid as sigmoid,
    silu as silu,
    softplus as softplus,
    softsign as softsign,
    square_relu as square_relu,
    tanh as tanh,
    tanhshrink as tanhshrink,
)
from oneflow.functional.elementwise.piecewise import (
    hardshrink as hardshrink,
    hardsigmoid as hardsigmoid,
    hardswish as hardswish,
    hardtanh as hardtanh,
    hardtanh_ as hardtanh_,
    relu6 as relu6,
    softshrink as softshrink,
    threshold as threshold,
    threshold_ as threshold_,
)
from oneflow.functional.index.search import one_hot as one_hot
from oneflow.functional.linalg.grouped import grouped_mm as grouped_mm
from oneflow.functional.linalg.norms import pdist as pdist
from oneflow.functional.nn.adaptive_pooling import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
    adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_avg_pool3d as adaptive_avg_pool3d,
    adaptive_max_pool1d as adaptive_max_pool1d,
    adaptive_max_pool2d as adaptive_max_pool2d,
    adaptive_max_pool3d as adaptive_max_pool3d,
)
from oneflow.functional.nn.attention import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from oneflow.functional.nn.conv import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
    conv_transpose3d as conv_transpose3d,
)
from oneflow.functional.nn.ctc import ctc_greedy_decoder as ctc_greedy_decoder, ctc_loss as ctc_loss
from oneflow.functional.nn.deform_conv import deform_conv2d as deform_conv2d
from oneflow.functional.nn.dense import bilinear as bilinear, linear as linear
from oneflow.functional.nn.distance import (
    cosine_similarity as cosine_similarity,
    l2_normalize as l2_normalize,
    normalize as normalize,
    pairwise_distance as pairwise_distance,
)
from oneflow.functional.nn.dropout import (
    alpha_dropout as alpha_dropout,
    dropout as dropout,
    dropout1d as dropout1d,
    dropout2d as dropout2d,
    dropout3d as dropout3d,
    feature_alpha_dropout as feature_alpha_dropout,
)
from oneflow.functional.nn.elementwise_loss import (
    binary_cross_entropy as binary_cross_entropy,
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    gaussian_nll_loss as gaussian_nll_loss,
    huber_loss as huber_loss,
    kl_div as kl_div,
    l1_loss as l1_loss,
    mse_loss as mse_loss,
    poisson_nll_loss as poisson_nll_loss,
    smooth_l1_loss as smooth_l1_loss,
    soft_margin_loss as soft_margin_loss,
)
from oneflow.functional.nn.embedding import embedding as embedding, embedding_bag as embedding_bag
from oneflow.functional.nn.fractional_pooling import (
    fractional_max_pool2d as fractional_max_pool2d,
    fractional_max_pool3d as fractional_max_pool3d,
)
from oneflow.functional.nn.interpolate import (
    affine_grid as affine_grid,
    grid_sample as grid_sample,
    interpolate as interpolate,
    interpolate_like as interpolate_like,
)
from oneflow.functional.nn.linear_cross_entropy import linear_cross_entropy as linear_cross_entropy
from oneflow.functional.nn.loss import (
    cross_entropy as cross_entropy,
    nll_loss as nll_loss,
    sparse_softmax_cross_entropy as sparse_softmax_cross_entropy,
)
from oneflow.functional.nn.margin_loss import (
    combined_margin_loss as combined_margin_loss,
    cosine_embedding_loss as cosine_embedding_loss,
    hinge_embedding_loss as hinge_embedding_loss,
    margin_ranking_loss as margin_ranking_loss,
    multi_margin_loss as multi_margin_loss,
    multilabel_margin_loss as multilabel_margin_loss,
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
    triplet_margin_loss as triplet_margin_loss,
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from oneflow.functional.nn.multi_head_attention import (
    multi_head_attention_forward as multi_head_attention_forward,
)
from oneflow.functional.nn.norm_pooling import (
    lp_pool1d as lp_pool1d,
    lp_pool2d as lp_pool2d,
    lp_pool3d as lp_pool3d,
)
from oneflow.functional.nn.normalization import (
    batch_norm as batch_norm,
    group_norm as group_norm,
    instance_norm as instance_norm,
    layer_norm as layer_norm,
    local_response_norm as local_response_norm,
    rms_norm as rms_norm,
)
from oneflow.functional.nn.padding import pad as pad
from oneflow.functional.nn.patches import (
    channel_shuffle as channel_shuffle,
    fold as fold,
    pixel_shuffle as pixel_shuffle,
    pixel_unshuffle as pixel_unshuffle,
    unfold as unfold,
)
from oneflow.functional.nn.pooling import (
    avg_pool1d as avg_pool1d,
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    max_pool1d as max_pool1d,
    max_pool2d as max_pool2d,
    max_pool3d as max_pool3d,
)
from oneflow.functional.nn.pooling_with_indices import (
    adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices,
    fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices,
    fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices,
    max_pool1d_with_indices as max_pool1d_with_indices,
    max_pool2d_with_indices as max_pool2d_with_indices,
    max_pool3d_with_indices as max_pool3d_with_indices,
)
from oneflow.functional.nn.softmax import (
    glu as glu,
    gumbel_softmax as gumbel_softmax,
    log_softmax as log_softmax,
    softmax as softmax,
    softmin as softmin,
)
from oneflow.functional.nn.unpool import (
    max_unpool1d as max_unpool1d,
    max_unpool2d as max_unpool2d,
    max_unpool3d as max_unpool3d,
)
from oneflow.functional.nn.upsample import (
    upsample_bilinear as upsample_bilinear,
    upsample_nearest as upsample_nearest,
)
from oneflow.legacy_functions.arrays import depend as depend

relu_ = Tensor.relu_

# fmt: off
__all__ = [
    "Tensor", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
    "adaptive_max_pool1d", "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices",
    "affine_grid", "alpha_dropout", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm",
    "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "celu_",
    "channel_shuffle", "combined_margin_loss", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss", "cosine_similarity",
    "cross_entropy", "ctc_greedy_decoder", "ctc_loss", "deform_conv2d", "depend", "dropout",
    "dropout1d", "dropout2d", "dropout3d", "elu", "elu_", "embedding", "embedding_bag",
    "feature_alpha_dropout", "fold", "fractional_max_pool2d", "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d", "fractional_max_pool3d_with_indices", "gaussian_nll_loss", "gelu",
    "glu", "grid_sample", "group_norm", "grouped_mm", "gumbel_softmax", "hardshrink", "hardsigmoid",
    "hardswish", "hardtanh", "hardtanh_", "hinge_embedding_loss", "huber_loss", "instance_norm",
    "interpolate", "interpolate_like", "kl_div", "l1_loss", "l2_normalize", "layer_norm",
    "leaky_relu", "leaky_relu_", "linear", "linear_cross_entropy", "local_response_norm",
    "log_sigmoid", "log_softmax", "logsigmoid", "lp_pool1d", "lp_pool2d", "lp_pool3d",
    "margin_ranking_loss", "max_pool1d", "max_pool1d_with_indices", "max_pool2d",
    "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices", "max_unpool1d",
    "max_unpool2d", "max_unpool3d", "mish", "mse_loss", "multi_head_attention_forward",
    "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss",
    "normalize", "one_hot", "pad", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle",
    "poisson_nll_loss", "prelu", "quick_gelu", "relu", "relu6", "relu_", "rms_norm", "rrelu",
    "rrelu_", "scaled_dot_product_attention", "selu", "selu_", "sigmoid", "silu", "smooth_l1_loss",
    "soft_margin_loss", "softmax", "softmin", "softplus", "softshrink", "softsign",
    "sparse_softmax_cross_entropy", "square_relu", "tanh", "tanhshrink", "threshold", "threshold_",
    "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold", "upsample",
    "upsample_bilinear", "upsample_nearest",
]
# fmt: on
