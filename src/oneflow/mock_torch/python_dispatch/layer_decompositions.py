"""Layers and losses of `nn.functional` as the operators that PyTorch's are composed of."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import oneflow as flow
from oneflow.mock_torch.python_dispatch.decompositions import DECOMPOSITIONS, composition
from oneflow.mock_torch.python_dispatch.operators import operator
from oneflow.nn import functional
from oneflow.tensor.tensor import Tensor

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


@composition("linear")
def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if bias is None:
        return input.matmul(weight.t())
    if input.ndim == 2:
        return operator("addmm", bias, input, weight.t())
    if input.ndim > 2 and input.is_contiguous():
        rows = operator("view", input, [math.prod(input.shape[:-1]), input.shape[-1]])
        product = operator("addmm", bias, rows, weight.t())
        return operator("view", product, [*input.shape[:-1], weight.shape[0]])
    return input.matmul(weight.t()) + bias


def _activation(name: str) -> Callable[..., Any]:
    def activation(input: Tensor, *args: Any, inplace: bool = False, **options: Any) -> Tensor:
        return operator(f"{name}_" if inplace else name, input, *args, **options)

    return activation


for _name in ["relu", "silu", "mish", "hardswish", "hardsigmoid"]:
    DECOMPOSITIONS[_name] = _activation(_name)


@composition("leaky_relu")
def _leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    return operator("leaky_relu_" if inplace else "leaky_relu", input, negative_slope)


@composition("elu")
def _elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return operator("elu_" if inplace else "elu", input, alpha)


@composition("gelu")
def _gelu(input: Tensor, approximate: str = "none") -> Tensor:
    return operator("gelu", input, approximate=approximate)


@composition("rrelu")
def _rrelu(
    x: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
    generator: Any = None,
) -> Tensor:
    if not lower <= upper < math.inf:
        return NotImplemented  # the function says what is wrong
    if not training:
        return _leaky_relu(x, (lower + upper) / 2, inplace)
    slopes = flow.empty_like(x).uniform_(lower, upper, generator=generator)
    result = flow.where(x >= 0, x, x * slopes)
    return operator("copy_", x, result) if inplace else result


@composition("dropout")
def _dropout(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    generator: Any = None,
    *,
    addend: Tensor | None = None,
) -> Tensor:
    if generator is not None or addend is not None:
        return NotImplemented
    if not training or p == 0:
        return input
    result = operator("native_dropout", input, p, True)[0]
    return operator("copy_", input, result) if inplace else result


@composition("layer_norm")
def _layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    shape = [int(size) for size in normalized_shape]
    return operator("native_layer_norm", input, shape, weight, bias, eps)[0]


@composition("batch_norm")
def _batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    arguments = (weight, bias, running_mean, running_var, training, momentum, eps)
    return operator("native_batch_norm", input, *arguments)[0]


def _instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    has_one_number = math.prod(input.shape[2:]) == 1
    if input.ndim < 3 or (has_one_number if use_input_stats else running_mean is None):
        return NotImplemented  # the function says what is wrong
    count, channels = input.shape[:2]
    weight, bias, mean, variance = (
        None if x is None else x.repeat(count) for x in (weight, bias, running_mean, running_var)
    )
    images = input.contiguous().view(1, count * channels, *input.shape[2:])
    result = _batch_norm(images, mean, variance, weight, bias, use_input_stats, momentum, eps)
    for statistic, updated in ((running_mean, mean), (running_var, variance)):
        if use_input_stats and statistic is not None and updated is not None:
            operator("alias", statistic).copy_(updated.view(count, channels).mean(0))
    return result.view(input.shape)


DECOMPOSITIONS["instance_norm"] = _instance_norm


@composition("nn.functional.instance_norm")
def _functional_instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    statistics = (running_mean, running_var)
    return _instance_norm(input, weight, bias, *statistics, use_input_stats, momentum, eps)


@composition("embedding")
def _embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    if max_norm is not None:
        raise NotImplementedError(
            "`max_norm` of `embedding` where operators are computed by `__torch_dispatch__`: "
            "renormalize the rows before"
        )
    place = -1 if padding_idx is None else padding_idx % weight.shape[0]
    return operator("embedding", weight, input, place, scale_grad_by_freq, sparse)


def _several(value: int | Sequence[int], count: int) -> list[int]:
    numbers = [value] if isinstance(value, int) else [int(number) for number in value]
    return numbers * count if len(numbers) == 1 else numbers


def _convolution(count: int) -> Callable[..., Any]:
    def convolution(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        if padding == "valid":
            padding = 0
        elif isinstance(padding, str):
            sums = [
                step * (size - 1)
                for step, size in zip(_several(dilation, count), weight.shape[2:], strict=True)
            ]
            if any(total % 2 for total in sums):
                sides = [side for total in reversed(sums) for side in (total // 2, -(-total // 2))]
                input, padding = operator("constant_pad_nd", input, sides), 0
            else:
                padding = [total // 2 for total in sums]
        sizes = [_several(value, count) for value in (stride, padding, dilation)]
        return _of_batch(input, count, weight, bias, *sizes, False, [0] * count, groups)

    return convolution


def _transposed_convolution(count: int) -> Callable[..., Any]:
    def convolution(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        sizes = [_several(value, count) for value in (stride, padding, dilation)]
        added = _several(output_padding, count)
        return _of_batch(input, count, weight, bias, *sizes, True, added, groups)

    return convolution


def _of_batch(input: Tensor, count: int, *arguments: Any) -> Tensor:
    """A convolution of a batch, or of one element."""
    if input.ndim == count + 2:
        return operator("convolution", input, *arguments)
    return operator("convolution", input.unsqueeze(0), *arguments).squeeze(0)


for _count in (1, 2, 3):
    DECOMPOSITIONS[f"conv{_count}d"] = _convolution(_count)
    DECOMPOSITIONS[f"conv_transpose{_count}d"] = _transposed_convolution(_count)


@composition("nn.functional.unfold")
def _unfold(
    x: Tensor,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
    data_format: str = "channels_first",
) -> Tensor:
    if data_format != "channels_first":
        return NotImplemented
    sizes = (_several(value, 2) for value in (kernel_size, dilation, padding, stride))
    return operator("im2col", x, *sizes)


@composition("nn.functional.fold")
def _fold(
    x: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
    data_format: str = "channels_first",
) -> Tensor:
    if data_format != "channels_first":
        return NotImplemented
    sizes = (_several(value, 2) for value in (output_size, kernel_size, dilation, padding, stride))
    return operator("col2im", x, *sizes)


@composition("max_pool2d")
def _max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    sizes = [_several(value, 2) for value in (padding, dilation)]
    steps = [] if stride is None else _several(stride, 2)
    result = operator(
        "max_pool2d_with_indices", input, _several(kernel_size, 2), steps, *sizes, ceil_mode
    )
    return tuple(result) if return_indices else result[0]


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    return loss if reduction == "none" else getattr(loss, reduction)()


def _loss(name: str, *names: str) -> Callable[..., Any]:
    """A loss that is one operator, which takes its reduction as a number behind some arguments."""

    def loss(*args: Any, **kwargs: Any) -> Tensor:
        try:
            arguments = inspect.signature(getattr(functional, name)).bind(*args, **kwargs).arguments
        except TypeError:
            return NotImplemented  # those of older versions, or the function says what is wrong
        input, target, *_ = arguments.values()
        options = dict(list(arguments.items())[2:])
        before = [options.pop(key, None) for key in names]
        number = _REDUCTIONS.get(options.pop("reduction", "mean"))
        if number is None or options.pop("weight", None) is not None:
            return NotImplemented
        return operator(name, input, target, *before, number, **options)

    return loss


DECOMPOSITIONS["mse_loss"] = _loss("mse_loss")
DECOMPOSITIONS["smooth_l1_loss"] = _loss("smooth_l1_loss")
DECOMPOSITIONS["huber_loss"] = _loss("huber_loss")
DECOMPOSITIONS["binary_cross_entropy"] = _loss("binary_cross_entropy", "weight")
DECOMPOSITIONS["binary_cross_entropy_with_logits"] = _loss(
    "binary_cross_entropy_with_logits", "weight", "pos_weight"
)


@composition("l1_loss")
def _l1_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    if weight is not None:
        return NotImplemented
    return _reduced((input - target).abs(), reduction)


@composition("nll_loss")
def _nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    number = _REDUCTIONS[reduction]
    return operator("nll_loss_forward", input, target, weight, number, ignore_index)[0]


@composition("cross_entropy")
def _cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    if label_smoothing or target.is_floating_point():
        number = _REDUCTIONS[reduction]
        arguments = (input, target, weight, number, ignore_index, label_smoothing)
        return operator("cross_entropy_loss", *arguments)
    logs = operator("_log_softmax", input, 1 if input.ndim > 1 else 0, False)
    number = _REDUCTIONS[reduction]
    return operator("nll_loss_forward", logs, target, weight, number, ignore_index)[0]


@composition("pad")
def _pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Tensor:
    if mode == "constant":
        return operator("constant_pad_nd", input, list(pad), 0.0 if value is None else value)
    name = {"reflect": "reflection_pad", "replicate": "replication_pad"}.get(mode)
    if name is None or len(pad) not in (2, 4, 6):
        return NotImplemented
    return operator(f"{name}{len(pad) // 2}d", input, list(pad))


@composition("scaled_dot_product_attention")
def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    if enable_gqa:
        repeats = query.shape[-3] // key.shape[-3]
        key, value = (x.repeat_interleave(repeats, -3) for x in (key, value))
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = (query @ key.transpose(-2, -1)) * factor
    if is_causal:
        rows, columns = scores.shape[-2:]
        attn_mask = flow.ones(rows, columns, dtype=flow.bool, device=query.device).tril()
    if attn_mask is not None:
        is_boolean = attn_mask.dtype is flow.bool
        scores = (
            scores.masked_fill(operator("bitwise_not", attn_mask), float("-inf"))
            if is_boolean
            else scores + attn_mask
        )
    return _dropout(operator("_softmax", scores, -1, False), dropout_p) @ value
