"""Functions under the path of upstream's builtins, and its fused operators."""

from oneflow.comm import recv as recv, send as send
from oneflow.data.readers.buffers import (
    buffer_to_tensor as tensor_buffer_to_tensor,
    gen_tensor_buffer as gen_tensor_buffer,
    tensor_to_tensor_buffer as tensor_to_tensor_buffer,
)
from oneflow.data.readers.images import flip as image_flip
from oneflow.data.readers.onerec_batches import decode_onerec as decode_onerec
from oneflow.distributed.local_collectives import (
    comm_broadcast as comm_broadcast,
    local_all_gather as local_all_gather,
    local_all_reduce as local_all_reduce,
    local_reduce as local_reduce,
    local_reduce_scatter as local_reduce_scatter,
)
from oneflow.nn.modules.quantization_functions import (
    fake_quantization as fake_quantization,
    min_max_observer as min_max_observer,
    moving_average_min_max_observer as moving_average_min_max_observer,
    quantization as quantization,
)
from oneflow.tensor.tensor import Tensor as Tensor

# isort: split
# Generated from the function registry by `tools/make_facades.py` (make stubs).
from oneflow.builtins.arrays import (
    arg_sort as arg_sort,
    argwhere as argwhere,
    assign_local_tensor as assign_local_tensor,
    copy as copy,
    gather as gather,
    global_arange as consistent_arange,
    global_arange as global_arange,
    global_constant as consistent_constant,
    global_constant as global_constant,
    global_constant as global_tensor_constant,
    global_empty as consistent_empty,
    global_empty as global_empty,
    multi_tensor_yolov5_weight_update as multi_tensor_yolov5_weight_update,
    nms as nms,
    pixel_shuffle as pixel_shuffle,
    reduce_sum_like as reduce_sum_like,
    scatternd as scatternd,
    scatterndlike as scatterndlike,
    select_top_n as select_top_n,
    slice as slice,
    slice_update as slice_update,
    slice_view_1d_contiguous as slice_view_1d_contiguous,
    split_like as split_like,
    sqrt_square_sum as sqrt_square_sum,
    tensor_setitem as tensor_setitem,
    tensordot as tensordot,
    trunc_divide as trunc_divide,
    unsorted_segment_sum as unsorted_segment_sum,
    unsorted_segment_sum_like as unsorted_segment_sum_like,
)
from oneflow.builtins.attention import (
    fused_attention_concat_past_key_value as fused_attention_concat_past_key_value,
    fused_codegeex_qkv_reshape as fused_codegeex_qkv_reshape,
    fused_multi_head_attention_inference as fused_multi_head_attention_inference,
    fused_multi_head_attention_inference_v2 as fused_multi_head_attention_inference_v2,
)
from oneflow.builtins.bias import bias_add as bias_add
from oneflow.builtins.boxes import (
    fused_get_boundding_boxes_coord as fused_get_boundding_boxes_coord,
    fused_get_center_dist as fused_get_center_dist,
    fused_get_ciou_diagonal_angle as fused_get_ciou_diagonal_angle,
    fused_get_ciou_result as fused_get_ciou_result,
    fused_get_convex_diagonal_squared as fused_get_convex_diagonal_squared,
    fused_get_intersection_area as fused_get_intersection_area,
    fused_get_iou as fused_get_iou,
)
from oneflow.builtins.convolution import deform_conv2d as deform_conv2d
from oneflow.builtins.creation import (
    constant as constant,
    constant as tensor_constant,
    embedding_renorm_ as embedding_renorm_,
    eye_ as eye_,
)
from oneflow.builtins.gradients import (
    cosh_grad as cosh_grad,
    tan_grad as tan_grad,
    tanh_grad as tanh_grad,
)
from oneflow.builtins.losses import (
    ctc_loss as ctc_loss,
    grid_sample as grid_sample,
    gru_cell as gru_cell,
    lstm_cell as lstm_cell,
    rnn_relu_cell as rnn_relu_cell,
    rnn_tanh_cell as rnn_tanh_cell,
    softmax_cross_entropy as softmax_cross_entropy,
    softmax_cross_entropy_grad as softmax_cross_entropy_grad,
    sparse_cross_entropy as distributed_sparse_cross_entropy,
    sparse_cross_entropy as sparse_cross_entropy,
    sparse_softmax_cross_entropy as sparse_softmax_cross_entropy,
)
from oneflow.builtins.normalization import (
    adaptive_max_pool1d as adaptive_max_pool1d,
    adaptive_max_pool2d as adaptive_max_pool2d,
    adaptive_max_pool3d as adaptive_max_pool3d,
    group_norm as group_norm,
    layer_norm as layer_norm,
    layer_norm_affine as layer_norm_affine,
    max_pool1d as max_pool1d,
    max_pool2d as max_pool2d,
    max_pool3d as max_pool3d,
    normalization as normalization,
    normalization_add_relu as normalization_add_relu,
    rms_layer_norm as rms_layer_norm,
    root_mean_square_norm as rms_norm,
    skip_layer_norm as skip_layer_norm,
    skip_rms_norm as skip_rms_norm,
)
from oneflow.builtins.products import (
    fast_gelu as fast_gelu,
    fused_bias_add_scale_mask_softmax_dropout as fused_bias_add_scale_mask_softmax_dropout,
    fused_cross_feature_interaction as fused_cross_feature_interaction,
    fused_dot_feature_interaction as fused_dot_feature_interaction,
    fused_fast_gelu_mul as fused_fast_gelu_mul,
    fused_glu as fused_glu,
    fused_matmul_bias as fused_matmul_bias,
    fused_matmul_bias_add_relu_dropout as fused_matmul_bias_add_relu_dropout,
    fused_mlp as fused_mlp,
    fused_self_attention as fused_self_attention,
    fused_self_attention as fused_self_attention_query_mul_key_and_value,
    fused_weighted_sum as fused_weighted_sum,
    grouped_matmul as grouped_matmul,
    grouped_matmul_bias as grouped_matmul_bias,
)
from oneflow.builtins.quantized import (
    fused_linear_with_groupwise_quantized_weight as fused_linear_with_groupwise_quantized_weight,
    groupwise_dequantize as groupwise_dequantize,
)
from oneflow.builtins.recurrent import (
    gru as gru,
    lstm as lstm,
    rnn_relu as rnn_relu,
    rnn_tanh as rnn_tanh,
)
from oneflow.builtins.resize import (
    upsample as upsample,
    upsample_bicubic_2d as upsample_bicubic_2d,
    upsample_bilinear_2d as upsample_bilinear_2d,
    upsample_linear_1d as upsample_linear_1d,
    upsample_nearest_1d as upsample_nearest_1d,
    upsample_nearest_2d as upsample_nearest_2d,
    upsample_nearest_3d as upsample_nearest_3d,
    upsample_trilinear_3d as upsample_trilinear_3d,
)
from oneflow.builtins.rotary import fused_apply_rotary_emb as fused_apply_rotary_emb
from oneflow.builtins.statistics import (
    batch_norm_backward_elemt as batch_norm_backward_elemt,
    batch_norm_backward_reduce as batch_norm_backward_reduce,
    batch_norm_elemt as batch_norm_elemt,
    batch_norm_gather_stats_with_counts as batch_norm_gather_stats_with_counts,
    batch_norm_stats as batch_norm_stats,
)
from oneflow.builtins.updates import (
    fused_clip_grad as fused_clip_grad,
    multi_tensor_adam_update as multi_tensor_adam_update,
    multi_tensor_momentum_update as multi_tensor_momentum_update,
    multi_tensor_sgd_update as multi_tensor_sgd_update,
)
from oneflow.functional.creation.conversion import (
    cast as cast,
    clone as clone,
    fill_ as fill_,
    pin_memory as pin_memory,
    to as to,
)
from oneflow.functional.creation.factory_functions import (
    arange as arange,
    empty as empty,
    eye as eye,
)
from oneflow.functional.creation.from_data import (
    from_dlpack as from_dlpack,
    from_numpy as from_numpy,
    tensor as tensor,
)
from oneflow.functional.elementwise.activation import (
    celu as celu,
    elu as elu,
    gelu as gelu,
    gelu as gelu_with_approximate,
    leaky_relu as leaky_relu,
    logsigmoid as logsigmoid,
    mish as mish,
    prelu as prelu,
    quick_gelu as quick_gelu,
    relu as relu,
    rrelu as rrelu,
    rrelu_ as rrelu_,
    selu as selu,
    sigmoid as sigmoid,
    silu as silu,
    softplus as softplus,
    softsign as softsign,
    square_relu as square_relu,
    tanh as tanh,
)
from oneflow.functional.elementwise.arithmetic import (
    add as add,
    addcdiv as addcdiv,
    addcmul as addcmul,
    lerp as lerp,
    mul as mul,
    pow_ as pow,
    sub as sub,
)
from oneflow.functional.elementwise.binary import atan2 as atan2, logaddexp as logaddexp
from oneflow.functional.elementwise.clamp import (
    clamp as clamp,
    clamp as clip,
    clamp_max as clamp_max,
    clamp_min as clamp_min,
    maximum as maximum,
    minimum as minimum,
    where as where,
)
from oneflow.functional.elementwise.comparison import (
    allclose as allclose,
    eq as broadcast_equal,
    equal as equal,
    ge as greater_equal,
    gt as greater,
    isclose as isclose,
    le as less_equal,
    lt as less,
    ne as not_equal,
)
from oneflow.functional.elementwise.complex import conj as conj, conj_physical as conj_physical
from oneflow.functional.elementwise.division import (
    div as div,
    floor_divide as floor_divide,
    fmod as fmod,
)
from oneflow.functional.elementwise.logic import (
    bitwise_and as bitwise_and,
    bitwise_not as bitwise_not,
    bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
)
from oneflow.functional.elementwise.piecewise import (
    hardshrink as hardshrink,
    hardsigmoid as hardsigmoid,
    hardswish as hardswish,
    hardtanh as hardtanh,
    softshrink as softshrink,
    threshold as threshold,
)
from oneflow.functional.elementwise.rounding import (
    ceil as ceil,
    floor as floor,
    frac as frac,
    round_ as rint,
    round_ as round,
    sign as sign,
    trunc as trunc,
)
from oneflow.functional.elementwise.special import (
    digamma as digamma,
    erf as erf,
    erfc as erfc,
    erfinv as erfinv,
    lgamma as lgamma,
    zeta as zeta,
)
from oneflow.functional.elementwise.trigonometry import (
    acos as acos,
    acosh as acosh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atanh as atanh,
    cos as cos,
    cosh as cosh,
    sin as sin,
    sinh as sinh,
    tan as tan,
)
from oneflow.functional.elementwise.unary import (
    abs_ as abs,
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    log as log,
    log1p as log1p,
    log2 as log2,
    log10 as log10,
    neg as negative,
    reciprocal as reciprocal,
    rsqrt as rsqrt,
    sqrt as sqrt,
    square as square,
)
from oneflow.functional.fourier.fft2 import (
    fft2 as fft2,
    hfft2 as hfft2,
    ifft2 as ifft2,
    ihfft2 as ihfft2,
    irfft2 as irfft2,
    rfft2 as rfft2,
)
from oneflow.functional.fourier.short_time import stft as stft
from oneflow.functional.fourier.transforms import (
    fft as fft,
    fftn as fftn,
    hfft as hfft,
    hfftn as hfftn,
    ifft as ifft,
    ifftn as ifftn,
    ihfft as ihfft,
    ihfftn as ihfftn,
    irfft as irfft,
    irfftn as irfftn,
    rfft as rfft,
    rfftn as rfftn,
)
from oneflow.functional.fourier.windows import hann_window as hann_window
from oneflow.functional.global_tensors.conversion import (
    to_consistent as to_consistent,
    to_global as to_global,
    to_local as to_local,
)
from oneflow.functional.index.gather import (
    batch_gather as batch_gather,
    gather as dim_gather,
    gather_nd as gather_nd,
    index_select as index_select,
    tensor_scatter_nd_update as tensor_scatter_nd_update,
)
from oneflow.functional.index.masked import masked_fill as masked_fill
from oneflow.functional.index.scatter import (
    index_add as index_add,
    scatter as scatter,
    scatter_add as scatter_add,
)
from oneflow.functional.index.search import (
    bincount as bincount,
    nonzero as nonzero,
    one_hot as one_hot,
    searchsorted as searchsorted,
    sort as sort,
    topk as topk,
    unique as unique,
)
from oneflow.functional.linalg.added_products import baddbmm as baddbmm
from oneflow.functional.linalg.einsum import einsum as einsum
from oneflow.functional.linalg.inverse import det as det, inv as inv
from oneflow.functional.linalg.matmul import matmul as matmul
from oneflow.functional.linalg.norms import (
    matrix_norm as matrix_norm,
    norm_ as norm,
    vector_norm as vector_norm,
)
from oneflow.functional.linalg.products import (
    bmm as batch_matmul,
    cross as cross,
    cross as linalg_cross,
    dot as dot,
    mm as mm,
    mv as matrix_vector_product,
)
from oneflow.functional.nn.adaptive_pooling import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
    adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_avg_pool3d as adaptive_avg_pool3d,
)
from oneflow.functional.nn.argument_order import embedding as embedding
from oneflow.functional.nn.attention import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from oneflow.functional.nn.conv import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    conv_transpose1d as deconv1d,
    conv_transpose2d as deconv2d,
    conv_transpose3d as deconv3d,
)
from oneflow.functional.nn.ctc import ctc_greedy_decoder as ctc_greedy_decoder
from oneflow.functional.nn.detection import in_top_k as in_top_k, roi_align as roi_align
from oneflow.functional.nn.distance import (
    cosine_similarity as cosine_similarity,
    normalize as normalize,
    pairwise_distance as pairwise_distance,
)
from oneflow.functional.nn.dropout import (
    dropout as dropout,
    dropout1d as dropout1d,
    dropout2d as dropout2d,
    dropout3d as dropout3d,
)
from oneflow.functional.nn.elementwise_loss import (
    binary_cross_entropy as binary_cross_entropy_loss,
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits_loss,
    kl_div as kl_div_loss,
    l1_loss as l1_loss,
    mse_loss as mse_loss,
    smooth_l1_loss as smooth_l1_loss,
)
from oneflow.functional.nn.fused import (
    fused_bias_add_dropout as fused_bias_add_dropout,
    fused_bias_add_gelu as fused_bias_add_gelu,
    fused_scale_mask_bias_softmax as fused_scale_mask_bias_softmax,
    fused_scale_mask_softmax as fused_scale_mask_softmax,
    fused_scale_mask_softmax_dropout as fused_scale_mask_softmax_dropout,
    fused_scale_tril as fused_scale_tril,
    fused_scale_tril_softmax_mask_scale as fused_scale_tril_softmax_mask_scale,
)
from oneflow.functional.nn.interpolate import affine_grid as affine_grid
from oneflow.functional.nn.loss import cross_entropy as cross_entropy, nll_loss as nll_loss
from oneflow.functional.nn.margin_loss import (
    combined_margin_loss as combined_margin_loss,
    margin_ranking_loss as margin_ranking_loss,
    triplet_margin_loss as triplet_margin_loss,
)
from oneflow.functional.nn.padding import pad as pad
from oneflow.functional.nn.patches import fold as fold, unfold as unfold
from oneflow.functional.nn.pooling import (
    avg_pool1d as avg_pool1d,
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
)
from oneflow.functional.nn.softmax import (
    glu as glu,
    gumbel_softmax as gumbel_softmax,
    log_softmax as log_softmax,
    softmax as softmax,
)
from oneflow.functional.nn.unpool import (
    max_unpool1d as max_unpool1d,
    max_unpool2d as max_unpool2d,
    max_unpool3d as max_unpool3d,
)
from oneflow.functional.random.creation import (
    bernoulli as bernoulli,
    multinomial as multinomial,
    normal as normal,
    rand as rand,
    randint as randint,
    randint_like as randint_like,
    randn as randn,
    randn_like as randn_like,
    randperm as randperm,
)
from oneflow.functional.random.inplace import (
    bernoulli_ as bernoulli_,
    exponential_ as exponential_,
    normal_ as normal_,
    uniform_ as uniform_,
)
from oneflow.functional.reduce.cumulative import cumprod as cumprod, cumsum as cumsum
from oneflow.functional.reduce.minmax import (
    amax as amax,
    amax as reduce_max,
    amin as amin,
    amin as reduce_min,
    argmax as argmax,
    argmin as argmin,
    max_ as max,
    min_ as min,
)
from oneflow.functional.reduce.ranking import roc_auc_score as roc_auc_score
from oneflow.functional.reduce.statistics import (
    median as median,
    mode as mode,
    quantile as quantile,
    std as std,
    var as var,
)
from oneflow.functional.reduce.sums import (
    all_ as reduce_all,
    any_ as reduce_any,
    logsumexp as logsumexp,
    mean as reduce_mean,
    nansum as reduce_nansum,
    prod as reduce_prod,
    sum_ as reduce_sum,
)
from oneflow.functional.shape.complex_parts import imag as imag, real as real
from oneflow.functional.shape.concat import (
    cat as concat,
    chunk as chunk,
    hsplit as hsplit,
    split as split,
    stack as stack,
    tensor_split as tensor_split,
    unbind as unbind,
    vsplit as vsplit,
)
from oneflow.functional.shape.new_strided import empty_strided as empty_strided
from oneflow.functional.shape.properties import reversed_dims as T
from oneflow.functional.shape.rearrange import (
    diag as diag,
    flip as flip,
    repeat as repeat,
    repeat_interleave as repeat_interleave,
    roll as roll,
    tile as tile,
    tril as tril,
    triu as triu,
)
from oneflow.functional.shape.reshape import (
    broadcast_to as broadcast_to,
    expand as expand,
    flatten as flatten,
    movedim as movedim,
    permute as permute,
    reshape as reshape,
    squeeze as squeeze,
    t as t,
    transpose as swapaxes,
    transpose as swapdims,
    transpose as transpose,
    unsqueeze as unsqueeze,
    view as view,
)
from oneflow.functional.shape.stack import (
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    broadcast_dim_like as broadcast_dim_like,
    broadcast_like as broadcast_like,
    broadcast_shapes as broadcast_shapes,
    broadcast_tensors as broadcast_tensors,
    column_stack as column_stack,
    dstack as dstack,
    hstack as hstack,
    meshgrid as meshgrid,
    vstack as row_stack,
    vstack as vstack,
)
from oneflow.functional.shape.storage import contiguous as contiguous, contiguous_ as contiguous_
from oneflow.functional.shape.strided_views import (
    as_strided as as_strided,
    diagonal as diagonal,
    narrow as narrow,
    select as select,
    unfold as unfold_tensor,
)
from oneflow.legacy_functions.arrays import (
    depend as depend,
    expand_dims as expand_dims,
    identity as amp_black_identity,
    identity as amp_white_identity,
    identity as identity,
    reshape_like as reshape_like,
)
from oneflow.legacy_functions.math import (
    reciprocal_no_nan as reciprocal_no_nan,
    sigmoid_grad as sigmoid_grad,
)
from oneflow.legacy_functions.nn import (
    fused_scale_tril_softmax_dropout as fused_scale_tril_softmax_dropout,
)

addcdiv_ = Tensor.addcdiv_
addcmul_ = Tensor.addcmul_
as_strided_ = Tensor.as_strided_
ceil_ = Tensor.ceil_
clamp_ = Tensor.clamp_
clamp_max_ = Tensor.clamp_max_
clamp_min_ = Tensor.clamp_min_
clip_ = Tensor.clip_
div_ = Tensor.div_
erfinv_ = Tensor.erfinv_
floor_ = Tensor.floor_
frac_ = Tensor.frac_
greater_ = Tensor.greater_
index_add_ = Tensor.index_add_
lerp_ = Tensor.lerp_
masked_fill_ = Tensor.masked_fill_
mul_ = Tensor.mul_
round_ = Tensor.round_
sin_ = Tensor.sin_
squeeze_ = Tensor.squeeze_
tril_ = Tensor.tril_
triu_ = Tensor.triu_
unsqueeze_ = Tensor.unsqueeze_

# fmt: off
__all__ = [
    "T", "Tensor", "abs", "acos", "acosh", "adaptive_avg_pool1d", "adaptive_avg_pool2d",
    "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d",
    "add", "addcdiv", "addcdiv_", "addcmul", "addcmul_", "affine_grid", "allclose", "amax", "amin",
    "amp_black_identity", "amp_white_identity", "arange", "arg_sort", "argmax", "argmin",
    "argwhere", "as_strided", "as_strided_", "asin", "asinh", "assign_local_tensor", "atan",
    "atan2", "atanh", "atleast_1d", "atleast_2d", "atleast_3d", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "baddbmm", "batch_gather", "batch_matmul", "batch_norm_backward_elemt",
    "batch_norm_backward_reduce", "batch_norm_elemt", "batch_norm_gather_stats_with_counts",
    "batch_norm_stats", "bernoulli", "bernoulli_", "bias_add", "binary_cross_entropy_loss",
    "binary_cross_entropy_with_logits_loss", "bincount", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "broadcast_dim_like", "broadcast_equal", "broadcast_like", "broadcast_shapes",
    "broadcast_tensors", "broadcast_to", "cast", "ceil", "ceil_", "celu", "chunk", "clamp",
    "clamp_", "clamp_max", "clamp_max_", "clamp_min", "clamp_min_", "clip", "clip_", "clone",
    "column_stack", "combined_margin_loss", "comm_broadcast", "concat", "conj", "conj_physical",
    "consistent_arange", "consistent_constant", "consistent_empty", "constant", "contiguous",
    "contiguous_", "conv1d", "conv2d", "conv3d", "copy", "cos", "cosh", "cosh_grad",
    "cosine_similarity", "cross", "cross_entropy", "ctc_greedy_decoder", "ctc_loss", "cumprod",
    "cumsum", "decode_onerec", "deconv1d", "deconv2d", "deconv3d", "deform_conv2d", "depend", "det",
    "diag", "diagonal", "digamma", "dim_gather", "distributed_sparse_cross_entropy", "div", "div_",
    "dot", "dropout", "dropout1d", "dropout2d", "dropout3d", "dstack", "einsum", "elu", "embedding",
    "embedding_renorm_", "empty", "empty_strided", "equal", "erf", "erfc", "erfinv", "erfinv_",
    "exp", "exp2", "expand", "expand_dims", "expm1", "exponential_", "eye", "eye_",
    "fake_quantization", "fast_gelu", "fft", "fft2", "fftn", "fill_", "flatten", "flip", "floor",
    "floor_", "floor_divide", "fmod", "fold", "frac", "frac_", "from_dlpack", "from_numpy",
    "fused_apply_rotary_emb", "fused_attention_concat_past_key_value", "fused_bias_add_dropout",
    "fused_bias_add_gelu", "fused_bias_add_scale_mask_softmax_dropout", "fused_clip_grad",
    "fused_codegeex_qkv_reshape", "fused_cross_feature_interaction",
    "fused_dot_feature_interaction", "fused_fast_gelu_mul", "fused_get_boundding_boxes_coord",
    "fused_get_center_dist", "fused_get_ciou_diagonal_angle", "fused_get_ciou_result",
    "fused_get_convex_diagonal_squared", "fused_get_intersection_area", "fused_get_iou",
    "fused_glu", "fused_linear_with_groupwise_quantized_weight", "fused_matmul_bias",
    "fused_matmul_bias_add_relu_dropout", "fused_mlp", "fused_multi_head_attention_inference",
    "fused_multi_head_attention_inference_v2", "fused_scale_mask_bias_softmax",
    "fused_scale_mask_softmax", "fused_scale_mask_softmax_dropout", "fused_scale_tril",
    "fused_scale_tril_softmax_dropout", "fused_scale_tril_softmax_mask_scale",
    "fused_self_attention", "fused_self_attention_query_mul_key_and_value", "fused_weighted_sum",
    "gather", "gather_nd", "gelu", "gelu_with_approximate", "gen_tensor_buffer", "global_arange",
    "global_constant", "global_empty", "global_tensor_constant", "glu", "greater", "greater_",
    "greater_equal", "grid_sample", "group_norm", "grouped_matmul", "grouped_matmul_bias",
    "groupwise_dequantize", "gru", "gru_cell", "gumbel_softmax", "hann_window", "hardshrink",
    "hardsigmoid", "hardswish", "hardtanh", "hfft", "hfft2", "hfftn", "hsplit", "hstack",
    "identity", "ifft", "ifft2", "ifftn", "ihfft", "ihfft2", "ihfftn", "imag", "image_flip",
    "in_top_k", "index_add", "index_add_", "index_select", "inv", "irfft", "irfft2", "irfftn",
    "isclose", "isfinite", "isinf", "isnan", "kl_div_loss", "l1_loss", "layer_norm",
    "layer_norm_affine", "leaky_relu", "lerp", "lerp_", "less", "less_equal", "lgamma",
    "linalg_cross", "local_all_gather", "local_all_reduce", "local_reduce", "local_reduce_scatter",
    "log", "log1p", "log2", "log10", "log_softmax", "logaddexp", "logical_and", "logical_not",
    "logical_or", "logical_xor", "logsigmoid", "logsumexp", "lstm", "lstm_cell",
    "margin_ranking_loss", "masked_fill", "masked_fill_", "matmul", "matrix_norm",
    "matrix_vector_product", "max", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d",
    "max_unpool2d", "max_unpool3d", "maximum", "median", "meshgrid", "min", "min_max_observer",
    "minimum", "mish", "mm", "mode", "movedim", "moving_average_min_max_observer", "mse_loss",
    "mul", "mul_", "multi_tensor_adam_update", "multi_tensor_momentum_update",
    "multi_tensor_sgd_update", "multi_tensor_yolov5_weight_update", "multinomial", "narrow",
    "negative", "nll_loss", "nms", "nonzero", "norm", "normal", "normal_", "normalization",
    "normalization_add_relu", "normalize", "not_equal", "one_hot", "pad", "pairwise_distance",
    "permute", "pin_memory", "pixel_shuffle", "pow", "prelu", "quantile", "quantization",
    "quick_gelu", "rand", "randint", "randint_like", "randn", "randn_like", "randperm", "real",
    "reciprocal", "reciprocal_no_nan", "recv", "reduce_all", "reduce_any", "reduce_max",
    "reduce_mean", "reduce_min", "reduce_nansum", "reduce_prod", "reduce_sum", "reduce_sum_like",
    "relu", "repeat", "repeat_interleave", "reshape", "reshape_like", "rfft", "rfft2", "rfftn",
    "rint", "rms_layer_norm", "rms_norm", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell",
    "roc_auc_score", "roi_align", "roll", "round", "round_", "row_stack", "rrelu", "rrelu_",
    "rsqrt", "scaled_dot_product_attention", "scatter", "scatter_add", "scatternd", "scatterndlike",
    "searchsorted", "select", "select_top_n", "selu", "send", "sigmoid", "sigmoid_grad", "sign",
    "silu", "sin", "sin_", "sinh", "skip_layer_norm", "skip_rms_norm", "slice", "slice_update",
    "slice_view_1d_contiguous", "smooth_l1_loss", "softmax", "softmax_cross_entropy",
    "softmax_cross_entropy_grad", "softplus", "softshrink", "softsign", "sort",
    "sparse_cross_entropy", "sparse_softmax_cross_entropy", "split", "split_like", "sqrt",
    "sqrt_square_sum", "square", "square_relu", "squeeze", "squeeze_", "stack", "std", "stft",
    "sub", "swapaxes", "swapdims", "t", "tan", "tan_grad", "tanh", "tanh_grad", "tensor",
    "tensor_buffer_to_tensor", "tensor_constant", "tensor_scatter_nd_update", "tensor_setitem",
    "tensor_split", "tensor_to_tensor_buffer", "tensordot", "threshold", "tile", "to",
    "to_consistent", "to_global", "to_local", "topk", "transpose", "tril", "tril_",
    "triplet_margin_loss", "triu", "triu_", "trunc", "trunc_divide", "unbind", "unfold",
    "unfold_tensor", "uniform_", "unique", "unsorted_segment_sum", "unsorted_segment_sum_like",
    "unsqueeze", "unsqueeze_", "upsample", "upsample_bicubic_2d", "upsample_bilinear_2d",
    "upsample_linear_1d", "upsample_nearest_1d", "upsample_nearest_2d", "upsample_nearest_3d",
    "upsample_trilinear_3d", "var", "vector_norm", "view", "vsplit", "vstack", "where", "zeta",
]
# fmt: on
