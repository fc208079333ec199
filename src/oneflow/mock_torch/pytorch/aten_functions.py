"""Operators of ATen whose arguments are not those of the public function of that name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import oneflow as flow
from oneflow.mock_torch.missing import raise_missing
from oneflow.tensor.tensor import Tensor

functional = flow.nn.functional

# The reductions of a loss by ATen's numbers for them.
_REDUCTIONS = ("none", "mean", "sum")

_POOL = "x kernel_size stride padding dilation ceil_mode"
_LOSS = "input target reduction"
# Functions that take their parameters in another order: the function, and ATen's order.
_ORDERS: dict[str, tuple[Callable[..., Any], str]] = {
    "add": (flow.add, "input other alpha"),
    "rsub": (flow.rsub, "input other alpha"),
    "sub": (flow.sub, "input other alpha"),
    "subtract": (flow.subtract, "input other alpha"),
    "group_norm": (
        functional.group_norm,
        "input num_groups weight bias eps _cudnn_enabled",
    ),
    "layer_norm": (
        functional.layer_norm,
        "input normalized_shape weight bias eps _cudnn_enable",
    ),
    "_grouped_mm": (functional.grouped_mm, "mat_a mat_b offs bias out_dtype"),
    "one_hot": (functional.one_hot, "input num_classes"),
    "ctc_loss": (
        functional.ctc_loss,
        "log_probs targets input_lengths target_lengths blank reduction zero_infinity",
    ),
    "poisson_nll_loss": (
        functional.poisson_nll_loss,
        "input target log_input full eps reduction",
    ),
    "max_pool1d": (functional.max_pool1d, _POOL),
    "max_pool2d": (functional.max_pool2d, _POOL),
    "max_pool3d": (functional.max_pool3d, _POOL),
    "binary_cross_entropy": (functional.binary_cross_entropy, "input target weight reduction"),
    "binary_cross_entropy_with_logits": (
        functional.binary_cross_entropy_with_logits,
        "input target weight pos_weight reduction",
    ),
    "cosine_embedding_loss": (
        functional.cosine_embedding_loss,
        "input1 input2 target margin reduction",
    ),
    "cross_entropy_loss": (
        functional.cross_entropy,
        "input target weight reduction ignore_index label_smoothing",
    ),
    "hinge_embedding_loss": (functional.hinge_embedding_loss, "input target margin reduction"),
    "huber_loss": (functional.huber_loss, f"{_LOSS} delta"),
    "kl_div": (functional.kl_div, f"{_LOSS} log_target"),
    "l1_loss": (functional.l1_loss, _LOSS),
    "margin_ranking_loss": (
        functional.margin_ranking_loss,
        "input1 input2 target margin reduction",
    ),
    "mse_loss": (functional.mse_loss, _LOSS),
    "multi_margin_loss": (
        functional.multi_margin_loss,
        "input target p margin weight reduction",
    ),
    "multilabel_margin_loss": (functional.multilabel_margin_loss, _LOSS),
    "nll_loss": (functional.nll_loss, "input target weight reduction ignore_index"),
    "nll_loss_nd": (functional.nll_loss, "input target weight reduction ignore_index"),
    "nll_loss2d": (functional.nll_loss, "input target weight reduction ignore_index"),
    "smooth_l1_loss": (functional.smooth_l1_loss, "logits label reduction beta"),
    "soft_margin_loss": (functional.soft_margin_loss, _LOSS),
    "triplet_margin_loss": (
        functional.triplet_margin_loss,
        "anchor positive negative margin p eps swap reduction",
    ),
}
# The operators that have other names here.
_OTHER_NAMES: dict[str, Callable[..., Any]] = {
    "_conj": flow.conj,
    "_is_all_true": flow.all,
    "_is_any_true": flow.any,
    "_local_scalar_dense": Tensor.item,
    "_nnz": lambda input: input._nnz(),
    "_pin_memory": Tensor.pin_memory,
    "_sparse_addmm": flow.addmm,
    "_unsafe_view": Tensor.reshape,
    "col2im": functional.fold,
    "detach_copy": lambda input: input.detach().clone(),
    "im2col": functional.unfold,
    "lift_fresh": lambda input: input,
    "lift_fresh_copy": flow.clone,
    "log_sigmoid": functional.logsigmoid,
    "sym_numel": Tensor.numel,
    "sym_size": Tensor.size,
    "sym_storage_offset": Tensor.storage_offset,
    "sym_stride": Tensor.stride,
    "unfold": Tensor.unfold,
}


def _in_order(function: Callable[..., Any], order: str) -> Callable[..., Any]:
    """A function that takes its arguments in ATen's order; those with a leading `_` do nothing."""
    names = order.split()

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(names):
            raise TypeError(f"at most {len(names)} arguments are taken by position: {args}")
        arguments = dict(zip(names, args, strict=False)) | kwargs
        for name in names:
            if name.startswith("_"):
                arguments.pop(name, None)
                arguments.pop(name.removeprefix("_"), None)
        reduction = arguments.get("reduction")
        if isinstance(reduction, int):
            arguments["reduction"] = _REDUCTIONS[reduction]
        return function(**arguments)

    return call


def _to_copy(input: Tensor, *, dtype: Any = None, device: Any = None, **options: Any) -> Tensor:
    return input.to(device=device or input.device, dtype=dtype or input.dtype, copy=True)


def _convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    dims = weight.ndim - 2
    if transposed:
        function = getattr(functional, f"conv_transpose{dims}d")
        return function(
            input, weight, bias, stride, padding, output_padding, groups, dilation=dilation
        )
    function = getattr(functional, f"conv{dims}d")
    return function(input, weight, bias, stride, padding, dilation, groups)


def _any_convolution(*args: Any, **options: Any) -> Tensor:
    """A convolution; what follows its first nine arguments chooses among cuDNN's algorithms."""
    arguments = inspect.signature(_convolution).parameters
    named = {name: value for name, value in options.items() if name in arguments}
    return _convolution(*args[: len(arguments)], **named)


def _elu(input: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    # Large inputs would overflow, and give no gradient, where they are not chosen.
    negative = flow.expm1(flow.clamp(input, max=0) * input_scale)
    return scale * flow.where(input > 0, input, alpha * negative)


def _softmax(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return functional.softmax(input, dim, dtype=flow.float32 if half_to_float else None)


def _log_softmax(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return functional.log_softmax(input, dim, dtype=flow.float32 if half_to_float else None)


def _index(input: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    return input[tuple(slice(None) if index is None else index for index in indices)]


def _max_pool_with_indices(pool: Callable[..., Any]) -> Callable[..., Any]:
    def call(
        input: Tensor,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:
        return pool(input, kernel_size, stride or None, padding, dilation, True, ceil_mode)

    return call


def _padded(mode: str, input: Tensor, padding: Sequence[int]) -> Tensor:
    return functional.pad(input, list(padding), mode=mode)


def _native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    if train is False:
        return input.clone(), flow.ones_like(input, dtype=flow.bool)
    mask = flow.rand_like(input) >= p
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return input * mask * scale, mask


def _native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    dims = tuple(range(-len(normalized_shape), 0))
    variance, mean = flow.var_mean(input, dims, unbiased=False, keepdim=True)
    result = functional.layer_norm(input, tuple(normalized_shape), weight, bias, eps)
    return result, mean, flow.rsqrt(variance + eps)


def _slice(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    place = [slice(None)] * input.ndim
    place[dim] = slice(start, end, step)
    return input[tuple(place)]


def slice_copy(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """Return a copy of a slice along one dimension."""
    return _slice(input, dim, start, end, step).clone()


def _sparse_mm_reduce_impl(*args: Any, **kwargs: Any) -> NoReturn:
    raise_missing(
        "torch.ops.aten._sparse_mm_reduce_impl", "`torch.scatter_reduce` reduces by position"
    )


def _tensordot(
    input: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]
) -> Tensor:
    return flow.tensordot(input, other, (list(dims_self), list(dims_other)))


def _int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of matrices of `int8` as `int32`, in which the sums are exact.

    Args:
        self: a matrix, which may be one of `uint8`.
        mat2: another one.
    """
    dtypes = ((flow.int8, flow.uint8), (flow.int8,))
    for name, matrix, allowed in zip(("self", "mat2"), (self, mat2), dtypes, strict=True):
        if matrix.dtype not in allowed or matrix.dim() != 2:
            raise RuntimeError(f"`{name}` must be a matrix of int8, got {matrix.dtype}")
    return flow.mm(self.to(flow.int32), mat2.to(flow.int32))


ATEN_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_OTHER_NAMES,
    **{name: _in_order(*row) for name, row in _ORDERS.items()},
    # Libraries name it where they say what their tensors do with operators.
    "_sparse_mm_reduce_impl": _sparse_mm_reduce_impl,
    "_int_mm": _int_mm,
    "_log_softmax": _log_softmax,
    "_softmax": _softmax,
    "_to_copy": _to_copy,
    "alias": lambda input: input.view(input.shape),
    "_convolution": _any_convolution,
    "convolution": _convolution,
    "elu": _elu,
    "index": _index,
    "max_pool1d_with_indices": _max_pool_with_indices(functional.max_pool1d),
    "max_pool2d_with_indices": _max_pool_with_indices(functional.max_pool2d),
    "max_pool3d_with_indices": _max_pool_with_indices(functional.max_pool3d),
    **{
        f"{kind}_pad{dims}d": functools.partial(_padded, mode)
        for kind, mode in (("reflection", "reflect"), ("replication", "replicate"))
        for dims in (1, 2, 3)
    },
    "native_dropout": _native_dropout,
    "native_layer_norm": _native_layer_norm,
    "slice": _slice,
    "slice_copy": slice_copy,
    "tensordot": _tensordot,
}
# Public functions of these names take other arguments than ATen's operators.
DIFFERENT = frozenset({"embedding_bag", "fractional_max_pool2d", "fractional_max_pool3d", "stft"})
