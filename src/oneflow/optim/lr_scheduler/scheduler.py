"""`LRScheduler`: sets the learning rate of every parameter group after each step.

Schedules are closed formulas of the base learning rate and the number of steps, so they can be
asked about any step, chained and run one after the other.
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable
from typing import Any, ClassVar

from oneflow.base.keywords import KeywordSuggestion, set_extra_keywords
from oneflow.base.parameters import parameters_of
from oneflow.base.program_name import PYTORCH, program_name
from oneflow.base.pytorch_warnings import warn_in_place_of_pytorch
from oneflow.optim.groups import copied_option, set_rate
from oneflow.optim.optimizer import Optimizer
from oneflow.runtime.eager import is_capturing

EPOCH_DEPRECATION_WARNING = (
    "`epoch` of `scheduler.step()` is deprecated; call `step()` after each step of the optimizer"
)


def _checked(step: Callable) -> Callable:
    """`step`, which raises inside `build`, and steps once per call of a graph."""

    @functools.wraps(step)
    def checked(self: LRScheduler, *args: Any, **kwargs: Any) -> None:
        if is_capturing():
            raise RuntimeError(
                f"{type(self).__name__} is made or stepped inside `build`, which runs only while "
                "the graph is recorded; give it to `add_optimizer(optimizer, lr_sch=scheduler)`: "
                "the graph steps it after every call"
            )
        optimizer = getattr(self, "optimizer", None)
        if optimizer is None or optimizer.schedule_of_graph is not self:
            step(self, *args, **kwargs)
        elif args or kwargs or optimizer.used_options is not None:
            # Meanwhile it counts as nobody's: its class may call the `step` of another one.
            optimizer.schedule_of_graph = optimizer.used_options = None
            try:
                step(self, *args, **kwargs)
            finally:
                optimizer.schedule_of_graph = self

    return checked


def check_count(name: str, value: float, low: int = 0) -> None:
    """Check a number of steps, which may be a float.

    Raises:
        ValueError: `value` is not a whole number of at least `low`.
    """
    if not isinstance(value, numbers.Real) or value < low or value % 1:
        raise ValueError(f"`{name}` must be a whole number of at least {low}, got {value!r}")


class LRScheduler(KeywordSuggestion):
    """Base class of the schedulers. A class of your own defines `get_lr`.

    A schedule sets the rates of the groups that the optimizer had when it was made. Groups added
    later keep the rate they come with.

    Args:
        optimizer: whose learning rates to set.
        last_step: number of the last step done; -1 starts from the beginning. PyTorch's
            `last_epoch` is the same.
        verbose: print every change.

    Attributes:
        optimizer: the optimizer.
        base_lrs: the learning rates to start from, one per parameter group.
        last_step: number of the last step done.

    Raises:
        TypeError: `optimizer` is not an optimizer.
        KeyError: `last_step` is given, but a parameter group has no `initial_lr`.

    Example:
        >>> import oneflow as flow
        >>> class Halving(flow.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self, base_lr, step):
        ...         return base_lr * 0.5**step
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = Halving(optimizer)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    # Attributes that are objects of the user's, or refer to them, and are not part of `state_dict`.
    _not_saved: tuple[str, ...] = ("optimizer",)
    # PyTorch's names of what a `state_dict` holds, where they differ.
    _pytorch_names: ClassVar[dict[str, str]] = {
        "last_step": "last_epoch",
        "num_bad_steps": "num_bad_epochs",
    }
    # Going to a given step is what PyTorch warns of.
    _warns_of_epochs = True
    # `get_lr` takes no arguments and returns a list.
    _lists_lrs = False
    # The rates are a formula of the step, which may be asked about any step: no code of users.
    _is_formula = True

    def __init__(self, optimizer: Optimizer, last_step: int = -1, verbose: bool = False) -> None:
        self._attach(optimizer, last_step, verbose)
        self._begin()

    def _begin(self) -> None:
        """Set the first rates of a schedule that has just been made."""
        self._initial_step()

    def _initial_step(self) -> None:
        """Count steps anew, and take the first one, which no step of the optimizer precedes."""
        self._step_count = 0
        self.step()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in cls.__dict__:
            cls.__init__ = _accept_last_epoch(cls.__dict__["__init__"])
        if "step" in cls.__dict__:
            cls.step = _checked(cls.__dict__["step"])
        cls._is_formula = cls._is_formula and cls.__module__.startswith("oneflow.")
        if "get_lr" in cls.__dict__:
            cls._lists_lrs = len(parameters_of(cls.__dict__["get_lr"]).names) == 1

    def _attach(self, optimizer: Optimizer, last_step: int, verbose: bool) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"`optimizer` must be an Optimizer, got {type(optimizer).__name__}")
        for index, group in enumerate(optimizer.param_groups):
            if "lr" not in group:
                raise KeyError(
                    f"{type(self).__name__} sets `lr` of parameter groups, which "
                    f"param_groups[{index}] of {type(optimizer).__name__} has not"
                )
            if last_step == -1:
                group.setdefault("initial_lr", copied_option(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    "param 'initial_lr' is not specified in "
                    f"param_groups[{index}] when resuming an optimizer"
                )
        self.optimizer = optimizer
        optimizer.note_schedule(self)
        self.base_lrs = [copied_option(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_step = last_step
        # Calls of `step`: libraries for PyTorch count those that they leave out, too.
        self._step_count = 0
        self.verbose = verbose
        self._last_lr = [copied_option(group["lr"]) for group in optimizer.param_groups]

    @property
    def last_epoch(self) -> int:
        """PyTorch's name of `last_step`."""
        return self.last_step

    @last_epoch.setter
    def last_epoch(self, step: int) -> None:
        self.last_step = step

    def get_lr(self, base_lr: float, step: int) -> float:
        """The learning rate after `step` steps of a parameter group that starts from `base_lr`.

        A subclass may also define PyTorch's form, `get_lr(self)`, which returns a list for all
        groups.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `get_lr(base_lr, step)`")

    def lrs_at(self, base_lrs: list[float], step: int) -> list[float]:
        """The learning rates of all groups after `step` steps from `base_lrs`."""
        if self._lists_lrs:
            self.last_step = step
            list_lrs: Callable[[], Any] = getattr(self, "get_lr")  # noqa: B009
            return list_lrs()
        return [self.get_lr(base_lr, step) for base_lr in base_lrs]

    def options_ahead(self, steps: int) -> list[list[dict[str, Any]]] | None:
        """The options that the schedule sets in the next steps, by step and group.

        None if only code of users knows: that runs when its time has come.
        """
        if not self._is_formula:
            return None
        first = self.last_step + 1
        return [self._options_at(step) for step in range(first, first + steps)]

    def _options_at(self, step: int) -> list[dict[str, Any]]:
        """The options of each group after `step` steps."""
        options = [{"lr": lr} for lr in self.lrs_at(self.base_lrs, step)]
        for option, others in zip(options, self._other_options(step), strict=False):
            option.update(others)
        return options

    def _other_options(self, step: int) -> list[dict[str, Any]]:
        """The options that each group gets besides its rate after `step` steps."""
        return []

    def get_last_lr(self) -> list[float]:
        """The learning rates set last, one per parameter group."""
        return list(self._last_lr)

    @_checked
    def step(self, epoch: int | None = None) -> None:
        """Go on by one step, or to step `epoch`; call it after `optimizer.step()`.

        A graph that has this schedule counts its calls. For each of them ``step()`` goes on once,
        or else the next call does.
        """
        self._warn_of_order(epoch)
        self._step_count += 1
        self._go_to(epoch)

    def _go_to(self, epoch: int | None) -> None:
        """Set the rates of the next step, or of step `epoch`."""
        previous = self.last_step
        self.last_step = previous + 1 if epoch is None else epoch
        self.update_lrs(self._next_lrs(previous))
        others = self._other_options(self.last_step)
        for group, options in zip(self.optimizer.param_groups, others, strict=False):
            group.update(options)

    def _next_lrs(self, previous: int) -> list[float]:
        """The learning rates of the present step; `previous` is the number of the step before."""
        return self.lrs_at(self.base_lrs, self.last_step)

    def _note_step(self, step: int) -> None:
        """Take `step` for the present step; one that has others inside tells them."""
        self.last_step = step

    def _present_lrs(self) -> list[float]:
        """The rates that the groups have, which another schedule may have set."""
        return [group["lr"] for group in self.optimizer.param_groups[: len(self.base_lrs)]]

    def _warn_of_order(self, epoch: int | None) -> None:
        """Warn a program of PyTorch that steps the schedule before the optimizer."""
        if epoch is not None and self._warns_of_epochs:
            warn_in_place_of_pytorch(EPOCH_DEPRECATION_WARNING)
        if self._step_count != 1:
            return
        if "step" in vars(self.optimizer):
            warn_in_place_of_pytorch(
                "`optimizer.step` has been replaced; call it before `scheduler.step()`"
            )
        elif "_counts_before" not in vars(self.optimizer):  # its first step is still to come
            warn_in_place_of_pytorch(
                "`scheduler.step()` is called before `optimizer.step()`, so that the first rate is "
                "never used; step the optimizer first (how-to-adjust-learning-rate)"
            )

    def update_lrs(self, lrs: list[float]) -> None:
        """Set the learning rates of the parameter groups; those added later keep theirs."""
        groups = self.optimizer.param_groups[: len(lrs)]
        for index, (group, lr) in enumerate(zip(groups, lrs, strict=False)):
            set_rate(group, lr)
            if self.verbose:
                self.print_lr(index, lr)
        # A tensor that is the rate of several groups has that of the last one.
        self._last_lr = [copied_option(group["lr"]) for group in groups]

    def print_lr(self, group_index: int, lr: float) -> None:
        """Tell the user about a change."""
        print(  # noqa: T201
            f"Last step {self.last_step} of {type(self).__name__} "
            f"set learning rate of parameter group {group_index} to {lr}"
        )

    def __setattr__(self, name: str, value: Any) -> None:
        # A change between two calls of a graph counts from the next step on, as in eager mode.
        optimizer = self.__dict__.get("optimizer")
        if optimizer is not None and optimizer.schedule_of_graph is self:
            optimizer.step_due_schedule()
        super().__setattr__(name, value)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions, as plain data, by the program's names.

        It is the state after the latest call of a graph, whether ``step()`` was called or not.
        """
        if self.optimizer.schedule_of_graph is self:
            self.optimizer.step_due_schedule()
        state = {n: v for n, v in self.__dict__.items() if n not in self._not_saved}
        return self._in_pytorch(state) if program_name() == PYTORCH else state

    def _in_pytorch(self, state: dict[str, Any]) -> dict[str, Any]:
        """The entries of a `state_dict` as PyTorch has them."""
        names = self._pytorch_names
        return {names.get(name, name): v for name, v in state.items() if name != "verbose"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a `state_dict`, which may be one of PyTorch's."""
        if self.optimizer.schedule_of_graph is self:
            self.optimizer.used_options = None
        for name, value in self._from_pytorch(state_dict).items():
            setattr(self, name, value)

    def _from_pytorch(self, state: dict[str, Any]) -> dict[str, Any]:
        """The entries of a `state_dict` as they are here; those that are so already stay."""
        names = {name: here for here, name in self._pytorch_names.items()}
        return {names.get(name, name): value for name, value in state.items()}

    def _state_in_pytorch(self) -> dict[str, Any]:
        """All attributes as PyTorch's class has them."""
        steps = {"_is_initial": False, "_get_lr_called_within_step": False}
        return {**self._in_pytorch(vars(self)), **steps}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes of a copy, or of a whole schedule in a file of PyTorch."""
        if "last_step" not in state:
            self.__dict__["optimizer"] = state["optimizer"]
            state = {**self._defaults_of_pytorch(), **self._from_pytorch(state)}
        self.__dict__.update(state)

    def _defaults_of_pytorch(self) -> dict[str, Any]:
        """Attributes that PyTorch's class may lack, of a schedule that is read from a file."""
        groups = self.optimizer.param_groups
        first = [copied_option(group.get("initial_lr", group["lr"])) for group in groups]
        return {"verbose": False, "_step_count": 1, "base_lrs": first}


def _accept_last_epoch(init: Callable) -> Callable:
    """`init` with `last_epoch=` as another name of `last_step=`."""
    if "last_step" not in parameters_of(init).names:
        return init

    @functools.wraps(init)
    def accept(self: Any, *args: Any, **kwargs: Any) -> None:
        if "last_epoch" in kwargs:
            kwargs["last_step"] = kwargs.pop("last_epoch")
        init(self, *args, **kwargs)

    set_extra_keywords(accept, ("last_epoch",))
    return accept


LRScheduler.__init__ = _accept_last_epoch(LRScheduler.__init__)


def functions_of_groups(functions: Any, optimizer: Optimizer, name: str = "lr_lambda") -> list[Any]:
    """One function per parameter group from one function or a list of them.

    Raises:
        ValueError: the list has another length.
    """
    groups = len(optimizer.param_groups)
    if not isinstance(functions, list | tuple):
        return [functions] * groups
    if len(functions) != groups:
        raise ValueError(f"expected {groups} values for `{name}`, got {len(functions)}")
    return list(functions)
