"""Variables of jobs: `oneflow.get_variable`."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType
from oneflow.base.keyword_aliases import keyword_aliases
from oneflow.base.placement import Placement
from oneflow.base.sbp import BROADCAST, NdSbp, Sbp, named_sbp, nd_sbp_of
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.creation import factory_functions
from oneflow.legacy import context
from oneflow.legacy.context import BodyRun, VariableSpec, current_run
from oneflow.legacy.initializers import Initializer, constant_initializer
from oneflow.legacy.regularizers import Regularizer
from oneflow.legacy.session import default_session
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap

Distribute = Sbp | str | Sequence[Sbp | str] | None


@keyword_aliases(nd_sbp="parallel_distribution")
def get_variable(
    name: str,
    shape: Sequence[int] | None = None,
    dtype: DType | None = None,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool | None = None,
    model_name: str | None = None,
    random_seed: int | None = None,
    parallel_distribution: Distribute = None,
    distribute: Distribute = None,
    reuse: bool = True,
) -> Tensor:
    """The variable `name` of the session; the first job that asks for it makes it.

    Args:
        name: its name, to which the namespaces around the call are added.
        shape: its sizes; needed unless another job made it.
        dtype: float32 by default.
        initializer: fills it when it is made; zeros by default.
        regularizer: the penalty that it adds to the loss of training jobs.
        trainable: True (the default) if optimizers update it.
        model_name: "weight" or "bias"; changes nothing.
        random_seed: accepted; draws follow `oneflow.manual_seed`.
        parallel_distribution: how it is distributed over the devices, such as "S(0)", one for each
            dimension of a grid; every device has all of it by default.
        distribute: another name of that argument.
        reuse: False if the job must not have asked for it before.

    Returns:
        A blob.

    Raises:
        RuntimeError: called outside the body of a job.
        ValueError: there is no shape, it is not that of the variable, or `reuse` is False and the
            job has it.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def scaled(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        ...     return x * flow.get_variable("scale", (2,), initializer=flow.ones_initializer())
        >>> scaled(np.float32([1, 2]))
        array([1., 2.], dtype=float32)
        >>> flow.clear_default_session()
    """
    run = current_run("flow.get_variable()")
    full_name = context.qualified(name)
    if not reuse and full_name in run.variables:
        raise ValueError(f"the job has asked for variable `{full_name}` already (reuse=False)")
    variable = run.variables.get(full_name) or default_session().specs.get(full_name)
    if shape is None:
        if variable is None:
            raise ValueError(f"variable `{full_name}` is new and needs a shape")
        shape = variable.shape
    distribution = distribute if distribute is not None else parallel_distribution
    placement = run.shared or context.current_placement()
    spec = VariableSpec(
        full_name,
        tuple(shape),
        dtype or (variable.dtype if variable else dt.float32),
        initializer or constant_initializer(0),
        regularizer,
        trainable is not False,
        placement,
        _nd_sbp(distribution, placement),
    )
    if variable is not None and variable.shape != spec.shape:
        raise ValueError(
            f"variable `{full_name}` has the shape {variable.shape}, and is asked for with "
            f"{spec.shape}"
        )
    spec = run.variables.setdefault(full_name, spec)
    return _value(run, spec)


def assign(
    ref: Tensor, value: Tensor, dtype: DType | None = None, name: str | None = None
) -> Tensor:
    """Give a variable the value of a blob.

    Args:
        ref: the variable.
        value: a tensor of its shape.
        dtype: convert `value` to it before.
        name: accepted.

    Returns:
        The variable.

    Raises:
        ValueError: `value` has another shape.

    Example:
        >>> import oneflow as flow
        >>> flow.assign(flow.zeros(2), flow.ones(2))
        tensor([1., 1.], dtype=oneflow.float32)
    """
    if value.shape != ref.shape:
        raise ValueError(
            f"the variable has the shape {tuple(ref.shape)}, and its value {tuple(value.shape)}"
        )
    with no_grad():
        return ref.copy_(value if dtype is None else value.to(dtype))


def _value(run: BodyRun, spec: VariableSpec) -> Tensor:
    """Return the variable itself in the run that a graph records, else a blank one."""
    if spec.name in run.copies:
        return run.copies[spec.name][0]
    if run.records:
        variable = default_session().variables[spec.name]
    else:
        place = {} if spec.placement is None else {"placement": spec.placement, "sbp": spec.sbp}
        variable = factory_functions.zeros(*spec.shape, dtype=spec.dtype, **place)
        variable.requires_grad_(spec.trainable and spec.dtype.is_floating_point)
    if run.shared is None:
        return variable
    copy = variable.to_global(placement=context.current_placement(), sbp=BROADCAST)
    run.copies[spec.name] = copy, unwrap(copy)
    return copy


def _nd_sbp(distribute: Distribute, placement: Placement | None) -> NdSbp:
    """Return the distribution over the dimensions of a placement.

    Raises:
        ValueError: there is a split, and not one signature for each dimension.
    """
    entries = [distribute] if isinstance(distribute, Sbp | str) else list(distribute or ())
    named = tuple(named_sbp(sbp) if isinstance(sbp, str) else sbp for sbp in entries)
    if placement is None:
        return named or (BROADCAST,)
    if placement.size == 1 or set(named) <= {BROADCAST}:
        return (BROADCAST,) * placement.ndim
    return nd_sbp_of(named, placement.ndim)
