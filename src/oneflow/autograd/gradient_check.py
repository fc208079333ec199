"""Gradients compared with differences of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.autograd.functional import _tuple
from oneflow.autograd.gradients import grad
from oneflow.differentiation.grad_mode import enable_grad, no_grad
from oneflow.functional.random.creation import randn
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array


class GradcheckError(RuntimeError):
    """A gradient differs from the difference quotient."""


def _numerical(
    func: Callable, inputs: tuple, position: int, weights: list[np.ndarray], eps: float
) -> np.ndarray:
    """Difference quotients of the weighted outputs, by each element of one input."""
    base = inputs[position].detach().numpy()
    slopes = np.zeros(base.shape)
    for index in np.ndindex(base.shape):
        ends = []
        for step in (eps, -eps):
            moved = base.copy()
            moved[index] += step
            given = list(inputs)
            given[position] = import_array(moved)
            with no_grad():
                outputs = _tuple(func(*given), "outputs of the function", "gradcheck")
            ends.append(sum((w * o.numpy()).sum() for w, o in zip(weights, outputs, strict=True)))
        slopes[index] = (ends[0] - ends[1]) / (2 * eps)
    return slopes


def _difference(
    func: Callable, inputs: tuple, eps: float, atol: float, rtol: float, nondet_tol: float
) -> str | None:
    """The difference between analytical and numerical gradients as text, or None."""
    outputs = _tuple(func(*inputs), "outputs of the function", "gradcheck")
    weights = [randn(each.shape, dtype=each.dtype) for each in outputs]
    wanted = [p for p, each in enumerate(inputs) if isinstance(each, Tensor) and each.requires_grad]
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor that requires grad")
    for position in wanted:
        if inputs[position].dtype.itemsize < 8:
            raise ValueError(
                f"input {position} has dtype {inputs[position].dtype!r}; differences need float64"
            )
    options = {"allow_unused": True, "materialize_grads": True, "retain_graph": True}
    grads, repeated = (
        grad(outputs, [inputs[p] for p in wanted], weights, **options) for _ in range(2)
    )
    plain = [each.numpy() for each in weights]
    for position, found, second in zip(wanted, grads, repeated, strict=True):
        assert found is not None
        assert second is not None
        if not np.allclose(found.numpy(), second.numpy(), 0, nondet_tol, equal_nan=True):
            return (
                f"a second backward pass gives another gradient of input {position}:\n"
                f"first: {found.numpy()}\nsecond: {second.numpy()}"
            )
        expected = _numerical(func, inputs, position, plain, eps)
        if not np.allclose(found.numpy(), expected, rtol, atol, equal_nan=True):
            return (
                f"gradient of input {position} differs from the difference quotient:\n"
                f"numerical: {expected}\nanalytical: {found.numpy()}"
            )
    return None


# PyTorch's options of further checks, and of a check of some directions alone.
_OPTIONS = {
    "check_backward_ad",
    "check_batched_forward_grad",
    "check_batched_grad",
    "check_forward_ad",
    "check_grad_dtypes",
    "check_undefined_grad",
    "fast_mode",
    "masked",
}


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    **options: bool,
) -> bool:
    """Compare the gradients of a function with difference quotients.

    Args:
        func: takes tensors, returns one tensor or a tuple.
        inputs: one tensor or a tuple; those that require grad are checked and must be float64.
        eps: step of the difference.
        atol: absolute tolerance.
        rtol: relative tolerance.
        raise_exception: raise instead of returning False.
        nondet_tol: how much a second backward pass may give other gradients.
        options: PyTorch's other options, such as `fast_mode`, accepted: whole gradients are
            compared in any case.

    Returns:
        Whether they agree.

    Raises:
        GradcheckError: they do not, and `raise_exception` is set.
        TypeError: PyTorch has no such option.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([0.5, 2.0], dtype=flow.float64, requires_grad=True)
        >>> flow.autograd.gradcheck(lambda x: x * x * x, x)
        True
    """
    if unknown := options.keys() - _OPTIONS:
        raise TypeError(f"gradcheck() got an unexpected keyword argument '{min(unknown)}'")
    as_tuple = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    wrong = _difference(func, as_tuple, eps, atol, rtol, nondet_tol)
    if wrong is not None and raise_exception:
        raise GradcheckError(wrong)
    return wrong is None


def gradgradcheck(func: Callable[..., Any], inputs: Any, **options: Any) -> bool:
    """`gradcheck` of the gradient of a function: checks second derivatives.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([0.5, 2.0], dtype=flow.float64, requires_grad=True)
        >>> flow.autograd.gradgradcheck(lambda x: x * x * x, x)
        True
    """
    as_tuple = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    outputs = _tuple(func(*as_tuple), "outputs of the function", "gradgradcheck")
    weights = tuple(randn(each.shape, dtype=each.dtype, requires_grad=True) for each in outputs)
    tracked = [isinstance(each, Tensor) and each.requires_grad for each in as_tuple]

    def slopes(*given: Any) -> tuple[Tensor | None, ...]:
        with enable_grad():
            points = [
                each if not want or each.requires_grad else each.detach().requires_grad_()
                for each, want in zip(given[: len(as_tuple)], tracked, strict=True)
            ]
            return grad(
                func(*points),
                [each for each, want in zip(points, tracked, strict=True) if want],
                given[len(as_tuple) :],
                create_graph=True,
                materialize_grads=True,
            )

    return gradcheck(slopes, (*as_tuple, *weights), **options)
