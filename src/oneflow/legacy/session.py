"""The session: its devices, and the variables that all of its jobs share."""

from __future__ import annotations

from typing import Any, Protocol

from oneflow.base.device import platform_devices, set_min_cpu_devices
from oneflow.base.placement import Placement
from oneflow.base.sbp import BROADCAST
from oneflow.checkpoint.variables_folder import SESSION_VARIABLES
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.creation import factory_functions, from_data
from oneflow.functional.recording import synchronize
from oneflow.legacy.context import VariableSpec
from oneflow.module.parameter import Parameter
from oneflow.tensor.tensor import Tensor


class SessionJob(Protocol):
    """The members of jobs that the session uses; see `oneflow.legacy.job.JobFunction`."""

    @property
    def is_defined(self) -> bool:
        """True if the variables of the job exist."""
        ...

    def define(self) -> object:
        """Make the variables that the job asks for."""
        ...

    def reset(self) -> None:
        """Begin anew at the next call, with new variables."""
        ...


class Session:
    """Jobs, their variables, and the devices that they run on.

    Attributes:
        device_count: how many devices a job uses.
        device_type: "cpu" or "cuda".
        variables: the values by name.
        specs: what the jobs asked for, by name.
        jobs: the decorated jobs, in the order of decoration.
    """

    def __init__(self) -> None:
        self.device_count = 1
        self.device_type = "cpu"
        self.variables: dict[str, Tensor] = {}
        self.specs: dict[str, VariableSpec] = {}
        self.jobs: list[SessionJob] = []

    def use_devices(self, device_type: str, count: int) -> None:
        """Run jobs on the first `count` devices of this kind.

        Without a GPU, devices of the CPU stand for those of GPUs.

        Raises:
            ValueError: `count` is not a positive integer.
            RuntimeError: jobs have run already.
        """
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ValueError(f"the number of devices must be a positive integer, got {count!r}")
        if any(job.is_defined for job in self.jobs):
            raise RuntimeError(
                "the number of devices cannot change after a job was called; call "
                "flow.clear_default_session() first"
            )
        set_min_cpu_devices(count)
        if device_type == "cuda" and not platform_devices("cuda"):
            device_type = "cpu"
        self.device_type, self.device_count = device_type, count

    @property
    def placement(self) -> Placement | None:
        """The placement of jobs; None if they use one device."""
        if self.device_count == 1:
            return None
        return Placement(self.device_type, list(range(self.device_count)))

    def add_job(self, job: SessionJob) -> None:
        """Make `job` one of this session's, unless it is."""
        if job not in self.jobs:
            self.jobs.append(job)

    def define_jobs(self) -> None:
        """Let every job that was not called yet say which variables it has."""
        for job in [candidate for candidate in self.jobs if not candidate.is_defined]:
            job.define()

    def add_variable(self, spec: VariableSpec) -> None:
        """Make the variable that a job asks for, unless another job made it.

        Raises:
            ValueError: another job has a variable of this name that differs.
        """
        other = self.specs.get(spec.name)
        if other is None:
            self.specs[spec.name] = spec
            self.variables[spec.name] = _fresh(spec)
        elif (other.shape, other.dtype) != (spec.shape, spec.dtype):
            raise ValueError(
                f"variable `{spec.name}` is {other.dtype} of shape {other.shape} in another job, "
                f"and {spec.dtype} of shape {spec.shape} here"
            )
        elif (other.placement, other.sbp) != (spec.placement, spec.sbp):
            raise ValueError(
                f"variable `{spec.name}` is on {other.placement or 'one device'} ({other.sbp}) in "
                f"another job, and on {spec.placement or 'one device'} ({spec.sbp}) here"
            )


def _fresh(spec: VariableSpec) -> Tensor:
    """Return a variable with its first value."""
    with no_grad():
        value = spec.initializer(factory_functions.empty(*spec.shape, dtype=spec.dtype))
        if spec.placement is not None:
            broadcast = [BROADCAST] * spec.placement.ndim
            full = value.to_global(placement=spec.placement, sbp=broadcast)
            value = full.to_global(sbp=spec.sbp)
    return Parameter(value, requires_grad=spec.trainable)


_session = Session()


def default_session() -> Session:
    """Return the session that jobs belong to."""
    return _session


def clear_default_session() -> None:
    """Forget all jobs, variables and settings; a job that is called again begins anew.

    Example:
        >>> import oneflow as flow
        >>> flow.clear_default_session()
        >>> flow.get_all_variables()
        {}
    """
    global _session
    for job in _session.jobs:
        job.reset()
    _session = Session()


def enable_eager_execution(val: bool = True) -> None:
    """Accept the choice of eager mode: code outside of jobs is eager, their bodies are graphs.

    Example:
        >>> import oneflow as flow
        >>> flow.enable_eager_execution(True)
    """


def eager_execution_enabled() -> bool:
    """Return False: bodies of jobs are graphs, whatever `enable_eager_execution` was told.

    Example:
        >>> import oneflow as flow
        >>> flow.eager_execution_enabled()
        False
    """
    return False


def sync_default_session() -> None:
    """Wait until all that was computed is there.

    Example:
        >>> import oneflow as flow
        >>> flow.sync_default_session()
    """
    synchronize()


def get_all_variables() -> dict[str, Tensor]:
    """Return the variables of all jobs by name.

    Example:
        >>> import oneflow as flow
        >>> flow.get_all_variables()
        {}
    """
    session = default_session()
    session.define_jobs()
    return dict(sorted(session.variables.items()))


SESSION_VARIABLES.fill(get_all_variables)


def load_variables(value_dict: dict[str, Any], ignore_mismatch: bool = True) -> None:
    """Set variables to these values.

    Args:
        value_dict: arrays or tensors by the names of variables.
        ignore_mismatch: leave out names that no job has; else they are an error.

    Raises:
        KeyError: a name that no job has.
        ValueError: a value has another shape than its variable.

    Example:
        >>> import oneflow as flow
        >>> flow.load_variables({})
    """
    variables = get_all_variables()
    values = {name: from_data.as_tensor(value) for name, value in value_dict.items()}
    unknown = sorted(values.keys() - variables.keys())
    if unknown and not ignore_mismatch:
        raise KeyError(f"no job has variables named {', '.join(unknown)}")
    for name, value in values.items():
        if name in variables and value.shape != variables[name].shape:
            raise ValueError(
                f"variable `{name}` has the shape {tuple(variables[name].shape)}, and its value "
                f"{tuple(value.shape)}"
            )
    with no_grad():
        for name, value in values.items():
            if name in variables:
                variables[name].copy_(value.to(variables[name].dtype))
