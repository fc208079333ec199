"""Forward mode through functions of users: their `jvp` in place of their `backward`.

Tangents are found by two backward passes, which need the adjoint of each operator. A function with
a `jvp` is linear in the tangents, so its adjoint is the gradient of that `jvp`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.autograd.gradients import optional_derivatives
from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import enable_grad
from oneflow.primitives.operators.shape import zeros_of
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor


def adjoint(
    jvp: Callable[..., Any],
    context: Any,
    specs: Sequence[TensorSpec | None],
    weights: Sequence[Tensor | None],
) -> tuple[Tensor | None, ...]:
    """The gradients of a function's inputs, from its `jvp` and the gradients of its results.

    Args:
        jvp: the function of the user; it takes a context and a tangent for each input.
        context: the first argument of `jvp`.
        specs: what the inputs are; None for those that are no tensors.
        weights: the gradients of the results.

    Raises:
        RuntimeError: `jvp` returns another number of tangents than `forward` returned results.
    """
    with enable_grad():
        leaves = [None if spec is None else _leaf(spec) for spec in specs]
        # Clones may be written to, as tangents of inputs are that `forward` changes.
        returned = jvp(context, *(None if leaf is None else leaf.clone() for leaf in leaves))
    changes = returned if isinstance(returned, tuple) else (returned,)
    if len(changes) != len(weights):
        raise RuntimeError(
            f"`jvp` returned {len(changes)} tangents for {len(weights)} results of `forward`; "
            "return one for each, None for those that change with nothing"
        )
    pairs = [
        (change, weight)
        for change, weight in zip(changes, weights, strict=True)
        if isinstance(change, Tensor) and change.requires_grad and weight is not None
    ]
    inputs = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
    if not pairs or not inputs:
        return (None,) * len(leaves)
    outputs, grads = (list(members) for members in zip(*pairs, strict=True))
    slopes = iter(optional_derivatives(outputs, inputs, grads, hooks=False, create_graph=True))
    return tuple(
        next(slopes) if leaf is not None and leaf.requires_grad else None for leaf in leaves
    )


def _leaf(spec: TensorSpec) -> Tensor:
    """A tangent of an input: a variable, if the input has a derivative."""
    tangent = wrap(zeros_of(spec))
    differentiable = spec.dtype.is_floating_point or spec.dtype.is_complex
    return tangent.requires_grad_() if differentiable else tangent
