"""The functions of ``torch.optim`` that make one step: lists of tensors in place of an optimizer.

Each is a row: the optimizer whose update it is, the lists of states in the order of the arguments
with the names that the optimizer has for them, and its options, which are given by keyword.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from oneflow import optim
from oneflow.mock_torch.pytorch.optim import optimizers
from oneflow.optim.optimizer import Optimizer
from oneflow.tensor.tensor import Tensor

#: Arguments that ask for more than the step of an optimizer. Others that are no options decide how
#: PyTorch computes a step, and not what.
_UNSUPPORTED = ("differentiable", "grad_scale", "found_inf")
#: Flags that are options of the optimizers.
_BOOLEAN_OPTIONS = ("maximize", "decoupled_weight_decay")
#: Pairs of options, which the optimizers take as one.
_PAIRS = {
    "betas": ("beta1", "beta2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}


def _signature(states: Mapping[str, str], flags: str, options: str) -> inspect.Signature:
    """The signature of a function: lists, flags with defaults, and options by keyword."""
    kind = inspect.Parameter
    lists = [kind(name, kind.POSITIONAL_OR_KEYWORD) for name in ("params", "grads", *states)]
    flag_parameters = [
        kind(name, kind.POSITIONAL_OR_KEYWORD, default=None if name in _UNSUPPORTED[1:] else False)
        for name in flags.split()
    ]
    keywords = [kind(name, kind.KEYWORD_ONLY) for name in options.split()]
    return inspect.Signature([*lists, *flag_parameters, *keywords])


def _options(arguments: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """The options as the optimizer takes them."""
    options = {name: arguments[name] for name in names}
    for name, pair in _PAIRS.items():
        if pair[0] in options:
            options[name] = tuple(options.pop(entry) for entry in pair)
    return options


def _number(entry: Any) -> Any:
    """A count in a list, which holds tensors of one element."""
    number = entry.item() if isinstance(entry, Tensor) else entry
    return int(number) if float(number).is_integer() else number


def _read_states(optimizer: Optimizer, lists: Mapping[str, list[Any]], index: int) -> dict:
    """The state of one parameter in the lists, as the optimizer keeps it."""
    state: dict[str, Any] = {**optimizer._counts}
    if "step" not in lists:  # PyTorch's SGD counts no steps: the first one makes the buffer
        state["step"] = 1
    for name, entries in lists.items():
        entry = entries[index] if index < len(entries) else None
        if entry is not None:
            state[name] = _number(entry) if name in optimizer._counts else entry
        elif name == "momentum_buffer" and "step" not in lists:
            state["step"] = 0
    return state


def _write_states(optimizer: Optimizer, lists: Mapping[str, list[Any]], states: list[dict]) -> None:
    """Give the lists what the step has counted, and the states that it has begun."""
    for name, entries in lists.items():
        for index, state in enumerate(states[: len(entries)]):
            entry = entries[index]
            if name in optimizer._counts and isinstance(entry, Tensor):
                entry.fill_(state[name])
            elif entry is None and name in state:
                entries[index] = state[name]


def _functional(
    name: str, kind: type[Optimizer], states: str, flags: str, options: str
) -> Callable[..., None]:
    """Make the function of one optimizer."""
    by_argument = dict(entry.split("=") for entry in states.split())
    signature = _signature(by_argument, flags, options)
    names = [*options.split(), *(flag for flag in flags.split() if flag in _BOOLEAN_OPTIONS)]

    def function(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = bound.arguments
        for option in _UNSUPPORTED:
            if arguments.get(option):
                raise NotImplementedError(
                    f"`{name}`: `{option}` must be {signature.parameters[option].default}, "
                    f"got {arguments[option]!r}; `torch.optim.{kind.__name__}` has more"
                )
        # Aliases: parameters may have a history, and have no gradient of their own to be replaced.
        aliases = [parameter.detach() for parameter in arguments["params"]]
        pairs = [(p, g) for p, g in zip(aliases, arguments["grads"], strict=True) if g is not None]
        for parameter, gradient in pairs:
            parameter.grad = gradient
        optimizer = kind(aliases, **_options(arguments, names))
        lists = {entry: arguments[argument] for argument, entry in by_argument.items()}
        optimizer.state.update(
            {p: _read_states(optimizer, lists, index) for index, p in enumerate(aliases)}
        )
        optimizer.step()
        _write_states(optimizer, lists, [optimizer.state[p] for p in aliases])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Make the step of `{kind.__name__}` for lists of tensors, in place."
    vars(function)["__signature__"] = signature
    return function


_FLAGS = "foreach capturable differentiable"
_MOMENTS = "exp_avgs=exp_avg exp_avg_sqs=exp_avg_sq"
_ADAM_STATES = f"{_MOMENTS} max_exp_avg_sqs=max_exp_avg_sq state_steps=step"
_ADAM_FLAGS = f"{_FLAGS} fused grad_scale found_inf has_complex"
_ADAM_OPTIONS = "amsgrad beta1 beta2 lr weight_decay eps maximize"
_FLAGS_WITH_COMPLEX = "foreach maximize differentiable capturable has_complex"

adadelta = _functional(
    "adadelta",
    optim.Adadelta,
    "square_avgs=square_avg acc_deltas=acc_delta state_steps=step",
    "capturable foreach differentiable has_complex",
    "lr rho eps weight_decay maximize",
)
adagrad = _functional(
    "adagrad",
    optimizers.Adagrad,
    "state_sums=sum state_steps=step",
    "fused grad_scale found_inf has_sparse_grad foreach differentiable has_complex",
    "lr weight_decay lr_decay eps maximize",
)
adam = _functional(
    "adam", optim.Adam, _ADAM_STATES, f"{_ADAM_FLAGS} decoupled_weight_decay", _ADAM_OPTIONS
)
adamw = _functional("adamw", optimizers.AdamW, _ADAM_STATES, _ADAM_FLAGS, _ADAM_OPTIONS)
adamax = _functional(
    "adamax",
    optim.Adamax,
    "exp_avgs=exp_avg exp_infs=exp_inf state_steps=step",
    _FLAGS_WITH_COMPLEX,
    "eps beta1 beta2 lr weight_decay",
)
asgd = _functional(
    "asgd",
    optim.ASGD,
    "axs=ax mus=mu etas=eta state_steps=step",
    _FLAGS_WITH_COMPLEX,
    "lambd lr t0 alpha weight_decay",
)
nadam = _functional(
    "nadam",
    optim.NAdam,
    f"{_MOMENTS} mu_products=mu_product state_steps=step",
    "decoupled_weight_decay foreach capturable differentiable has_complex maximize",
    "beta1 beta2 lr weight_decay momentum_decay eps",
)
radam = _functional(
    "radam",
    optim.RAdam,
    f"{_MOMENTS} state_steps=step",
    "decoupled_weight_decay foreach differentiable capturable has_complex maximize",
    "beta1 beta2 lr weight_decay eps",
)
rmsprop = _functional(
    "rmsprop",
    optimizers.RMSprop,
    "square_avgs=square_avg grad_avgs=grad_avg momentum_buffer_list=momentum_buffer "
    "state_steps=step",
    _FLAGS_WITH_COMPLEX,
    "lr alpha eps weight_decay momentum centered",
)
rprop = _functional(
    "rprop",
    optim.Rprop,
    "prevs=prev step_sizes=step_size state_steps=step",
    "foreach capturable maximize differentiable has_complex",
    "step_size_min step_size_max etaminus etaplus",
)
sgd = _functional(
    "sgd",
    optim.SGD,
    "momentum_buffer_list=momentum_buffer",
    "has_sparse_grad foreach fused grad_scale found_inf",
    "weight_decay momentum lr dampening nesterov maximize",
)
