"""The state of the job whose body runs: its devices, scopes and variables."""

from __future__ import annotations

import contextlib
import itertools
from collections import defaultdict
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneflow.base.dtype import DType
from oneflow.base.placement import Placement, Sharding
from oneflow.base.sbp import NdSbp
from oneflow.dispatch.operand_casts import CASTS, casting
from oneflow.functional.global_tensors.trees import global_mode
from oneflow.functional.operator_names import operator_names_allowed
from oneflow.primitives.registry import Primitive
from oneflow.program.value import Value
from oneflow.tensor.global_values import move_global
from oneflow.tensor.tensor import Tensor

if TYPE_CHECKING:  # every program imports this module, few need those
    from oneflow.legacy.initializers import Initializer
    from oneflow.legacy.regularizers import Regularizer


@dataclass(frozen=True)
class VariableSpec:
    """A variable as a job asks for it.

    Attributes:
        name: its name in the session.
        shape: its sizes.
        dtype: the dtype of its elements.
        initializer: fills it when it is made.
        regularizer: the penalty that it adds to the loss of a training job.
        trainable: True if optimizers update it.
        placement: where it is; None stands for the one device of the session.
        sbp: how it is distributed over each of its dimensions.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DType
    initializer: Initializer
    regularizer: Regularizer | None
    trainable: bool
    placement: Placement | None
    sbp: NdSbp


@dataclass
class BodyRun:
    """One run of the body of a job.

    Attributes:
        job_name: the name of the function.
        is_training: True if it is a training job.
        records: True if a graph records the run; the run before that only learns what there is.
        loss_optimizer: the optimizer of losses that name none.
        variables: the job's variables by name.
        minimize_calls: pairs of an optimizer and its loss.
        placements: the placements of the scopes that the body entered.
        watched: pairs of a blob and the function that gets its value.
        tracked_gradients: pairs of a blob and the function that gets its gradient.
        names: blobs by their names.
        shared: the devices of all replicas, which have its variables, if it is a replica.
        copies: its copies of variables, and their first values, if it is a replica.
    """

    job_name: str
    is_training: bool
    records: bool
    loss_optimizer: Any = None
    variables: dict[str, VariableSpec] = field(default_factory=dict)
    minimize_calls: list[tuple[Any, Tensor]] = field(default_factory=list)
    placements: list[Placement] = field(default_factory=list)
    watched: list[tuple[Tensor, Any]] = field(default_factory=list)
    tracked_gradients: list[tuple[Tensor, Any]] = field(default_factory=list)
    names: dict[str, Tensor] = field(default_factory=dict)
    shared: Placement | None = None
    copies: dict[str, tuple[Tensor, Value]] = field(default_factory=dict)
    _counts: dict[str, Iterator[int]] = field(
        default_factory=lambda: defaultdict(lambda: itertools.count(1))
    )

    def unique_name(self, prefix: str) -> str:
        """Return a name of a layer that has none; each run of a body gives the same ones."""
        return f"{self.job_name}-{prefix}{next(self._counts[prefix])}"

    def blob_name(self, blob: Tensor) -> str:
        """Return the name of a blob; the first call gives it one."""
        for name, named_blob in self.names.items():
            if named_blob is blob:
                return name
        name = self.unique_name("Blob_")
        self.names[name] = blob
        return name


_run: ContextVar[BodyRun | None] = ContextVar("_run", default=None)
_placement: ContextVar[Placement | None] = ContextVar("_placement", default=None)
_namespace: ContextVar[tuple[str, ...]] = ContextVar("_namespace", default=())


def is_in_job() -> bool:
    """Return whether the body of a job is running."""
    return _run.get() is not None


def current_run(what: str, error: type[RuntimeError] = RuntimeError) -> BodyRun:
    """Return the run of the body that calls.

    Args:
        what: the caller, for the message.
        error: the class of the exception.

    Raises:
        RuntimeError: no job's body is running.
    """
    run = _run.get()
    if run is None:
        raise error(
            f"{what} belongs into the body of a job; decorate the function with "
            "@flow.global_function()"
        )
    return run


def _tensors_on(placement: Placement | None) -> global_mode:
    """Context manager: new tensors are on `placement`; None makes them local."""
    return global_mode(placement is not None, placement, placement and placement.broadcast)


@contextlib.contextmanager
def running(run: BodyRun, placement: Placement | None) -> Iterator[None]:
    """Make `run` the current one, on the devices of `placement`, where new tensors are made."""
    tokens = _run.set(run), _placement.set(placement), _namespace.set(())
    try:
        with operator_names_allowed(run.job_name), _tensors_on(placement):
            yield
    finally:
        _run.reset(tokens[0])
        _placement.reset(tokens[1])
        _namespace.reset(tokens[2])


def current_placement() -> Placement | None:
    """Return the placement of new blobs; None is the session's one device."""
    return _placement.get()


def _on_one_placement(_: Primitive, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands of several placements, moved to the innermost scope's."""
    specs = [operand.spec for operand in operands if type(operand) is Value]
    if len(specs) < 2 or all(spec.device is specs[0].device for spec in specs):
        return operands
    placement = _placement.get()
    return tuple(
        _moved(operand, placement)
        if placement is not None and type(operand) is Value and operand.spec.sbp is not None
        else operand
        for operand in operands
    )


def _moved(value: Value, placement: Placement) -> Value:
    """`value` on `placement`, distributed as before if that has as many dimensions."""
    spec = value.spec
    if spec.device is placement:
        return value
    sbp = spec.sbp if spec.device.ndim == placement.ndim else placement.broadcast
    return move_global(value, Sharding(placement, sbp), None)


@contextlib.contextmanager
def placement_scope(placement: Placement) -> Iterator[None]:
    """Make variables and other tensors of a job on `placement`, and let layers compute there.

    Operands on the devices of other scopes are sent to these.
    """
    run = _run.get()
    if run is None:
        with _tensors_on(None), _on_placement(placement):
            yield
        return
    run.placements.append(placement)
    others = tuple(cast for cast in CASTS.functions if cast is not _on_one_placement)
    with (
        _tensors_on(placement),
        casting((*others, _on_one_placement)),
        _on_placement(placement),
    ):
        yield


@contextlib.contextmanager
def _on_placement(placement: Placement) -> Iterator[None]:
    """Make `placement` the current one."""
    token = _placement.set(placement)
    try:
        yield
    finally:
        _placement.reset(token)


@contextlib.contextmanager
def namespace(name: str) -> Iterator[None]:
    """Begin the names of variables with `name` and a hyphen.

    Example:
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        ...     with flow.scope.namespace("encoder"):
        ...         return x * flow.get_variable("scale", (2,))
        >>> flow.experimental.get_job_set().job[-1].job_conf.variables
        ('encoder-scale',)
        >>> flow.clear_default_session()
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"the name of a namespace is a string that is not empty, got {name!r}")
    token = _namespace.set((*_namespace.get(), name))
    try:
        yield
    finally:
        _namespace.reset(token)


def qualified(name: str) -> str:
    """Return `name` with the namespaces around it."""
    return "-".join((*_namespace.get(), name))
