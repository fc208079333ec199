"""Names that ``torch.utils.checkpoint`` has beside `oneflow.utils.checkpoint`."""

from __future__ import annotations

import contextlib
import enum
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Self

from oneflow.autograd.checkpointing import checkpoint, noop_context_fn
from oneflow.autograd.function import Function
from oneflow.mock_torch.pytorch.aten import OpOverload
from oneflow.mock_torch.pytorch.operator_definition import CustomOpDef
from oneflow.tensor.tensor import Tensor

DefaultDeviceType = str


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """Return the devices of tensors whose random numbers have a state of their own: none.

    All draws come from one generator, whose state ``torch.get_rng_state`` gives.
    """
    return [], []


def set_device_states(devices: Sequence[int], states: Sequence[Any], **options: Any) -> None:
    """Set the states that `get_device_states` gave: none."""


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tensors of a tuple detached, to be differentiated by if they were.

    Raises:
        RuntimeError: `inputs` is no tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"`inputs` must be a tuple, got {type(inputs).__name__}")
    return tuple(
        argument.detach().requires_grad_(argument.requires_grad)
        if isinstance(argument, Tensor)
        else argument
        for argument in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no tensor among the inputs requires a gradient, so that none would come."""
    if not any(argument.requires_grad for argument in inputs if isinstance(argument, Tensor)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
        )


class CheckpointPolicy(enum.Enum):
    """Answers of a policy of selective checkpointing: to keep the result of an operator, or not."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """The circumstances of a call, which a policy is told.

    Args:
        is_recompute: whether the function runs again.
    """

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


#: Operators of which no policy is asked.
SAC_IGNORED_OPS: set[Any] = set()


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Return contexts for `context_fn` of `checkpoint`, in which everything is computed again.

    A policy trades memory for time, and changes no number. Operators are recorded as they are
    called, and nobody is asked about each, so that the least memory is taken.

    Args:
        policy_fn_or_list: a function that says of an operator what is kept, or a list of the
            operators whose results are kept; without effect.
        allow_cache_entry_mutation: without effect.

    Raises:
        TypeError: `policy_fn_or_list` is neither.
        ValueError: something in the list is not one operator, such as
            ``torch.ops.aten.mm.default``.

    Example:
        >>> from functools import partial
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.utils import checkpoint
        >>> contexts = partial(checkpoint.create_selective_checkpoint_contexts, [])
        >>> x = torch.ones(1, requires_grad=True)
        >>> checkpoint.checkpoint(torch.exp, x, use_reentrant=False, context_fn=contexts).backward()
        >>> round(x.grad.item(), 3)
        2.718
    """
    if not (callable(policy_fn_or_list) or isinstance(policy_fn_or_list, list)):
        raise TypeError(
            "`policy_fn_or_list` must be a function or a list of operators, "
            f"got {type(policy_fn_or_list).__name__}"
        )
    for operator in policy_fn_or_list if isinstance(policy_fn_or_list, list) else ():
        if not isinstance(operator, OpOverload | CustomOpDef):
            raise ValueError(
                "`policy_fn_or_list` must hold operators such as `torch.ops.aten.mm.default`, got "
                f"{operator!r}"
            )
    return noop_context_fn()


class CheckpointFunction(Function):
    """Checkpointing as a function of autograd: ``CheckpointFunction.apply``.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.utils.checkpoint import CheckpointFunction
        >>> x = torch.ones(1, requires_grad=True)
        >>> CheckpointFunction.apply(torch.exp, True, x).backward()
        >>> round(x.grad.item(), 3)
        2.718
    """

    @classmethod
    def apply(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any
    ) -> Any:
        """Call a function, and compute it again in the backward pass.

        Args:
            run_function: the function.
            preserve_rng_state: whether it draws the same random numbers again.
            args: its arguments.
        """
        check_backward_validity(args)
        return checkpoint(
            run_function, *args, use_reentrant=True, preserve_rng_state=preserve_rng_state
        )


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Say in a block whether errors of checkpoints tell what differs, which they always do."""
    yield


class GraphExecGroup:
    """A block of backward passes over different parts of one graph.

    What they have in common is computed again for each, to the same values.

    Raises:
        RuntimeError: such a block is entered within another.
    """

    _current: ClassVar[GraphExecGroup | None] = None

    def __enter__(self) -> Self:
        if GraphExecGroup._current is not None:
            raise RuntimeError("GraphExecGroup contexts cannot be nested")
        GraphExecGroup._current = self
        return self

    def __exit__(self, *exception: object) -> None:
        GraphExecGroup._current = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return cls._current


__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_device_states",
]
