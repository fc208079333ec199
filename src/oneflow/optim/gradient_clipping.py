"""Limiting gradients: by their common norm, or element by element."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

from oneflow.differentiation.grad_mode import no_grad
from oneflow.primitives.operators import gradient_clipping as p
from oneflow.primitives.operators.elementwise import add, cast, clamp_max, div, mul
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array, to_place
from oneflow.tensor.views import unwrap, write


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
    fused: bool = False,
) -> Tensor:
    """Scale all gradients so that their norm, as if they were one vector, is at most `max_norm`.

    Args:
        parameters: tensors; those without gradient are skipped.
        max_norm: the limit.
        norm_type: order of the norm; ``float("inf")`` or ``"inf"`` for the largest element.
        error_if_nonfinite: raise if the norm is not finite; that has to wait for its value.
        foreach: accepted; one program does all of it anyway.
        fused: accepted, likewise.

    Returns:
        The norm before clipping, a 0-dim tensor.

    Raises:
        RuntimeError: the norm is not finite and `error_if_nonfinite` is set.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([3.0, 4.0], requires_grad=True)
        >>> w.pow(2).sum().backward()
        >>> norm = flow.nn.utils.clip_grad_norm_([w], max_norm=1.0)
        >>> norm.item(), w.grad
        (10.0, tensor([0.6000, 0.8000], dtype=oneflow.float32))
    """
    grads = _gradients(parameters)
    if not grads:
        return import_array(0.0)
    order = float(norm_type)
    with no_grad():
        if error_if_nonfinite:
            get_total_norm(grads, order, error_if_nonfinite=True)
        groups = by_place(grads)
        if len(groups) > 1:
            norm = _norm_of(groups, order)
            _scale_by_norm(groups, norm, max_norm)
        else:
            values = [unwrap(grad) for grad in grads]
            norm, *new_grads = p.clip_norm(float(max_norm), *values, order=order)
            for grad, value in zip(grads, new_grads, strict=True):
                write(grad, value)
    return wrap(norm)


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of tensors, as if they were one vector.

    Args:
        tensors: the tensors, such as gradients.
        norm_type: order of the norm; ``float("inf")`` or ``"inf"`` for the largest element.
        error_if_nonfinite: raise if the norm is not finite; that has to wait for its value.
        foreach: accepted; one program does all of it anyway.

    Raises:
        RuntimeError: the norm is not finite and `error_if_nonfinite` is set.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.utils.get_total_norm([flow.tensor([3.0]), flow.tensor([4.0])]).item()
        5.0
    """
    vectors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not vectors:
        return import_array(0.0)
    order = float(norm_type)
    with no_grad():
        norm = wrap(_norm_of(by_place(vectors), order))
    if error_if_nonfinite and not math.isfinite(norm.item()):
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite "
            f"({norm.item()}), so it cannot be clipped. To disable this error and scale the "
            "gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return norm


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale all gradients by what brings a norm, which is given, to at most `max_norm`.

    Args:
        parameters: tensors; those without gradient are skipped.
        max_norm: the limit.
        total_norm: the norm, such as `get_total_norm` returns.
        foreach: accepted; one program does all of it anyway.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([3.0, 4.0], requires_grad=True)
        >>> w.pow(2).sum().backward()
        >>> norm = flow.nn.utils.get_total_norm([w.grad])
        >>> flow.nn.utils.clip_grads_with_norm_([w], 1.0, norm)
        >>> w.grad
        tensor([0.6000, 0.8000], dtype=oneflow.float32)
    """
    grads = _gradients(parameters)
    if grads:
        with no_grad():
            _scale_by_norm(by_place(grads), unwrap(total_norm), max_norm)


def by_place(grads: list[Tensor]) -> list[list[Tensor]]:
    """The gradients that are on the same device or placement, together."""
    groups: dict[Any, list[Tensor]] = {}
    for grad in grads:
        groups.setdefault(unwrap(grad).spec.device, []).append(grad)
    return list(groups.values())


def _norm_of(groups: list[list[Tensor]], order: float) -> Value:
    """The norm of all gradients, where the first ones are."""
    norms = [p.total_norm(*[unwrap(grad) for grad in group], order=order) for group in groups]
    if len(norms) == 1:
        return norms[0]
    device = norms[0].spec.device
    gathered = [to_place(norm, device) for norm in norms]
    if order == 0:
        # Each of them counts; the norm of counts would only say which are not zero.
        return functools.reduce(add, gathered)
    return p.total_norm(*gathered, order=order)


def _scale_by_norm(groups: list[list[Tensor]], norm: Value, limit: float) -> None:
    """Scale gradients on several placements by what their common norm asks for."""
    scale = clamp_max(div(float(limit), add(norm, 1e-6)), 1.0)
    for group in groups:
        factor = to_place(scale, unwrap(group[0]).spec.device)
        for grad in group:
            value = unwrap(grad)
            write(grad, cast(mul(value, factor), dtype=value.spec.dtype))


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Limit every element of every gradient to ``[-clip_value, clip_value]``.

    Args:
        parameters: tensors; those without gradient are skipped.
        clip_value: the limit.
        foreach: accepted; one program does all of it anyway.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([3.0, 0.1], requires_grad=True)
        >>> w.pow(2).sum().backward()
        >>> flow.nn.utils.clip_grad_value_([w], clip_value=1.0)
        >>> w.grad.tolist()
        [1.0, 0.20000000298023224]
    """
    grads = _gradients(parameters)
    with no_grad():
        for grad in grads:
            write(grad, p.clip_value(unwrap(grad), float(clip_value)))


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    tensors = [parameters] if isinstance(parameters, Tensor) else parameters
    return [grad for grad in [tensor.grad for tensor in tensors] if grad is not None]
