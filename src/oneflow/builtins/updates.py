"""Steps of optimizers on lists of tensors, as upstream's builtins; tensors are written to."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.builtins.operands import require_lists
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.linalg.norms import vector_norm
from oneflow.functional.registry import function
from oneflow.functional.shape.concat import stack
from oneflow.tensor.operands import widened
from oneflow.tensor.tensor import Tensor


@function(method=False, namespace="_C")
def multi_tensor_sgd_update(
    model: Sequence[Tensor],
    model_diff: Sequence[Tensor],
    scale: float,
    weight_decay: float,
    learning_rate_val: float,
) -> None:
    """A step of gradient descent.

    Args:
        model: the tensors, which are written to.
        model_diff: their gradients.
        scale: factor of the gradients.
        weight_decay: the part of a tensor that is added to its gradient.
        learning_rate_val: factor of the step.

    Raises:
        RuntimeError: the lists differ in length, or are empty.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(1)
        >>> flow._C.multi_tensor_sgd_update([x], [flow.ones(1)], 2.0, 0.0, 0.25)
        >>> x
        tensor([0.5000], dtype=oneflow.float32)
    """
    require_lists("multi_tensor_sgd_update", model=model, model_diff=model_diff)
    with no_grad():
        for tensor, grad in zip(model, model_diff, strict=True):
            _move(tensor, _scaled(grad, scale), learning_rate_val, weight_decay)


@function(method=False, namespace="_C")
def multi_tensor_momentum_update(
    model: Sequence[Tensor],
    model_diff: Sequence[Tensor],
    momentum_buf: Sequence[Tensor],
    scale: float,
    weight_decay: float,
    learning_rate_val: float,
    momentum: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """A step of gradient descent with momentum; further arguments as of `multi_tensor_sgd_update`.

    Args:
        model: the tensors, which are written to.
        model_diff: their gradients.
        momentum_buf: their momentum, which is written to.
        scale: factor of the gradients.
        weight_decay: the part of a tensor that each step takes away, times the rate.
        learning_rate_val: factor of the step.
        momentum: the part of the old momentum that is kept.
        dampening: the part of a gradient that the momentum does not take.
        nesterov: look ahead along the momentum.
        maximize: go up.

    Example:
        >>> import oneflow as flow
        >>> x, speed = flow.ones(1), flow.ones(1)
        >>> options = (1.0, 0.0, 0.5, 0.5, 0.0, False, False)
        >>> flow._C.multi_tensor_momentum_update([x], [flow.zeros(1)], [speed], *options)
        >>> x.item(), speed.item()
        (0.75, 0.5)
    """
    lists = {"model": model, "model_diff": model_diff, "momentum_buf": momentum_buf}
    require_lists("multi_tensor_momentum_update", **lists)
    with no_grad():
        for tensor, diff, buffer in zip(*lists.values(), strict=True):
            grad = _scaled(diff, scale)
            buffer.mul_(momentum).add_(grad * (1 - dampening))
            step = grad + momentum * buffer if nesterov else buffer
            _move(tensor, -step if maximize else step, learning_rate_val, weight_decay)


@function(method=False, namespace="_C")
def multi_tensor_adam_update(
    model: Sequence[Tensor],
    model_diff: Sequence[Tensor],
    m: Sequence[Tensor],
    v: Sequence[Tensor],
    learning_rate_val: float,
    l2: float,
    beta1: float,
    beta2: float,
    bias_correction1_val: float,
    bias_correction2_val: float,
    do_bias_correction: bool,
    scale: float,
    weight_decay: float,
    epsilon: float,
) -> None:
    """A step of Adam.

    Args:
        model: the tensors, which are written to.
        model_diff: their gradients.
        m: the averages of gradients, which are written to.
        v: those of their squares, likewise.
        learning_rate_val: factor of the step.
        l2: the part of a tensor that is added to its gradient.
        beta1: the part of `m` that is kept.
        beta2: the decay of `v`.
        bias_correction1_val: divisor of `m`.
        bias_correction2_val: divisor of `v`.
        do_bias_correction: accepted: divisors of 1 correct nothing.
        scale: factor of the gradients.
        weight_decay: the part of a tensor that each step takes away, times the rate.
        epsilon: added to the root of `v`.

    Example:
        >>> import oneflow as flow
        >>> x, m, v = flow.ones(1), flow.zeros(1), flow.zeros(1)
        >>> options = (0.1, 0.0, 0.9, 0.999, 0.1, 0.001, True, 1.0, 0.0, 0.0)
        >>> flow._C.multi_tensor_adam_update([x], [flow.ones(1)], [m], [v], *options)
        >>> x
        tensor([0.9000], dtype=oneflow.float32)
    """
    lists = {"model": model, "model_diff": model_diff, "m": m, "v": v}
    require_lists("multi_tensor_adam_update", **lists)
    with no_grad():
        for tensor, diff, mean, square in zip(*lists.values(), strict=True):
            grad = _scaled(diff, scale) + l2 * tensor
            mean.mul_(beta1).add_(grad * (1 - beta1))
            square.mul_(beta2).add_(grad.square() * (1 - beta2))
            denominator = (square / bias_correction2_val).sqrt() + epsilon
            step = mean / bias_correction1_val / denominator
            _move(tensor, step, learning_rate_val, weight_decay)


@function(method=False, namespace="_C")
def fused_clip_grad(model_diff: Sequence[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """Scale gradients so that their norm, as if they were one vector, is at most `max_norm`.

    Args:
        model_diff: the gradients, which are written to.
        max_norm: the limit.
        norm_type: order of the norm.

    Returns:
        The norm before; of half precision in float32.

    Raises:
        RuntimeError: there is no gradient.

    Example:
        >>> import oneflow as flow
        >>> grad = flow.tensor([3.0, 4.0])
        >>> flow._C.fused_clip_grad([grad], 1.0, 2.0).item(), grad
        (5.0, tensor([0.6000, 0.8000], dtype=oneflow.float32))
    """
    require_lists("fused_clip_grad", model_diff=model_diff)
    with no_grad():
        norms = stack([vector_norm(widened(grad), norm_type) for grad in model_diff])
        norm = vector_norm(norms, norm_type)
        factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
        for grad in model_diff:
            grad.mul_(factor)
    return norm


def _scaled(grad: Tensor, scale: float) -> Tensor:
    """A gradient times `scale`, which half precision may not hold: in single precision at least."""
    return widened(grad) * scale


def _move(tensor: Tensor, step: Tensor, rate: float, weight_decay: float) -> None:
    tensor.sub_((step + weight_decay * tensor) * rate)
