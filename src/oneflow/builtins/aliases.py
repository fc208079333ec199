"""Upstream's builtins that are public functions, under the same name or another one."""

from __future__ import annotations

from collections.abc import Callable

from oneflow.functional.registry import FUNCTIONS, register_public
from oneflow.tensor.tensor import Tensor

# The namespaces in which a function of the same name is looked for.
_NAMESPACES = ("nn.functional.", "", "linalg.")
_SAME = """
abs acos acosh adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d addcdiv addcdiv_ addcmul
addcmul_ affine_grid allclose amax amin arange argmax argmin as_strided asin asinh atan atan2 atanh
atleast_1d atleast_2d atleast_3d avg_pool1d avg_pool2d avg_pool3d baddbmm batch_gather bernoulli
bernoulli_ bincount broadcast_like broadcast_shapes broadcast_tensors broadcast_to ceil celu chunk
clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ column_stack combined_margin_loss
concat contiguous contiguous_ conv1d conv2d conv3d cos cosh cosine_similarity ctc_greedy_decoder
cumprod cumsum diag diagonal div_ dot dropout1d dropout2d dropout3d dstack einsum elu empty equal
erf erfc erfinv erfinv_ exp expand expand_dims expm1 exponential_ eye fill_ flatten flip floor
floor_ floor_divide fmod fold from_dlpack from_numpy gather_nd glu greater greater_equal
gumbel_softmax hann_window hardshrink hardsigmoid hardswish hardtanh hsplit hstack identity
in_top_k index_add index_add_ index_select inv isclose isfinite isinf isnan l1_loss leaky_relu less
less_equal lgamma log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor
logsigmoid logsumexp margin_ranking_loss masked_fill masked_fill_ matmul matrix_norm max
max_unpool1d max_unpool2d max_unpool3d maximum median meshgrid min minimum mish mm movedim mse_loss
mul_ multinomial narrow negative nll_loss nonzero norm normal normalize not_equal one_hot
pairwise_distance permute pin_memory pow prelu quantile quick_gelu rand randint_like randn
randn_like randperm reciprocal relu repeat repeat_interleave roc_auc_score roi_align roll round
row_stack rsqrt scatter scatter_add searchsorted select selu sigmoid sign silu sin sin_ sinh
smooth_l1_loss softplus softshrink softsign sort split sqrt square squeeze stack std stft swapaxes
swapdims t tan tanh tensor tensor_scatter_nd_update tensor_split threshold tile to to_consistent
topk tril triplet_margin_loss triu triu_ trunc unbind unfold uniform_ unique
unsqueeze var vector_norm view vsplit vstack where
"""
_ALIASES = {
    "batch_matmul": "bmm",
    "broadcast_equal": "eq",
    "deconv1d": "nn.functional.conv_transpose1d",
    "deconv2d": "nn.functional.conv_transpose2d",
    "deconv3d": "nn.functional.conv_transpose3d",
    "dim_gather": "gather",
    "embedding": "embedding",
    "gelu_with_approximate": "nn.functional.gelu",
    "kl_div_loss": "nn.functional.kl_div",
    "linalg_cross": "cross",
    "matrix_vector_product": "mv",
    "reduce_all": "all",
    "reduce_any": "any",
    "reduce_max": "amax",
    "reduce_mean": "mean",
    "reduce_min": "amin",
    "reduce_nansum": "nansum",
    "reduce_prod": "prod",
    "reduce_sum": "sum",
    "rint": "round",
}
# Methods beside public functions of their names, which take trees of tensors or do something else.
_METHODS = {"to_global": "to_global", "to_local": "to_local", "unfold_tensor": "unfold"}


def register_builtins() -> None:
    """Publish the aliases; all other functions have to be known before.

    Raises:
        LookupError: there is no function of that name.
    """
    for name in _SAME.split():
        register_public(f"_C.{name}", _function_named(name))
    for name, path in _ALIASES.items():
        register_public(f"_C.{name}", FUNCTIONS[path])
    for name, method in _METHODS.items():
        register_public(f"_C.{name}", vars(Tensor)[method])


def _function_named(name: str) -> Callable:
    for namespace in _NAMESPACES:
        if namespace + name in FUNCTIONS:
            return FUNCTIONS[namespace + name]
    if name in vars(Tensor):
        return vars(Tensor)[name]
    raise LookupError(f"no function is called `{name}`")
