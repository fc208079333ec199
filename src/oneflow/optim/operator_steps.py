"""Steps of optimizers as operators: of parameters whose class computes operators, and within modes.

An update of a tensor with values is one primitive. A class with ``__torch_dispatch__`` knows none
of them: it gets the operators that PyTorch's optimizers call for one parameter after the other, in
place. So does a mode.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from oneflow.functional.creation.factory_functions import full_like, zeros_like
from oneflow.functional.elementwise.clamp import maximum
from oneflow.functional.shape.strided_views import view_as_real
from oneflow.optim.groups import read_options, with_scaled_lr
from oneflow.primitives.operators.optimizer import (
    adadelta_update,
    adagrad_update,
    adam_update,
    adamax_update,
    asgd_update,
    nadam_update,
    radam_update,
    rmsprop_update,
    rprop_update,
    sgd_update,
)
from oneflow.primitives.registry import Primitive
from oneflow.tensor.dispatch_functions import DISPATCH_MODES
from oneflow.tensor.subclasses import has_dispatch
from oneflow.tensor.tensor import Tensor


class Update(NamedTuple):
    """The parts of a step of one parameter.

    Attributes:
        p: the parameter, which is written to.
        g: its gradient, with the penalty's.
        of_state: returns the entry of a name in its state.
        state: the state of the parameter.
        n: the numbers of the update, those of its primitive.
        options: the options of the group, with numbers for tensors.
    """

    p: Any
    g: Any
    of_state: Callable[[str], Any]
    state: dict[str, Any]
    n: Any
    options: dict[str, Any]


#: The steps of optimizers by the primitive of their update.
OPERATOR_STEPS: dict[Primitive, Callable[[Update], None]] = {}

# States that begin with an option, which may be 0; all others are zeros.
_FILLED_STATES = ("sum", "step_size")
_maximum: Callable[..., Tensor] = maximum  # with `out`, which all functions take


def _step_of(update: Primitive, *, is_linear: bool = False) -> Callable[[Any], Any]:
    """Decorator of the step of an update; one that is not linear computes with real parts."""

    def add(step: Callable[[Update], None]) -> Callable[[Update], None]:
        OPERATOR_STEPS[update] = step if is_linear else partial(_on_real_parts, step)
        return step

    return add


def _on_real_parts(step: Callable[[Update], None], u: Update) -> None:
    if u.p.is_complex():
        of_state = u.of_state
        u = u._replace(
            p=view_as_real(u.p),
            g=view_as_real(u.g),
            of_state=lambda name: view_as_real(of_state(name)),
        )
    step(u)


def step_by_operators(optimizer: Any, group: dict[str, Any]) -> list[Tensor]:
    """Update the parameters of a group for which a class or a mode is asked; returns the others.

    Args:
        optimizer: the optimizer.
        group: the group.

    Raises:
        NotImplementedError: a step that may be skipped, or that a graph records.
    """
    is_mode = bool(DISPATCH_MODES) and optimizer.step_counter is None
    formula = OPERATOR_STEPS.get(optimizer._update)
    others = []
    for parameter in group["params"]:
        is_asked = has_dispatch(type(parameter)) or has_dispatch(type(parameter.grad))
        if formula is None or parameter.grad is None or not (is_mode or is_asked):
            others.append(parameter)
        elif optimizer.step_counter is not None:
            raise NotImplementedError(
                f"{type(optimizer).__name__}: a step that a graph records, or that a `GradScaler` "
                f"may skip, takes no {type(parameter).__name__}, whose class computes operators "
                "itself. Take the step outside of them"
            )
        else:
            _step(formula, optimizer, group, parameter)
    return others


def _step(formula: Any, optimizer: Any, group: dict[str, Any], parameter: Any) -> None:
    state = optimizer.state[parameter]
    for name, count in {**optimizer._counts, "step": 0}.items():
        state.setdefault(name, count)
    optimizer.advance(state, group)
    options = read_options(with_scaled_lr(group))
    attributes = optimizer._attributes(options)
    numbers = optimizer._numbers(options, state)
    if optimizer._update is not sgd_update:  # whose first direction is the gradient itself
        _complete_state(optimizer, options, parameter, state)
    p, g = parameter, parameter.grad
    if attributes.get("maximize"):
        g = g.neg()
    if attributes.get("penalized"):
        g = g.add(p, alpha=numbers.decay)
    formula(Update(p, g, state.__getitem__, state, numbers, {**options, **attributes}))


def _complete_state(optimizer: Any, options: Any, parameter: Any, state: dict[str, Any]) -> None:
    for name, value in optimizer._initial_state(options).items():
        if name not in state:
            is_filled = name in _FILLED_STATES
            state[name] = full_like(parameter, value) if is_filled else zeros_like(parameter)


@_step_of(sgd_update, is_linear=True)
def _sgd(u: Update) -> None:
    direction = u.g
    if u.options["momentum"]:
        if "momentum_buffer" in u.state:
            direction = u.of_state("momentum_buffer").mul_(u.n.momentum).add_(u.g, alpha=u.n.fresh)
        else:
            direction = u.state["momentum_buffer"] = u.g.detach().clone()
        if u.options["nesterov"]:
            direction = u.g.add(direction, alpha=u.n.momentum)
    u.p.add_(direction, alpha=-u.n.lr)


def _moments(u: Update) -> tuple[Any, Any]:
    """The running means of the gradient and of its square; the parameter has lost its decay."""
    if u.options["weight_decay"] and not u.options.get("penalized"):
        u.p.mul_(u.n.keep)
    first = u.of_state("exp_avg").lerp_(u.g, u.n.fresh1)
    second = u.of_state("exp_avg_sq").mul_(u.n.beta2).addcmul_(u.g, u.g, value=u.n.fresh2)
    return first, second


@_step_of(adam_update)
def _adam(u: Update) -> None:
    first, second = _moments(u)
    if u.options["amsgrad"]:
        largest = u.of_state("max_exp_avg_sq")
        second = _maximum(largest, second, out=largest)
    divisor = second.sqrt().div(u.n.root_correction).add_(u.n.eps)
    u.p.addcdiv_(first, divisor, value=-u.n.step_size)


@_step_of(nadam_update)
def _nadam(u: Update) -> None:
    first, second = _moments(u)
    divisor = second.div(u.n.correction2).sqrt().add_(u.n.eps)
    u.p.addcdiv_(u.g, divisor, value=-u.n.from_gradient)
    u.p.addcdiv_(first, divisor, value=-u.n.from_moment)


@_step_of(radam_update)
def _radam(u: Update) -> None:
    first, second = _moments(u)
    # The step size holds it, too, but times a learning rate that may be 0.
    correction = 1 - u.options["betas"][0] ** u.state["step"]
    direction = first.div(correction).mul(u.options["lr"])
    if u.n.rect:
        factor = second.sqrt().add_(u.n.eps).reciprocal().mul(u.n.root_correction)
        direction = direction.mul(factor).mul(u.n.rect)
    u.p.add_(direction, alpha=-1.0)


@_step_of(adamax_update)
def _adamax(u: Update) -> None:
    first = u.of_state("exp_avg").lerp_(u.g, u.n.fresh1)
    largest = u.of_state("exp_inf")
    _maximum(largest.mul_(u.n.beta2), u.g.abs().add_(u.n.eps), out=largest)
    u.p.addcdiv_(first, largest, value=-u.n.step_size)


@_step_of(adagrad_update)
def _adagrad(u: Update) -> None:
    total = u.of_state("sum").addcmul_(u.g, u.g, value=1)
    u.p.addcdiv_(u.g, total.sqrt().add_(u.n.eps), value=-u.n.lr)


@_step_of(adadelta_update)
def _adadelta(u: Update) -> None:
    square = u.of_state("square_avg").mul_(u.n.rho).addcmul_(u.g, u.g, value=u.n.fresh)
    past = u.of_state("acc_delta")
    divisor = square.add(u.n.eps).sqrt_()
    step = past.add(u.n.eps).sqrt_().div_(divisor).mul_(u.g)
    past.mul_(u.n.rho).addcmul_(step, step, value=u.n.fresh)
    u.p.add_(step, alpha=-u.n.lr)


@_step_of(rmsprop_update)
def _rmsprop(u: Update) -> None:
    square = u.of_state("square_avg").mul_(u.n.alpha).addcmul_(u.g, u.g, value=u.n.fresh)
    if u.options["centered"]:
        mean = u.of_state("grad_avg").lerp_(u.g, u.n.fresh)
        square = square.addcmul(mean, mean, value=-1)
    if u.options["eps_in_root"]:
        divisor = square.add(u.n.eps).sqrt_()
    else:
        divisor = (square.sqrt_() if u.options["centered"] else square.sqrt()).add_(u.n.eps)
    if u.options["momentum"]:
        step = u.of_state("momentum_buffer").mul_(u.n.momentum).addcdiv_(u.g, divisor)
        u.p.add_(step, alpha=-u.n.lr)
    else:
        u.p.addcdiv_(u.g, divisor, value=-u.n.lr)


@_step_of(rprop_update)
def _rprop(u: Update) -> None:
    previous, size = u.of_state("prev"), u.of_state("step_size")
    factor = u.g.mul(previous).sign()
    for comparison, value in (("gt", u.n.increase), ("lt", u.n.decrease), ("eq", 1)):
        factor[getattr(factor, comparison)(0)] = value
    size.mul_(factor).clamp_(u.n.smallest, u.n.largest)
    direction = u.g.clone()
    direction[factor.eq(u.n.decrease)] = 0
    u.p.addcmul_(direction.sign(), size, value=-1)
    previous.copy_(direction)


@_step_of(asgd_update)
def _asgd(u: Update) -> None:
    average = u.of_state("ax")
    u.p.mul_(u.n.keep).add_(u.g, alpha=-u.n.eta)
    if u.n.mu == 1:
        average.copy_(u.p)
    else:
        average.add_(u.p.sub(average).mul_(u.n.mu))
