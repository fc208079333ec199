"""Gradients compared with differences of values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.autograd.functional import _tuple
from oneflow.autograd.gradients import derivatives, grad
from oneflow.base.dtype import complex128, float64
from oneflow.differentiation.grad_mode import enable_grad
from oneflow.functional.random.creation import randn
from oneflow.random.generator import Generator
from oneflow.tensor.composed import composed_form, elements_of, in_form
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array


class GradcheckError(RuntimeError):
    """A gradient differs from the difference quotient."""


def _weighted(outputs: Sequence[Tensor], weights: Sequence[np.ndarray]) -> float:
    """The real number that is checked: the real part of all outputs times conjugate weights.

    Raises:
        AssertionError: an output has not the shape and dtype that it had at the inputs.
    """
    for weight, output in zip(weights, outputs, strict=True):
        if (weight.shape, weight.dtype) != (tuple(output.shape), output.dtype.numpy):
            raise AssertionError(
                "gradcheck: the function must return outputs with the same shape and dtype when "
                f"its inputs are changed a little; one had shape {weight.shape} and dtype "
                f"{weight.dtype}, and has shape {tuple(output.shape)} and dtype {output.dtype}"
            )
    return sum(
        float((weight.conj() * output.detach().numpy().astype(weight.dtype)).sum().real)
        for weight, output in zip(weights, outputs, strict=True)
    )


def _numerical(
    func: Callable, inputs: tuple, position: int, weights: Sequence[np.ndarray], eps: float
) -> np.ndarray:
    """Difference quotients of the weighted outputs by each element of one input.

    For a complex input they are those by its real part and, times i, by its imaginary part: the
    gradient as autograd defines it.
    """
    point = inputs[position]
    before = point.data
    base = before.numpy()
    slopes = np.zeros(base.shape, np.result_type(base.dtype, np.float64))

    def value_at(index: tuple[int, ...], step: complex) -> float:
        moved = base.copy()
        moved[index] += step
        # The function may see the input elsewhere too: in a closure, or as its own hook's.
        point.data = import_array(moved, None, point.device)
        try:
            outputs = _tuple(func(*inputs), "outputs of the function", "gradcheck")
            # The outputs are read here, as one may be the input itself.
            return _weighted(outputs, weights)
        finally:
            point.data = before

    for index in np.ndindex(base.shape):
        for unit in (1, 1j) if point.is_complex() else (1,):
            difference = value_at(index, eps * unit) - value_at(index, -eps * unit)
            slopes[index] += difference / (2 * eps) * unit
    return slopes


def _on_elements(func: Callable[..., Any], inputs: tuple) -> tuple[Callable[..., Any], tuple]:
    """Return `func` as a function of the values that sparse and nested tensors store, and these.

    The function takes and returns such values.

    Elements that a sparse tensor does not store are not moved.
    """
    templates = [composed_form(value) for value in inputs]
    values = tuple(
        value if form is None else elements_of(value).detach().requires_grad_(value.requires_grad)
        for value, form in zip(inputs, templates, strict=True)
    )

    def on_elements(*moved: Any) -> Any:
        outputs = func(*map(in_form, templates, moved))
        return tuple(map(elements_of, _tuple(outputs, "outputs of the function", "gradcheck")))

    return on_elements, values


def _random(like: Tensor, requires_grad: bool = False) -> Tensor:
    """Random numbers that change no generator of the user."""
    return randn(
        like.shape,
        dtype=like.dtype,
        device=like.device,
        generator=Generator(),
        requires_grad=requires_grad,
    )


def _checked_positions(inputs: tuple) -> list[int]:
    """The positions of the inputs whose gradients are checked.

    Raises:
        ValueError: there are none.
    """
    positions = [
        p for p, value in enumerate(inputs) if isinstance(value, Tensor) and value.requires_grad
    ]
    if not positions:
        raise ValueError("gradcheck expects at least one input tensor that requires grad")
    for position in positions:
        if inputs[position].dtype not in (float64, complex128):
            warnings.warn(
                f"input {position} has dtype {inputs[position].dtype!r}: difference quotients of "
                "anything but float64 and complex128 are rough, so that the check will likely fail",
                stacklevel=4,
            )
    return positions


# The units in the last place of a gradient's largest number by which equal passes may differ.
_MAX_ULPS = 4096


def _difference(
    func: Callable,
    inputs: tuple,
    eps: float,
    tolerances: tuple[float, float],
    nondet_tol: float,
    modes: Sequence[str],
) -> str | None:
    """The difference between analytical and numerical gradients as text, or None.

    Args:
        func: the function.
        inputs: its arguments.
        eps: the step of the difference.
        tolerances: the absolute and the relative one.
        nondet_tol: how much a second pass may give other gradients.
        modes: whose gradients are compared: those of ``"backward"`` passes, and those of
            ``"forward"`` mode, which asks functions of users for their `jvp`.
    """
    positions = _checked_positions(inputs)
    outputs = _tuple(func(*inputs), "outputs of the function", "gradcheck")
    # As in PyTorch, an output without history counts only if all are such.
    tracked = any(output.requires_grad for output in outputs)
    weights = [
        _random(output) if output.requires_grad else output.detach() * 0 + (not tracked)
        for output in outputs
    ]
    points = [inputs[position] for position in positions]
    passes = {
        mode: [derivatives(outputs, points, weights, hooks=mode == "backward") for _ in range(2)]
        for mode in modes
    }
    plain = [weight.detach().numpy() for weight in weights]
    for place, position in enumerate(positions):
        expected = _numerical(func, inputs, position, plain, eps)
        for mode, runs in passes.items():
            first, second = (gradients[place].detach().numpy() for gradients in runs)
            if not _is_close(first, second, nondet_tol):
                return (
                    f"a second {mode} pass gives another gradient of input {position}:\n"
                    f"first: {first}\nsecond: {second}"
                )
            atol, rtol = tolerances
            if not np.allclose(first, expected, rtol, atol, equal_nan=True):
                return (
                    f"gradient of input {position} in {mode} mode differs from the difference "
                    f"quotient:\nnumerical: {expected}\nanalytical: {first}"
                )
    return None


def _is_close(first: np.ndarray, second: np.ndarray, tolerance: float) -> bool:
    """Return whether two passes gave one gradient; the second may be compiled: other roundings."""
    largest = np.max(np.abs(first[np.isfinite(first)]), initial=0)
    rounding = _MAX_ULPS * np.finfo(first.dtype).eps * largest
    return np.allclose(first, second, 0, max(tolerance, rounding), equal_nan=True)


# PyTorch's options of further checks, and of a check of some directions alone.
_OPTIONS = {
    "check_batched_forward_grad",
    "check_batched_grad",
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
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    **options: bool,
) -> bool:
    """Compare the gradients of a function with difference quotients.

    Args:
        func: takes tensors, returns one tensor or a tuple.
        inputs: one tensor or a tuple; those that require grad are checked. They should be float64
            or complex128. Of sparse and nested tensors the values that they store are.
        eps: step of the difference.
        atol: absolute tolerance.
        rtol: relative tolerance.
        raise_exception: raise instead of returning False.
        nondet_tol: how much a second backward pass may give other gradients, roundings apart.
        check_forward_ad: compare the gradients of forward mode, too, where functions of users
            have a `jvp`.
        check_backward_ad: compare those of backward passes.
        options: PyTorch's other options, such as `fast_mode`, accepted: whole gradients are
            compared in any case.

    Returns:
        Whether they agree.

    Raises:
        GradcheckError: they do not, and `raise_exception` is set.
        AssertionError: the function's results have other shapes or dtypes nearby, or nothing
            is to be checked.
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
    checks = {"forward": check_forward_ad, "backward": check_backward_ad}
    modes = [mode for mode, is_checked in checks.items() if is_checked]
    if not modes:
        raise AssertionError("gradcheck: `check_forward_ad` or `check_backward_ad` must be true")
    wrong = _difference(*_on_elements(func, as_tuple), eps, (atol, rtol), nondet_tol, modes)
    if wrong is not None and raise_exception:
        raise GradcheckError(wrong)
    return wrong is None


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    gen_non_contig_grad_outputs: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    **options: Any,
) -> bool:
    """`gradcheck` of the gradient of a function: checks second derivatives.

    Args:
        func: takes tensors, returns one tensor or a tuple.
        inputs: one tensor or a tuple.
        grad_outputs: the gradients of the outputs, one tensor or a tuple; random by default. Of
            sparse ones the stored values count.
        gen_non_contig_grad_outputs: accepted for PyTorch's sake.
        check_fwd_over_rev: accepted for PyTorch's sake.
        check_rev_over_rev: accepted for PyTorch's sake.
        options: options of `gradcheck`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([0.5, 2.0], dtype=flow.float64, requires_grad=True)
        >>> flow.autograd.gradgradcheck(lambda x: x * x * x, x)
        True
    """
    func, as_tuple = _on_elements(
        func, tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    )
    if grad_outputs is None:
        weights = tuple(_random(output, requires_grad=True) for output in _tracked(func(*as_tuple)))
    else:
        weights = tuple(map(elements_of, _tuple(grad_outputs, "`grad_outputs`", "gradgradcheck")))
    arguments = (*as_tuple, *weights)
    is_checked = [isinstance(argument, Tensor) and argument.requires_grad for argument in arguments]

    def slopes(*changed: Any) -> tuple[Tensor, ...]:
        with enable_grad():
            points = [
                argument
                if not want or argument.requires_grad
                else argument.detach().requires_grad_()
                for argument, want in zip(changed, is_checked, strict=True)
            ]
            inputs = points[: len(as_tuple)]
            second = grad(
                _tracked(func(*inputs)),
                [value for value, want in zip(inputs, is_checked, strict=False) if want],
                points[len(as_tuple) :],
                create_graph=True,
                allow_unused=True,
            )
        return tuple(gradient for gradient in second if gradient is not None)

    return gradcheck(slopes, arguments, **options)


def _tracked(outputs: Any) -> tuple[Tensor, ...]:
    """The outputs of a function that require grad."""
    as_tuple = _tuple(outputs, "outputs of the function", "gradgradcheck")
    return tuple(output for output in as_tuple if output.requires_grad)
