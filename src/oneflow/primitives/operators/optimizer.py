"""Optimizer updates: one primitive updates all parameters of a group in one step.

An update takes, for each parameter in turn, the parameter, its gradient and the states kept for it;
and one vector with the numbers of all (learning rate, decay rates, bias corrections). It returns,
for each in turn, the new parameter and the new states. The vector is packed once per step and
group; numbers in it are run-time inputs, so a schedule never compiles anything again. The named
tuple right above each update lists the numbers.

Half precision is computed in float32 and complex numbers as pairs of real ones, as in PyTorch.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.elementwise import cast
from oneflow.primitives.operators.lax_functions import as_type
from oneflow.primitives.operators.materialize import row_major
from oneflow.primitives.operators.shape import unbind
from oneflow.primitives.registry import Primitive, primitive
from oneflow.primitives.sharding.axes import Axes
from oneflow.primitives.traits import UpdateRule

# All numbers of one step as one float64 vector.
pack_numbers = primitive("pack_numbers", lambda *numbers: jnp.stack(numbers), scalar="float64")


def _gradients_of_numbers(g, numbers_spec, needs_input_grad):
    parts = zip(unbind(g, dim=0), numbers_spec, needs_input_grad, strict=True)
    return [cast(part, dtype=spec.dtype) if want else None for part, spec, want in parts]


pack_numbers.gradient(_gradients_of_numbers)


def _update_axes(operation: Operation, leading: int | None = None) -> Axes:
    """A parameter, its gradient and its states have one shape and may be split alike.

    With `leading`, only the first dimensions may be split.
    """
    *arrays, _ = operation.in_specs
    size = 2 + operation.attributes["states"]
    operands: list[tuple] = []
    results: list[tuple] = []
    for index, spec in enumerate(arrays[::size]):
        names = tuple(f"p{index}d{dim}" for dim in range(spec.ndim)[:leading])
        names += (None,) * (spec.ndim - len(names))
        operands += [names] * size
        results += [names] * (size - 1)
    return Axes((*operands, (None,)), tuple(results), sums=False)


def _replaced(operation: Operation) -> Iterator[tuple[int, int]]:
    """Pairs of positions: an operand, and the result that is its new value."""
    size = 2 + operation.attributes["states"]
    for first, result in zip(
        range(0, len(operation.in_specs) - 1, size),
        range(0, operation.count, size - 1),
        strict=True,
    ):
        yield first, result
        for state in range(size - 2):
            yield first + 2 + state, result + 1 + state


def _replaced_in_order(operation: Operation) -> Iterator[tuple[int, int]]:
    """The same where the tables come first."""
    return zip(range(operation.count), range(operation.count), strict=True)


def _updated(operation: Operation) -> Iterator[tuple[int, int]]:
    """Positions of each parameter and its gradient."""
    for first in range(0, len(operation.in_specs) - 1, 2 + operation.attributes["states"]):
        yield first, first + 1


def _parts(num_operands: int, attributes: Mapping[str, Any]) -> Iterator[tuple[int, ...]]:
    """Positions of each parameter, its gradient and its states, and of the numbers."""
    size, numbers = 2 + attributes["states"], num_operands - 1
    for first in range(0, numbers, size):
        yield (*range(first, first + size), numbers)


def update_rule(
    name: str, numbers_type: type, axes: Any = _update_axes, **options: Any
) -> Callable[[Callable], Primitive]:
    """Decorator that makes a primitive of an update rule.

    Each takes the gradient's opposite if it is called with `maximize`, and with `penalized` the
    gradient and that of an L2 penalty, whose factor is the number `decay`.

    Args:
        name: the primitive's name.
        numbers_type: named tuple that the vector of numbers is given to the rule as.
        axes: how the parameter may be split over devices; None: not at all.
        options: what else the primitive declares.
    """

    def register(rule: Callable) -> Primitive:
        def impl(*operands: Any, states: int, **attributes: Any) -> tuple:
            return _updated_by(rule, numbers_type, operands, states, **attributes)

        def impl_of_rows(*operands: Any, states: int, **attributes: Any) -> tuple:
            *tables, rows, gradient, numbers = operands
            parts = [table.at[rows].get(mode="fill", fill_value=0) for table in tables]
            updated = impl(parts[0], gradient, *parts[1:], numbers, states=states, **attributes)
            return tuple(
                table.at[rows].set(part, mode="drop", unique_indices=True)
                for table, part in zip(tables, updated, strict=True)
            )

        of_rows = None
        if axes is not None:  # Otherwise the update of a row depends on other rows.
            of_rows = primitive(
                f"{name}_of_rows",
                impl_of_rows,
                differentiable=False,
                update=UpdateRule(_replaced_in_order),
            )
        update = UpdateRule(_replaced, _updated, of_rows, _parts)
        created = primitive(name, impl, axes=axes, update=update, **options)

        @created.lowering("cuda", traced=impl)
        def impl_on_gpus(*operands: Any, states: int, **attributes: Any) -> tuple:
            # XLA would let the update follow how the product that is a gradient lays its result,
            # and copy the new parameter and states into the places of the old.
            ordered = [row_major(x) if i % (states + 2) == 1 else x for i, x in enumerate(operands)]
            return impl(*ordered, states=states, **attributes)

        return created

    return register


def _updated_by(
    rule: Callable,
    numbers_type: type,
    operands: tuple[Any, ...],
    states: int,
    *,
    maximize: bool = False,
    penalized: bool = False,
    **attributes: Any,
) -> tuple:
    """The new parameters and states."""
    *arrays, vector = operands
    numbers = functools.cache(partial(unpacked, numbers_type, vector))
    results: list[Any] = []
    for first in range(0, len(arrays), states + 2):
        parameter, gradient, *state_arrays = arrays[first : first + states + 2]
        kind = computed_in(parameter.dtype)
        n = numbers(kind)
        p, g = as_real(parameter, kind), as_real(gradient, kind)
        if maximize:
            g = -g
        if penalized:
            g = with_penalty(g, p, n.decay)
        updated = rule(p, g, [as_real(state, kind) for state in state_arrays], n, **attributes)
        results += map(closed, updated, (parameter, *state_arrays))
    return tuple(results)


def _gradient_of_rows(*pairs: Any, count: int, paddings: tuple[int, ...]) -> tuple[Any, Any]:
    """The rows of a table that were looked up, and their gradients.

    Args:
        pairs: for each lookup, the gradient of its result and its indices.
        count: how many rows the table has.
        paddings: for each lookup, the row that gets no gradient.

    Returns:
        Row numbers without repetition, filled up with `count`, and a gradient for each.
    """
    indices, gradients = [], []
    for gradient, index, padding in zip(pairs[::2], pairs[1::2], paddings, strict=True):
        flat = index.reshape(-1)
        indices.append(jnp.where((flat == padding) | (flat < 0), count, flat).astype(jnp.int64))
        gradients.append(gradient.reshape(flat.shape[0], math.prod(gradient.shape[index.ndim :])))
    every = jnp.minimum(jnp.concatenate(indices), count)
    rows, inverse = jnp.unique(every, return_inverse=True, size=every.shape[0], fill_value=count)
    # Rows that were not looked up, or are padding, have no gradient.
    every_gradient = jnp.where((every < count)[:, None], jnp.concatenate(gradients), 0)
    zero_gradients = jnp.zeros_like(every_gradient)
    return rows, zero_gradients.at[inverse.reshape(-1)].add(every_gradient)


gradient_of_rows = primitive("gradient_of_rows", _gradient_of_rows, differentiable=False)
# No rows at all where a step is skipped.
rows_unless = primitive(
    "rows_unless",
    lambda skipped, rows, *, count: jnp.where(skipped, count, rows),
    differentiable=False,
)


def computed_in(dtype: Any) -> Any:
    """The real type that a parameter of `dtype` is updated in."""
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return jnp.float32 if dtype == jnp.complex64 else jnp.float64
    return jnp.promote_types(dtype, jnp.float32)


def as_real(array: Any, kind: Any) -> Any:
    """An array as the rules compute with it: of real numbers of type `kind`."""
    if jnp.iscomplexobj(array):
        array = jnp.stack([array.real, array.imag])
    return as_type(array, kind)


def closed(new: Any, old: Any) -> Any:
    """The result of an update rule, in the type of the value that it replaces."""
    if jnp.iscomplexobj(old):
        new = new[0] + 1j * new[1]
    return as_type(new, old.dtype)


def unpacked(numbers_type: type, vector: Any, kind: Any) -> Any:
    """The numbers in a vector, in the type that a parameter is updated in."""
    scalars = as_type(vector, kind)
    indices = range(len(numbers_type._fields))
    return numbers_type(*[lax.index_in_dim(scalars, i, keepdims=False) for i in indices])


def with_penalty(g, p, decay):
    """The gradient plus an L2 penalty's gradient.

    A `decay` that nobody on the host knows may be 0, and 0 times an infinite parameter is NaN.
    """
    return jnp.where(decay == 0, g, g + decay * p)


class SGDNumbers(NamedTuple):
    """`fresh` weighs the new gradient in the momentum buffer."""

    lr: Any
    momentum: Any
    fresh: Any
    decay: Any


@update_rule("sgd_update", SGDNumbers)
def sgd_update(p, g, states, n, *, nesterov: bool = False):
    """Gradient descent; with a state it keeps momentum."""
    if not states:
        return (p - n.lr * g,)
    buffer = n.momentum * states[0] + n.fresh * g
    return p - n.lr * (g + n.momentum * buffer if nesterov else buffer), buffer


@update_rule("sgdw_update", SGDNumbers)
def sgdw_update(p, g, states, n):
    """Gradient descent whose decay stands beside the gradient; with a state it keeps momentum."""
    decayed = p * (1 - n.lr * n.decay)
    if not states:
        return (decayed - n.lr * g,)
    buffer = n.momentum * states[0] + n.fresh * g
    return decayed - n.lr * buffer, buffer


class AdamNumbers(NamedTuple):
    """`step_size`, `root_correction`: with bias correction. `keep`: 1 - lr * decoupled decay."""

    step_size: Any
    beta2: Any
    fresh1: Any
    fresh2: Any
    root_correction: Any
    eps: Any
    decay: Any
    keep: Any


@update_rule("adam_update", AdamNumbers)
def adam_update(p, g, states, n):
    """Adam and AdamW; a third state keeps the largest second moment (AMSGrad)."""
    first, second = moments_of(g, states, n)
    largest = [jnp.maximum(states[2], second)] if len(states) == 3 else []
    root = jnp.sqrt(largest[0] if largest else second) / n.root_correction + n.eps
    return p * n.keep - n.step_size * first / root, first, second, *largest


def moments_of(g, states, n):
    """Running means of the gradient and of its square."""
    first = states[0] + n.fresh1 * (g - states[0])
    second = n.beta2 * states[1] + n.fresh2 * g * g
    return first, second


class SparseAdamNumbers(NamedTuple):
    """`step_size`: with both bias corrections."""

    step_size: Any
    beta2: Any
    fresh1: Any
    fresh2: Any
    eps: Any


@update_rule(
    "sparse_adam_update",
    SparseAdamNumbers,
    axes=partial(_update_axes, leading=1),
    differentiable=False,
)
def sparse_adam_update(p, g, states, n):
    """Adam on the rows with a non-zero gradient."""
    first, second = moments_of(g, states, n)
    new = (p - n.step_size * first / (jnp.sqrt(second) + n.eps), first, second)
    has_gradient = jnp.any(g != 0, axis=tuple(range(1, g.ndim)), keepdims=True)
    return tuple(map(partial(jnp.where, has_gradient), new, (p, *states)))


class AdamaxNumbers(NamedTuple):
    """`step_size` contains the bias correction."""

    step_size: Any
    beta2: Any
    fresh1: Any
    eps: Any
    decay: Any


@update_rule("adamax_update", AdamaxNumbers)
def adamax_update(p, g, states, n):
    """Adam with the infinity norm."""
    first = states[0] + n.fresh1 * (g - states[0])
    largest = jnp.maximum(n.beta2 * states[1], jnp.abs(g) + n.eps)
    return p - n.step_size * first / largest, first, largest


class NAdamNumbers(NamedTuple):
    """`from_gradient`, `from_moment`: step sizes of the two parts of Nesterov's direction."""

    from_gradient: Any
    from_moment: Any
    beta2: Any
    fresh1: Any
    fresh2: Any
    correction2: Any
    eps: Any
    decay: Any
    keep: Any


@update_rule("nadam_update", NAdamNumbers)
def nadam_update(p, g, states, n):
    """Adam with Nesterov momentum."""
    first, second = moments_of(g, states, n)
    root = jnp.sqrt(second / n.correction2) + n.eps
    direction = n.from_gradient * g + n.from_moment * first
    return p * n.keep - direction / root, first, second


class RAdamNumbers(NamedTuple):
    """`rect` is 0 while the variance of the second moment is not tractable."""

    step_size: Any
    beta2: Any
    fresh1: Any
    fresh2: Any
    root_correction: Any
    rect: Any
    eps: Any
    decay: Any
    keep: Any


@update_rule("radam_update", RAdamNumbers)
def radam_update(p, g, states, n):
    """Adam with a rectified step size."""
    first, second = moments_of(g, states, n)
    adaptive = n.rect * n.root_correction / (jnp.sqrt(second) + n.eps)
    scale = jnp.where(n.rect > 0, adaptive, 1)
    return p * n.keep - n.step_size * first * scale, first, second


class AdagradNumbers(NamedTuple):
    """`lr` is already decayed."""

    lr: Any
    eps: Any
    decay: Any


@update_rule("adagrad_update", AdagradNumbers)
def adagrad_update(p, g, states, n):
    """Steps divided by the root of the sum of all squared gradients."""
    total = states[0] + g * g
    return p - n.lr * g / (jnp.sqrt(total) + n.eps), total


class AdadeltaNumbers(NamedTuple):
    """`fresh` is 1 - rho."""

    lr: Any
    rho: Any
    fresh: Any
    eps: Any
    decay: Any


@update_rule("adadelta_update", AdadeltaNumbers)
def adadelta_update(p, g, states, n):
    """Steps scaled by the running size of past steps over the size of past gradients."""
    square = n.rho * states[0] + n.fresh * g * g
    delta = jnp.sqrt(states[1] + n.eps) / jnp.sqrt(square + n.eps) * g
    return p - n.lr * delta, square, n.rho * states[1] + n.fresh * delta * delta


class RMSpropNumbers(NamedTuple):
    """`fresh` is 1 - alpha."""

    lr: Any
    alpha: Any
    fresh: Any
    eps: Any
    decay: Any
    momentum: Any


@update_rule("rmsprop_update", RMSpropNumbers)
def rmsprop_update(p, g, states, n, *, centered: bool, momentum: bool, eps_in_root: bool):
    """Steps divided by a running root mean square. States: square, [momentum], [mean]."""
    square = n.alpha * states[0] + n.fresh * g * g
    means = [states[-1] + n.fresh * (g - states[-1])] if centered else []
    variance = square - means[0] * means[0] if centered else square
    step = g / (jnp.sqrt(variance + n.eps) if eps_in_root else jnp.sqrt(variance) + n.eps)
    if not momentum:
        return p - n.lr * step, square, *means
    step = n.momentum * states[1] + step
    return p - n.lr * step, square, step, *means


class RpropNumbers(NamedTuple):
    """Factors after a sign change and without one, bounds; sizes are `keep` * size + `start`."""

    decrease: Any
    increase: Any
    smallest: Any
    largest: Any
    keep: Any
    start: Any


@update_rule("rprop_update", RpropNumbers)
def rprop_update(p, g, states, n):
    """Steps of a size of their own for every element, in the direction of the gradient's sign."""
    previous, size = states
    sign_product = g * previous
    factor = jnp.where(sign_product > 0, n.increase, jnp.where(sign_product < 0, n.decrease, 1))
    size = jnp.clip((size * n.keep + n.start) * factor, n.smallest, n.largest)
    g = jnp.where(sign_product < 0, 0, g)
    return p - jnp.sign(g) * size, g, size


class ASGDNumbers(NamedTuple):
    """`eta`: step size. `mu`: weight of the new parameter in the average. `keep`: 1 - decay."""

    eta: Any
    mu: Any
    keep: Any
    decay: Any


@update_rule("asgd_update", ASGDNumbers)
def asgd_update(p, g, states, n):
    """Gradient descent with smaller and smaller steps; the state is the average."""
    new = p * n.keep - n.eta * g
    return new, jnp.where(n.mu == 1, new, states[0] + n.mu * (new - states[0]))


class FTRLNumbers(NamedTuple):
    """`power`: exponent of the accumulated squares. `lambda1`, `lambda2`: the penalties."""

    lr: Any
    power: Any
    lambda1: Any
    lambda2: Any
    beta: Any
    decay: Any


@update_rule("ftrl_update", FTRLNumbers, differentiable=False)
def ftrl_update(p, g, states, n):
    """Follow the regularized leader, proximal form. States: accumulated squares, linear term."""
    squares = states[0] + g * g
    scaled = squares**n.power
    linear = states[1] + g - (scaled - states[0] ** n.power) / n.lr * p
    solution = (jnp.sign(linear) * n.lambda1 - linear) / ((n.beta + scaled) / n.lr + n.lambda2)
    solution = jnp.where(jnp.abs(linear) <= n.lambda1, 0, solution)
    return solution, squares, linear
