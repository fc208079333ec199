"""`Optimizer`: parameter groups, state, and the walk over them that every optimizer shares.

An ordinary optimizer says three things: which states it keeps for a parameter, which numbers a step
needs, and the primitive that computes the update. The updates of a group are one recorded
instruction, or a few.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

import numpy as np

from oneflow.base.device import Device
from oneflow.base.dtype import Category
from oneflow.base.keyword_aliases import keyword_aliases
from oneflow.base.keywords import KeywordSuggestion, set_extra_keywords
from oneflow.base.parameters import parameters_of
from oneflow.base.placement import Sharding
from oneflow.base.program_name import PYTORCH, program_name
from oneflow.base.sbp import NdSbp
from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import MODE
from oneflow.optim.build_check import check_not_in_build
from oneflow.optim.closure import evaluate_closure
from oneflow.optim.gradient_clipping import clip_grad_norm_
from oneflow.optim.graph_schedule import GraphSchedule
from oneflow.optim.groups import (
    CLIPPING,
    ParamGroup,
    ParamsT,
    as_groups,
    check_clipping,
    copied_state,
    loaded_options,
    restore_on_failure,
    saved_parameters,
    states_of_parameters,
    with_scaled_lr,
)
from oneflow.optim.hooks import OptimizerHooks, complete_step
from oneflow.optim.numbers_ahead import numbers_of_update
from oneflow.optim.oneflow_layout import from_oneflow_layout
from oneflow.optim.operator_steps import step_by_operators
from oneflow.optim.pytorch_objects import complete_attributes
from oneflow.optim.step_counter import StepCounter
from oneflow.optim.update_form import UpdateForm
from oneflow.primitives.operators.optimizer import pack_numbers
from oneflow.primitives.registry import Primitive
from oneflow.program.value import Value
from oneflow.runtime.eager import flush_devices_for_step, is_capturing
from oneflow.tensor.call import wrap
from oneflow.tensor.dispatch_functions import DISPATCH_CLASSES, DISPATCH_MODES
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import device_put, value_from_numpy
from oneflow.tensor.views import unwrap, with_history_of, write
from oneflow.tensor.zero_grad import zero_grads

F = TypeVar("F", bound=Callable)
# The first three choose implementations of one update; XLA compiles all updates as a whole.
_COMMON_OPTIONS = {"foreach": None, "fused": None, "capturable": False, "differentiable": False}
MAX_RESULTS = 64  # of one instruction; the first runs hold them besides what they replace


def accept_common_keywords(init: F) -> F:
    """Decorator for an optimizer's `__init__`: `parameters=` is another name of `params=`.

    PyTorch's `foreach`, `fused`, `capturable` and OneFlow's `contiguous_params` are taken without
    effect; gradients go through the steps of an optimizer that is `differentiable`.
    """
    init_names = parameters_of(init).names
    defaults = {name: value for name, value in _COMMON_OPTIONS.items() if name not in init_names}

    @functools.wraps(init)
    def accept(self: Any, *args: Any, **kwargs: Any) -> None:
        if "parameters" in kwargs:
            if args or "params" in kwargs:
                raise TypeError("`params` and `parameters` mean the same; give one of them")
            kwargs["params"] = kwargs.pop("parameters")
        if "contiguous_params" not in init_names:
            kwargs.pop("contiguous_params", None)
        options = {name: kwargs.pop(name) for name in defaults.keys() & kwargs.keys()}
        if options.get("differentiable"):
            if type(self).step is not Optimizer.step or not self._update.differentiable:
                raise NotImplementedError(f"{type(self).__name__}: `differentiable` must be False")
            self._common_options = {"differentiable": True}
        if program_name() == PYTORCH:  # whose programs read each of its options
            self._common_options = {**defaults, **self._common_options, **options}
        init(self, *args, **kwargs)

    set_extra_keywords(accept, ("parameters", *_COMMON_OPTIONS, "contiguous_params"))
    return cast("F", accept)


class Optimizer(GraphSchedule, OptimizerHooks, UpdateForm, KeywordSuggestion):
    """Base class of all optimizers.

    Args:
        parameters: tensors, ``(name, tensor)`` pairs, or dicts with `params` and their own options
            (parameter groups). A group with `clip_grad_max_norm` and `clip_grad_norm_type` has its
            gradients clipped by `clip_grad`; one with `lr_scale` learns with ``lr * lr_scale``.
        options: options of groups that do not set them.

    Attributes:
        param_groups: list of dicts: `params` and the options.
        state: what is kept per parameter. Counts of steps are numbers; they are 0-dim tensors after
            steps with a `GradScaler`, which may skip some.
        defaults: the default options.

    Raises:
        TypeError: `parameters` is a single tensor, or something in it is not a tensor.
        ValueError: a parameter that is not a leaf, or one in two groups.

    A class of your own overrides `step`, and writes to the parameters in place under
    `oneflow.no_grad`:

    Example:
        >>> import oneflow as flow
        >>> class SignSGD(flow.optim.Optimizer):
        ...     def __init__(self, params, lr):
        ...         super().__init__(params, {"lr": lr})
        ...
        ...     @flow.no_grad()
        ...     def step(self, closure=None):
        ...         for group in self.param_groups:
        ...             for p in group["params"]:
        ...                 p.add_(p.grad.sign(), alpha=-group["lr"])
        >>> w = flow.tensor([1.0, -1.0], requires_grad=True)
        >>> w.pow(2).sum().backward()
        >>> SignSGD([w], lr=0.5).step()
        >>> w.tolist()
        [0.5, -0.5]
    """

    _update: Primitive
    _common_options: Mapping[str, Any] = {}
    # The counts of each parameter, with the numbers from which they start.
    _counts: ClassVar[dict[str, float]] = {"step": 0}
    # Loaded counts become Python numbers; classes of users may keep them as tensors.
    _has_number_counts: ClassVar[bool] = False
    _preserves_dtypes: ClassVar[bool] = False  # loaded states keep theirs, not the parameters'
    _is_formula: ClassVar[bool] = True  # the numbers of later steps are no code of users

    @keyword_aliases(params="parameters", defaults="options")
    def __init__(self, parameters: ParamsT, options: dict[str, Any]) -> None:
        self.defaults = {**options, **self._common_options}
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        super().__init__()
        for group in as_groups(parameters):
            self.add_param_group(group)
        _run_recorded()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_initial_state" in cls.__dict__:
            cls._has_number_counts = True
        if "step" in cls.__dict__:
            cls.step = complete_step(cls.__dict__["step"])
        cls._is_formula = cls._is_formula and cls.__module__.startswith("oneflow.")

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for index, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {index}")
            options = {name: value for name, value in group.items() if name != "params"}
            lines += [f"    {name}: {value}" for name, value in sorted(options.items())]
        return "\n".join([*lines, ")"])

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add tensors with options of their own; options left out take the defaults.

        Example:
            >>> import oneflow as flow
            >>> optimizer = flow.optim.SGD([flow.ones(2, requires_grad=True)], lr=0.1)
            >>> optimizer.add_param_group({"params": flow.ones(3, requires_grad=True), "lr": 0.01})
            >>> [group["lr"] for group in optimizer.param_groups]
            [0.1, 0.01]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"`param_group` must be a dict with `params`, got {param_group!r}")
        group = ParamGroup(param_group, self.defaults)
        check_clipping(group)
        ids = {id(p) for other in self.param_groups for p in other["params"]}
        for index, tensor in enumerate(group["params"]):
            if id(tensor) in ids:
                raise ValueError(
                    f"parameter {index} of the new group is in the optimizer already; "
                    "some parameters appear in more than one parameter group"
                )
            ids.add(id(tensor))
        self.param_groups.append(group)

    # --- the step

    def step(self, closure: Callable[..., Any] | None = None) -> Any:
        """Update every parameter that has a gradient, and start the recorded program.

        Args:
            closure: computes the loss again, with gradients, and returns it.

        Returns:
            What `closure` returned, else None.
        """
        loss = evaluate_closure(closure)
        if self.has_tensor_counts and self.step_counter is None:
            self.read_counts()
        before, MODE.enabled = MODE.enabled, False
        try:
            for group in self.param_groups:
                MODE.enabled = before and group.get("differentiable", False)
                self._update_group(group)
        finally:
            MODE.enabled = before
        return loss

    def _update_group(self, group: dict[str, Any]) -> None:
        """Record the updates of `group`: parameters with the same numbers share instructions."""
        names = tuple(self._initial_state(group))
        last_name = names[-1] if names else "step"
        states = self.state
        last_clock = last_device = numbers = None
        advance, pack = self._advance, self._pack
        if self.step_counter is not None:
            advance, pack = self.step_counter.advance, self.step_counter.pack
        operands: list[Value] = []
        targets: list[Tensor] = []
        parameters = group["params"]
        if DISPATCH_CLASSES or DISPATCH_MODES:
            parameters = step_by_operators(self, group)
        for parameter in parameters:
            gradient = parameter.grad
            if gradient is None:
                continue
            state = states.get(parameter)
            if not state or last_name not in state:
                state = self._complete_state(parameter, group)
            clock = advance(state, group)
            value = unwrap(parameter)
            device = value.spec.device
            if clock != last_clock or device is not last_device:
                self._record_updates(group, operands, targets, numbers)
                operands, targets = [], []
                numbers = pack(group, state, device)
                last_clock, last_device = clock, device
            operands.append(value)
            operands.append(unwrap(gradient))
            targets.append(parameter)
            for name in names:
                tensor = state[name]
                operands.append(unwrap(tensor))
                targets.append(tensor)
            if len(targets) >= MAX_RESULTS:
                self._record_updates(group, operands, targets, numbers)
                operands, targets = [], []
        self._record_updates(group, operands, targets, numbers)

    def _record_updates(
        self, group: dict[str, Any], operands: list[Value], targets: list[Tensor], numbers: Any
    ) -> None:
        """Record one instruction that gives all `targets` their new values."""
        if targets:
            # Each parameter has a gradient beside its results.
            states = len(targets) // (len(operands) - len(targets)) - 1
            attributes = self._attributes(group)
            if group.get("differentiable"):  # what is saved is apart from what is written to
                operands = [with_history_of(value.alias(), value) for value in operands]
            results = self._update(*operands, numbers, states=states, **attributes)
            if self.step_counter is not None:
                results = self.step_counter.results(list(map(unwrap, targets)), results)
            for target, result in zip(targets, results, strict=True):
                write(target, result)

    def _pack(self, group: dict[str, Any], state: dict[str, Any], device: Device) -> Value:
        """The numbers of the next update of a parameter with `state`, as one vector."""
        return pack_numbers(*numbers_of_update(self, group, state, device), device=device)

    # --- what a graph asks, which records a step once and fills in its numbers before each run

    # Counts steps and makes numbers while a graph records, and in steps that may be skipped.
    step_counter: StepCounter | None = None
    has_tensor_counts = False  # the counts in `state` are tensors, for steps may be skipped
    _counts_before: Mapping[int, dict[str, Any]] = {}  # the latest step; by identity of the state

    def numbers(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[Any, ...]:
        """The numbers of the next update of a parameter with `state`, which has been advanced.

        Numbers are tensors if the entries of `state` or the options of `group` that they need are.
        """
        numbers = self._numbers(with_scaled_lr(group), state)
        return tuple(
            [unwrap(number) if isinstance(number, Tensor) else float(number) for number in numbers]
        )

    def advance(self, state: dict[str, Any], group: dict[str, Any]) -> Any:
        """Count one step of a parameter of `group` with `state`; what `StepCounter` says of it."""
        return self._advance(state, group)

    def counts_of(self, state: dict[str, Any]) -> dict[str, Any]:
        """The counters in `state`."""
        return {name: state[name] for name in self._counts if name in state}

    def _restore_counts(self, before: Mapping[int, Any], previous: Mapping[int, Any]) -> None:
        """Take back what the latest step has counted; `_counts_before` it, and the one before."""
        if self._counts_before is before:
            self._counts_before = previous
            for state in states_of_parameters(self.state):
                state.update(before.get(id(state), self._counts))

    def read_counts(self) -> None:
        """Make numbers again of counts that are tensors; waits for them."""
        self.has_tensor_counts = False
        for state in states_of_parameters(self.state):
            for name, count in self.counts_of(state).items():
                state[name] = count.item() if isinstance(count, Tensor) else count

    def states_of_group(self, group: dict[str, Any]) -> list[dict[str, Any]]:
        """The states of the parameters of `group` that have a gradient, complete."""
        return [self._complete_state(p, group) for p in group["params"] if p.grad is not None]

    @property
    def steps_by_update(self) -> bool:
        """Return True if `step` is the shared walk over the groups, without hooks."""
        return type(self).step is Optimizer.step and not self.has_step_hooks

    def _complete_state(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """The state of one parameter with everything in it that `_initial_state` names.

        New entries are made as data, not recorded: so the first step is the same program as the
        others.
        """
        spec = unwrap(parameter).spec
        state = self.state[parameter]
        if not state:
            state.update(self._counts)
        # PyTorch's SGD saves no count: its saved state has seen one step at least.
        state.setdefault("step", 1)
        for name, fill in self._initial_state(group).items():
            if name not in state:
                fill = complex(fill, fill) if spec.dtype.is_complex else fill  # parts begin alike
                # A view of one number: parameters may be larger than the memory of this machine.
                array = np.broadcast_to(np.asarray(fill, spec.dtype.numpy), spec.shape)
                state[name] = wrap(value_from_numpy(array, self._state_sharding(spec)))
        return state

    # The sharding of states of a global parameter, from its spec, if not the parameter's.
    state_sbp: Callable[[TensorSpec], NdSbp] | None = None

    def _state_sharding(self, spec: TensorSpec) -> Any:
        """The device or sharding of a parameter's states."""
        if spec.sbp is None:
            return spec.device
        return Sharding(spec.device, spec.sbp if self.state_sbp is None else self.state_sbp(spec))

    def _advance(self, state: dict[str, Any], group: dict[str, Any]) -> Any:
        """Count one step. Parameters with equal results share the vector of numbers."""
        step = state["step"] = state.get("step", 1) + 1
        return step

    def _numbers(self, group: dict[str, Any], state: dict[str, Any]) -> NamedTuple:
        """The numbers of the update of a parameter with `state`, after `_advance`."""
        raise NotImplementedError

    # --- gradients

    def zero_grad(self, set_to_none: bool | None = None) -> None:
        """Set the gradients of all parameters to zero.

        Args:
            set_to_none: remove them, as PyTorch does by default. A parameter without gradient is
                skipped by `step`; momentum and weight decay move one with a zero gradient.
        """
        if self.step_counter is None:
            check_not_in_build(type(self).__name__, self.param_groups)
        if "_counts_before" not in vars(self):  # the first step is still to come
            _run_recorded()
        zero_grads([p for group in self.param_groups for p in group["params"]], set_to_none)

    def clip_grad(self, error_if_nonfinite: bool = False) -> None:
        """Clip the gradients of each group that has `clip_grad_max_norm` and `clip_grad_norm_type`.

        Args:
            error_if_nonfinite: raise if the norm is infinite or not a number; that waits for the
                norm.

        Raises:
            RuntimeError: a norm is not finite and `error_if_nonfinite` is set.

        Example:
            >>> import oneflow as flow
            >>> w = flow.tensor([3.0, 4.0], requires_grad=True)
            >>> group = {"params": [w], "clip_grad_max_norm": 1.0, "clip_grad_norm_type": 2.0}
            >>> optimizer = flow.optim.SGD([group], lr=0.1)
            >>> w.pow(2).sum().backward()
            >>> optimizer.clip_grad()
            >>> w.grad
            tensor([0.6000, 0.8000], dtype=oneflow.float32)
        """
        for group in self.param_groups:
            if CLIPPING[0] in group:
                maximum, norm_type = (group[name] for name in CLIPPING)
                clip_grad_norm_(group["params"], maximum, norm_type, error_if_nonfinite)

    # --- saving

    def state_dict(self) -> dict[str, Any]:
        """State and options as plain dicts and tensors, with parameters replaced by their numbers.

        It is PyTorch's ``{"state": {number: {...}}, "param_groups": [{"params": [...], ...}]}``.
        """
        self.step_due_schedule()
        self._call_hooks("state_dict_pre")
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for parameter in group["params"]:
                numbers.setdefault(id(parameter), len(numbers))
            options = {name: value for name, value in group.items() if name != "params"}
            groups.append({**options, "params": [numbers[id(p)] for p in group["params"]]})
        state = {
            numbers[id(key)] if isinstance(key, Tensor) else key: copied_state(state_of_key)
            for key, state_of_key in self.state.items()
        }
        return self._replaced_by_hooks("state_dict_post", {"state": state, "param_groups": groups})

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a `state_dict`, one of PyTorch's or OneFlow's included; it is copied.

        States of global parameters get the sharding that this optimizer gives them;
        every process takes part.

        Raises:
            ValueError: the groups differ in number or size from this optimizer's.
        """
        self.step_due_schedule()
        given_state = self._replaced_by_hooks("load_state_dict_pre", dict(state_dict))
        state_dict = from_oneflow_layout(given_state)
        saved = state_dict["param_groups"]
        parameters_by_index = saved_parameters(self.param_groups, saved)
        states: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for key, values in state_dict["state"].items():
            owner = parameters_by_index.get(key)
            if owner is not None:
                values = {n: self._convert_state(n, value, owner) for n, value in values.items()}
            states[key if owner is None else owner] = values
        with restore_on_failure(self):
            for group, saved_group in zip(self.param_groups, saved, strict=True):
                group.update(loaded_options(saved_group))
            self.__setstate__({"state": states, "param_groups": self.param_groups})
        self._counts_before = {}  # no step's counts are taken back from these
        self._call_hooks("load_state_dict_post")

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Take what `load_state_dict` has read, or the attributes of a copy.

        Derived classes override it to complete what older files lack.
        """
        self.__dict__.update(state)
        if "_hooks" not in vars(self) and "param_groups" in state:
            super().__init__()
            complete_attributes(self)

    def _convert_state(self, name: str, value: Any, owner: Tensor) -> Any:
        """A saved state in the form of `owner`'s.

        Counts are Python numbers; those of classes with steps of their own stay what they are.
        """
        if not isinstance(value, Tensor):
            return value
        if name in self._counts:
            number_type = type(self._counts[name])
            return number_type(value.item()) if self._has_number_counts else value.clone()
        preserves_dtype = self._preserves_dtypes or value.dtype.category < Category.FLOAT
        dtype, spec = (value if preserves_dtype else owner).dtype, unwrap(owner).spec
        if spec.sbp is None and value.is_local:
            return wrap(value_from_numpy(np.asarray(value.numpy(), dtype.numpy), spec.device))
        device = self._state_sharding(spec) if value.shape == owner.shape else spec.device
        return wrap(device_put(unwrap(value).alias(), device, dtype))

    @property
    def support_sparse(self) -> bool:
        """True if it can update only the rows that were looked up."""
        return False


def _run_recorded() -> None:
    """Run pending instructions before the first step, so that all steps are the same program."""
    if not is_capturing():
        flush_devices_for_step()


Optimizer.step = complete_step(Optimizer.step)
