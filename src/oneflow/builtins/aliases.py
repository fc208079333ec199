"""Upstream's builtins that are public functions, under the same name or another one."""

from __future__ import annotations

from collections.abc import Callable

from oneflow.functional.registry import FUNCTIONS, register_public
from oneflow.tensor.tensor import Tensor

# The namespaces in which a function of the same name is looked for.
_NAMESPACES = ("nn.functional.", "", "linalg.", "fft.")
_SAME = """
abs acos acosh adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d addcdiv addcdiv_ addcmul
addcmul_ affine_grid allclose amax amin arange argmax argmin as_strided as_strided_ asin asinh atan
atan2 atanh atleast_1d atleast_2d atleast_3d avg_pool1d avg_pool2d avg_pool3d baddbmm batch_gather
bernoulli bernoulli_ bincount bitwise_and bitwise_not bitwise_or bitwise_xor broadcast_like
broadcast_shapes broadcast_tensors broadcast_to ceil ceil_ celu chunk clamp clamp_ clamp_max
clamp_max_ clamp_min clamp_min_ clip clip_ clone column_stack combined_margin_loss concat conj
conj_physical contiguous contiguous_ conv1d conv2d conv3d cos cosh cosine_similarity cross
ctc_greedy_decoder cumprod cumsum det diag diagonal digamma div_ dot dropout1d dropout2d dropout3d
dstack einsum elu empty empty_strided equal erf erfc erfinv erfinv_ exp exp2 expand expand_dims
expm1 exponential_ eye fft fft2 fftn fill_ flatten flip floor floor_ floor_divide fmod fold frac
frac_ from_dlpack from_numpy gather_nd glu greater greater_equal gumbel_softmax hann_window
hardshrink hardsigmoid hardswish hardtanh hfft hfft2 hfftn hsplit hstack identity ifft ifft2 ifftn
ihfft ihfft2 ihfftn imag in_top_k index_add index_add_ index_select inv irfft irfft2 irfftn isclose
isfinite isinf isnan l1_loss leaky_relu lerp lerp_ less less_equal lgamma log log10 log1p log2
logaddexp logical_and logical_not logical_or logical_xor logsigmoid logsumexp margin_ranking_loss
masked_fill masked_fill_ matmul matrix_norm max max_unpool1d max_unpool2d max_unpool3d maximum
median meshgrid min minimum mish mm mode movedim mse_loss mul_ multinomial narrow negative nll_loss
nonzero norm normal normal_ normalize not_equal one_hot pairwise_distance permute pin_memory pow
prelu quantile quick_gelu rand randint_like randn randn_like randperm real reciprocal relu repeat
repeat_interleave rfft rfft2 rfftn roc_auc_score roi_align roll round round_ row_stack rrelu rrelu_
rsqrt scaled_dot_product_attention scatter scatter_add searchsorted select selu sigmoid sign silu
sin sin_ sinh smooth_l1_loss softplus softshrink softsign sort split sqrt square square_relu squeeze
squeeze_ stack std stft swapaxes swapdims t tan tanh tensor tensor_scatter_nd_update tensor_split
threshold tile to to_consistent topk tril tril_ triplet_margin_loss triu triu_ trunc unbind unfold
uniform_ unique unsqueeze unsqueeze_ var vector_norm view vsplit vstack where
"""
_ALIASES = {
    "batch_matmul": "bmm",
    "broadcast_equal": "eq",
    "deconv1d": "nn.functional.conv_transpose1d",
    "deconv2d": "nn.functional.conv_transpose2d",
    "deconv3d": "nn.functional.conv_transpose3d",
    "dim_gather": "gather",
    "embedding": "embedding",
    "distributed_sparse_cross_entropy": "_C.sparse_cross_entropy",
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
    "sigmoid_grad": "math.sigmoid_grad",
    "zeta": "special.zeta",
}
# Methods beside public functions of their names, which take trees of tensors or do something else.
_METHODS = {
    "greater_": "greater_",
    "to_global": "to_global",
    "to_local": "to_local",
    "unfold_tensor": "unfold",
}


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
    register_public("_C.T", vars(Tensor)["T"].fget)


def _function_named(name: str) -> Callable:
    for namespace in _NAMESPACES:
        if namespace + name in FUNCTIONS:
            return FUNCTIONS[namespace + name]
    if name in vars(Tensor):
        return vars(Tensor)[name]
    raise LookupError(f"no function is called `{name}`")
