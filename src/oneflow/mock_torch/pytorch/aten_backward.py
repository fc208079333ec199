"""Operators of ATen's backward passes, and forward ones that give what these need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import oneflow as flow
from oneflow import autograd
from oneflow.tensor.tensor import Tensor

functional = flow.nn.functional
_REDUCTIONS = ("none", "mean", "sum")


def _softmax_backward_data(grad: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    product = grad * output
    return (product - output * product.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax_backward_data(grad: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    return (grad - output.exp() * grad.sum(dim, keepdim=True)).to(input_dtype)


def _scatter(grad: Tensor, sizes: Sequence[int], place: Sequence[Any]) -> Tensor:
    result = grad.new_zeros(tuple(sizes))
    result[tuple(place)] = grad
    return result


def _select_backward(grad: Tensor, sizes: Sequence[int], dim: int, index: int) -> Tensor:
    place: list[Any] = [slice(None)] * len(sizes)
    place[dim] = index
    return _scatter(grad, sizes, place)


def _slice_backward(
    grad: Tensor, sizes: Sequence[int], dim: int, start: int, end: int, step: int
) -> Tensor:
    place: list[Any] = [slice(None)] * len(sizes)
    place[dim] = slice(start, end, step)
    return _scatter(grad, sizes, place)


def _embedding_dense_backward(
    grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    rows = indices.reshape(-1)
    grads = grad.reshape(-1, grad.shape[-1])
    if scale_grad_by_freq:
        grads = grads / rows.bincount(minlength=num_weights)[rows].unsqueeze(1)
    if padding_idx >= 0:
        grads = grads.masked_fill((rows == padding_idx).unsqueeze(1), 0)
    return grads.new_zeros(num_weights, grad.shape[-1]).index_add(0, rows, grads)


def _nll_loss_forward(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    loss = functional.nll_loss(
        input, target, weight, ignore_index=ignore_index, reduction=_REDUCTIONS[reduction]
    )
    counts = (target != ignore_index).to(input.dtype)
    if weight is not None:
        counts = counts * weight[target.clamp(min=0, max=weight.numel() - 1)]
    return loss, counts.sum()


def _nll_loss_backward(
    grad: Tensor,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    with autograd.enable_grad():
        x = input if input.requires_grad else input.detach().requires_grad_()
        loss = _nll_loss_forward(x, target, weight, reduction, ignore_index)[0]
    create_graph = grad.requires_grad or input.requires_grad
    (gradient,) = autograd.grad(loss, x, grad, create_graph=create_graph)
    assert gradient is not None  # of a loss of it
    return gradient


def _native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    result = functional.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    if not training:
        empty = input.new_empty(0)
        return result, empty, empty
    dims = (0, *range(2, input.ndim))
    variance, mean = flow.var_mean(input, dims, unbiased=False)
    return result, mean, flow.rsqrt(variance + eps)


BACKWARD_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "_softmax_backward_data": _softmax_backward_data,
    "_log_softmax_backward_data": _log_softmax_backward_data,
    "embedding_dense_backward": _embedding_dense_backward,
    "native_batch_norm": _native_batch_norm,
    "native_dropout_backward": lambda grad, mask, scale: grad * mask * scale,
    "nll_loss_backward": _nll_loss_backward,
    "nll_loss_forward": _nll_loss_forward,
    "select_backward": _select_backward,
    "sigmoid_backward": lambda grad, output: grad * (1 - output) * output,
    "slice_backward": _slice_backward,
    "tanh_backward": lambda grad, output: grad * (1 - output * output),
    "threshold_backward": lambda grad, x, threshold: flow.where(x <= threshold, 0.0, grad),
}


def backward_of(function: Callable[..., Any]) -> Callable[..., tuple[Tensor | None, ...]]:
    """Return the operator beside one that gives the gradients of its tensors.

    It takes the gradients of the results, which of the floating-point tensors among the arguments
    need one, the overload's name, and the arguments; and is differentiable itself.

    Args:
        function: computes the operator.
    """

    def backward(
        grads: Sequence[Tensor | None], needed: Sequence[bool], overload: str, *args: Any, **kw: Any
    ) -> tuple[Tensor | None, ...]:
        leaves: list[Tensor] = []
        is_recorded = autograd.is_grad_enabled() and _requires_grad((grads, args, kw))
        with autograd.enable_grad():
            result = function(*_with_leaves(args, leaves), **_with_leaves(kw, leaves))
        pairs = [
            (x, grad)
            for x, grad in zip(_tensors(result), grads, strict=True)
            if grad is not None and x.requires_grad
        ]
        inputs = [x for x, is_needed in zip(leaves, needed, strict=True) if is_needed]
        outputs, weights = [x for x, _ in pairs], [grad for _, grad in pairs]
        gradients = iter(
            autograd.grad(outputs, inputs, weights, create_graph=is_recorded, allow_unused=True)
        )
        return tuple(next(gradients) if is_needed else None for is_needed in needed)

    return backward


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    members = value.values() if isinstance(value, dict) else value
    several = isinstance(value, list | tuple | dict)
    return [x for member in members for x in _tensors(member)] if several else []


def _requires_grad(value: Any) -> bool:
    return any(x.requires_grad for x in _tensors(value))


def _with_leaves(value: Any, leaves: list[Tensor]) -> Any:
    """Arguments whose floating-point tensors require grad; these are appended to `leaves`."""
    if isinstance(value, Tensor):
        if value.is_floating_point() or value.is_complex():
            leaf = value.view_as(value) if value.requires_grad else value.detach().requires_grad_()
            leaves.append(leaf)
            return leaf
        return value
    if isinstance(value, list | tuple):
        return [_with_leaves(member, leaves) for member in value]
    if isinstance(value, dict):
        return {name: _with_leaves(member, leaves) for name, member in value.items()}
    return value
