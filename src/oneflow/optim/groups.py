"""Parameter groups as users give them, checked, and what optimizers keep of them."""

from __future__ import annotations

import contextlib
import copyreg
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import is_not
from typing import Any, Self

from oneflow.base.layout import Layout
from oneflow.base.program_name import PYTORCH, program_name
from oneflow.base.pytorch_warnings import warn_in_place_of_pytorch
from oneflow.differentiation.grad_mode import no_grad
from oneflow.tensor.tensor import Tensor

# The `params` argument of optimizers: tensors, with or without names, or parameter groups.
ParamsT = Iterable[Tensor] | Iterable[tuple[str, Tensor]] | Iterable[Mapping[str, Any]]
CLIPPING = ("clip_grad_max_norm", "clip_grad_norm_type")
# The types of options that are tensors or may have some in them.
_WITH_TENSORS = frozenset({Tensor, tuple})


class Required:
    """The default of an option that every group must set: `required`."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = Required()


class ParamGroup(dict[str, Any]):
    """A parameter group: the dict of its `params` and options.

    Args:
        parameters: a dict with `params` and the group's own options.
        default_options: the options of groups that do not set them.

    Attributes:
        written: the names of the entries that were set or removed since somebody cleared it.

    Raises:
        TypeError: there are no `params`.
        ValueError: an option whose default is `required` is not set.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.optimizer.optimizer import ParamGroup
        >>> group = ParamGroup({"params": [flow.ones(2)], "lr": 0.5}, {"lr": 0.1, "eps": 1e-8})
        >>> len(group.parameters), group.options
        (1, {'lr': 0.5, 'eps': 1e-08})
    """

    written: set[str]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        group = super().__new__(cls)
        group.written = set()
        return group

    def __init__(
        self, parameters: Mapping[str, Any], default_options: Mapping[str, Any] | None = None
    ) -> None:
        if "params" not in parameters:
            raise TypeError(f"a parameter group is a dict with `params`, got {parameters!r}")
        options = {**(default_options or {}), **parameters}
        for name, value in options.items():
            if value is required:
                raise ValueError(
                    f"a parameter group lacks the option `{name}`, which has no default; give it "
                    f"to the optimizer or to the group"
                )
        super().__init__(
            {"params": None, **{n: plain_option(option) for n, option in options.items()}}
        )
        computed_allowed = bool(self.get("differentiable"))
        self["params"] = tensors_of(parameters["params"], computed_allowed)
        self.written.update(self)

    @property
    def parameters(self) -> list[Tensor]:
        """The tensors."""
        return self["params"]

    @property
    def options(self) -> dict[str, Any]:
        """All but the tensors."""
        return {name: value for name, value in self.items() if name != "params"}

    # --- what a dict does, with a note of what it writes

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self.written.add(name)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self.written.add(name)

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def clear(self) -> None:
        """Remove everything."""
        self.written.update(self)
        super().clear()

    def pop(self, *args: Any) -> Any:
        """Remove and return an entry."""
        value = super().pop(*args)
        self.written.add(args[0])
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last entry."""
        item = super().popitem()
        self.written.add(item[0])
        return item

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Return an entry, which is made if there is none."""
        if name not in self:
            self[name] = default
        return self[name]

    def update(self, *args: Any, **entries: Any) -> None:
        """Take over entries."""
        new = dict(*args, **entries)
        super().update(new)
        self.written.update(new)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        # The entries are no items of the pickle: those are set one by one, and would be noted.
        attributes = {**vars(self), "written": set(self.written)}
        reconstruct = copyreg.__newobj__  # pyright: ignore[reportAttributeAccessIssue]
        return reconstruct, (type(self),), (dict(self), attributes)

    def __setstate__(self, state: tuple[dict[str, Any], dict[str, Any]]) -> None:
        entries, attributes = state
        super().update(entries)
        vars(self).update(attributes)


class OptionsSnapshot:
    """The options of a parameter group at one time, to see that nobody has set others since.

    A tensor may be filled without being replaced: who reads its number looks again.

    Args:
        group: a parameter group; its list of parameters is one of the options.
    """

    __slots__ = ("_group", "_names", "_values")

    def __init__(self, group: Mapping[str, Any]) -> None:
        self._group, self._names, self._values = group, list(group), list(group.values())

    def is_current(self) -> bool:
        """Return whether the group has the same objects under the same names."""
        group = self._group
        return list(group) == self._names and not any(map(is_not, group.values(), self._values))


def plain_option(value: Any) -> Any:
    """Return an option of a group; the numbers of a configuration's list as a tuple."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | tuple):
        return tuple(value)
    return value


def loaded_options(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a saved group."""
    names = [name for name in saved if name not in ("params", "param_names")]
    return {name: plain_option(saved[name]) for name in names}


def states_of_parameters(state: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """Return the parameters' states; optimizers that users write keep other values beside them."""
    return [value for value in state.values() if isinstance(value, dict)]


def copied_state(state: Any) -> Any:
    """Return a copy of a parameter's state if it is a dict, else the value itself."""
    return dict(state) if isinstance(state, dict) else state


def as_groups(params: Any) -> list[dict[str, Any]]:
    """The `params` argument as parameter groups.

    Raises:
        TypeError: it is one tensor, a module, or anything else that is no list of them.
        ValueError: it is empty, in a program of PyTorch, which refuses that.
    """
    if isinstance(params, Tensor | str | Mapping) or not isinstance(params, Iterable):
        hint = "; give its `parameters()`" if hasattr(params, "parameters") else ""
        raise TypeError(
            "params argument given to the optimizer should be an iterable of Tensors or dicts, "
            f"but got {type(params).__name__}{hint}"
        )
    groups = list(params)
    if not groups and program_name() == PYTORCH:
        raise ValueError(
            "optimizer got an empty parameter list; an iterator, such as `parameters()`, is empty "
            "once it has been read"
        )
    return groups if groups and isinstance(groups[0], dict) else [{"params": groups}]


def tensors_of(params: Any, computed_allowed: bool = False) -> list[Tensor]:
    """The tensors of one group, checked; `computed_allowed`: some may be no leaves."""
    if isinstance(params, set):
        raise TypeError("optimizer parameters need to be in an order; use a list instead of a set")
    entries = [params] if isinstance(params, Tensor) else list(params)
    tensors = [entry[1] if isinstance(entry, tuple) else entry for entry in entries]
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"optimizer can only optimize Tensors, but parameter {index} is "
                f"{type(tensor).__name__}"
            )
        if tensor.is_nested:
            raise TypeError(
                f"optimizers update tensors of one array, but parameter {index} is "
                f"{type(tensor).__name__}; give the tensor of its values, and make it of that "
                "tensor in every step"
            )
        if tensor.layout is not Layout.strided:
            raise ValueError(
                f"optimizers update dense parameters, but parameter {index} is of layout "
                f"{tensor.layout}; give the tensor of its values, and make it of that tensor in "
                "every step"
            )
        if not (computed_allowed or tensor.is_leaf):
            raise ValueError(
                f"can't optimize a non-leaf Tensor: parameter {index} was computed; use a leaf "
                "that requires grad"
            )
    distinct = list(OrderedDict.fromkeys(tensors))
    if len(distinct) < len(tensors):
        warn_in_place_of_pytorch("a group of parameters has one more than once")
    return distinct


def set_rate(group: dict[str, Any], lr: Any) -> None:
    """Set the rate of a group; one that is a tensor is filled, which its other holders see."""
    rate = group["lr"]
    if not isinstance(rate, Tensor):
        group["lr"] = lr
        return
    if rate is not lr:
        with no_grad():
            rate.fill_(lr)


def copied_option(option: Any) -> Any:
    """Return an option; in place of tensors, which can be filled, copies of them."""
    if type(option) is tuple:
        return tuple(map(copied_option, option))
    return option.detach().clone() if isinstance(option, Tensor) else option


def with_scaled_lr(group: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a group with ``lr * lr_scale`` as `lr`, if it has an `lr_scale`."""
    return {**group, "lr": group["lr"] * group["lr_scale"]} if "lr_scale" in group else group


def read_options(group: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a group with numbers for those that are tensors; waits for them.

    Args:
        group: a parameter group.
    """
    if _WITH_TENSORS.isdisjoint(map(type, group.values())):
        return group
    read = {name: read_option(option) for name, option in tensor_options(group).items()}
    return {**group, **read} if read else group


def tensor_options(group: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a group that are tensors, or tuples with tensors."""
    return {
        name: option
        for name, option in group.items()
        if (kind := type(option)) is Tensor or (kind is tuple and Tensor in map(type, option))
    }


def read_option(option: Tensor | tuple[Any, ...]) -> Any:
    """Return the number of an option that is a tensor, or the numbers of a tuple with tensors."""
    if isinstance(option, Tensor):
        return option.item()
    return tuple(number.item() if isinstance(number, Tensor) else number for number in option)


def check_clipping(group: Mapping[str, Any]) -> None:
    """Check that a group has both options of clipping or none.

    Raises:
        ValueError: it has one.
    """
    names = [name for name in CLIPPING if name in group]
    if len(names) == 1:
        missing = next(name for name in CLIPPING if name not in group)
        raise ValueError(f"a parameter group with `{names[0]}` needs `{missing}` as well")


def check_range(name: str, value: float, low: float, high: float = float("inf")) -> None:
    """Check an option of an optimizer.

    Raises:
        ValueError: `value` is below `low`, or not below `high`.
    """
    if not low <= value or not (value < high or value == high == float("inf")):
        bounds = f"at least {low}" if high == float("inf") else f"in [{low}, {high})"
        raise ValueError(f"Invalid {name}: {value}; it must be {bounds}")


def saved_parameters(
    groups: Sequence[dict[str, Any]], saved: Sequence[dict[str, Any]]
) -> dict[Any, Tensor]:
    """The parameters by the numbers that they have in saved groups.

    Args:
        groups: the optimizer's.
        saved: the groups of a state dict.

    Raises:
        ValueError: they differ in number or size.
    """
    if len(saved) != len(groups):
        raise ValueError(
            "loaded state dict has a different number of parameter groups: "
            f"{len(saved)}, the optimizer has {len(groups)}"
        )
    parameters: dict[Any, Tensor] = {}
    for index, (group, saved_group) in enumerate(zip(groups, saved, strict=True)):
        count, saved_count = len(group["params"]), len(saved_group["params"])
        if count != saved_count:
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                f"optimizer's group: {saved_count} in group {index}, {count} here"
            )
        parameters.update(zip(saved_group["params"], group["params"], strict=True))
    return parameters


@contextlib.contextmanager
def restore_on_failure(optimizer: Any) -> Iterator[None]:
    """Give an optimizer its groups and state of before again if what runs inside raises."""
    state, groups = optimizer.state, optimizer.param_groups
    options = [dict(group) for group in groups]
    try:
        yield
    except BaseException:
        optimizer.state, optimizer.param_groups = state, groups
        for group, options_of_group in zip(groups, options, strict=True):
            group.clear()
            group.update(options_of_group)
        raise
