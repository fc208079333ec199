"""Names that job functions of OneFlow 0.1 to 0.4 give their operators by position."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from oneflow.base.parameters import parameters_of

_TEXT = re.compile(r"\bstr\b")
# Public functions by the number of arguments before the operator's name.
_ARGUMENTS_BEFORE_NAME = {
    1: """
amp_white_identity cast_to_static_shape count_not_finite identity identity_n math.abs math.acos
math.acosh math.add_n math.asin math.asinh math.atan math.atanh math.ceil math.cos math.cosh
math.erf math.erfc math.exp math.expm1 math.floor math.gelu math.lgamma math.log math.log1p
math.log_sigmoid math.negative math.reciprocal math.reciprocal_no_nan math.relu math.rint
math.round math.rsqrt math.sigmoid math.sigmoid_v2 math.sign math.sin math.sinh math.softplus
math.sqrt math.square math.tan math.tanh math.tanh_v2 multi_count_not_finite nn.hardsigmoid
nn.hardswish nn.mish nn.relu nn.relu6
""",
    2: """
broadcast_to_compatible_with cast constant_scalar diag dynamic_reshape elem_cnt expand expand_dims
gather_nd math.add math.argmax math.atan2 math.broadcast_to_compatible_with math.divide math.equal
math.floordiv math.gelu_grad math.greater math.greater_equal math.less math.less_equal
math.logical_and math.maximum math.minimum math.mod math.multiply math.not_equal math.polyval
math.pow math.sigmoid_grad math.squared_difference math.subtract math.xdivy math.xlogy
nn.distributed_sparse_softmax_cross_entropy_with_logits nn.elu nn.leaky_relu nn.logsoftmax
nn.sigmoid_cross_entropy_with_logits nn.softmax nn.softmax_cross_entropy_with_logits
nn.sparse_cross_entropy nn.sparse_softmax_cross_entropy_with_logits ones_like reflection_pad2d
repeat replication_pad2d reshape reshape_like reverse slice_v2 squeeze stack zero_pad2d zeros_like
""",
    3: """
argsort broadcast_like clamp clip clip_by_scalar clip_by_value constant constant_like
constant_pad2d dim_gather distributed_partial_fc_sample flatten in_top_k masked_fill
math.clip_by_value math.in_top_k math.l2_normalize math.reduce_all math.reduce_any
math.reduce_euclidean_norm math.reduce_logsumexp math.reduce_max math.reduce_mean math.reduce_min
math.reduce_prod math.reduce_std math.reduce_sum math.reduce_variance math.reduced_shape_elem_cnt
math.tril math.two_stage_reduce_max math.two_stage_reduce_min math.unsorted_batch_segment_sum
nn.PixelShufflev2 nn.bias_add nn.ctc_greedy_decoder nn.fused_bias_add_gelu
nn.fused_self_attention_query_mul_key_and_value nn.hardtanh nn.moments nn.softmax_grad nn.tril
pad_grad scatter_nd slice_update smooth_l1_loss sort tensor_scatter_nd_add
tensor_scatter_nd_update unsorted_batch_segment_sum where
""",
    4: """
math.fused_scale_tril math.top_k math.unsorted_segment_sum math.unsorted_segment_sum_like
nn.dropout nn.fused_scale_tril nn.random_mask_like range unsorted_segment_sum
unsorted_segment_sum_like
""",
    5: """
combined_margin_loss linalg.matmul matmul nn.avg_pool1d nn.max_pool1d
""",
    6: """
nn.avg_pool2d nn.avg_pool3d nn.fused_bias_add_dropout nn.max_pool2d nn.max_pool3d one_hot
same_padding
""",
    7: """
math.fused_scale_tril_softmax_dropout nn.batch_normalization nn.compat_conv2d nn.conv1d nn.conv2d
nn.conv3d nn.fused_scale_tril_softmax_dropout
""",
}
PLACES = {path: place for place, paths in _ARGUMENTS_BEFORE_NAME.items() for path in paths.split()}
# The same by function, the least of all its names, behind every text that it takes itself.
_places: dict[Callable[..., Any], int] = {}
# The jobs whose bodies run now, in any thread; nearly every call asks only whether there are any.
job_bodies: list[str] = []
_is_in_body: ContextVar[bool] = ContextVar("_is_in_body", default=False)


def note_place_of_name(path: str, public: Callable[..., Any]) -> None:
    """Remember where the function `public` takes a name, as that at `path` below `oneflow`."""
    if path in PLACES:
        place = max(PLACES[path], _arguments_before_no_text(public))
        _places[public] = min(place, _places.get(public, place))


def _arguments_before_no_text(public: Callable[..., Any]) -> int:
    """The number of arguments up to the last that takes a text, as the mode of `gelu`."""
    body = inspect.unwrap(public)
    annotations = body.__annotations__
    places = [
        place
        for place, name in enumerate(parameters_of(body).positional, 1)
        if _TEXT.search(str(annotations.get(name, "")))
    ]
    return max(places, default=0)


@contextlib.contextmanager
def operator_names_allowed(job_name: str) -> Iterator[None]:
    """Take texts behind the arguments as names of operators, in this thread's run of a job."""
    token = _is_in_body.set(True)
    job_bodies.append(job_name)
    try:
        yield
    finally:
        job_bodies.remove(job_name)
        _is_in_body.reset(token)


def is_in_job_body() -> bool:
    """True while the body of a job runs in this thread."""
    return _is_in_body.get()


def without_name(public: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a function without the operator's name, if a text behind them is one."""
    place = _places.get(public)
    if place is None or len(args) <= place or not isinstance(args[-1], str):
        return args
    return args[:-1] if is_in_job_body() else args
