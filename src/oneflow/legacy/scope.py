"""The devices and names of the values of a job: `oneflow.scope`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from oneflow.base.placement import Placement
from oneflow.base.sbp import Sbp
from oneflow.legacy import context


class View:
    """The number of logical values of each blob; see `FunctionConfig.default_logical_view`."""

    is_mirrored = False

    def __repr__(self) -> str:
        return f"flow.scope.{type(self).__name__}()"


class consistent_view(View):
    """One value, which all devices of the job share: OneFlow distributes it.

    Example:
        >>> import oneflow as flow
        >>> config = flow.FunctionConfig()
        >>> config.default_logical_view(flow.scope.consistent_view())
    """


class mirrored_view(View):
    """One value per device: each computes with its part of the data, and gradients are averaged.

    Example:
        >>> import oneflow as flow
        >>> config = flow.FunctionConfig()
        >>> config.default_logical_view(flow.scope.mirrored_view())
    """

    is_mirrored = True


def mirrored_view_enabled() -> bool:
    """Return whether the body that calls is a replica's.

    Raises:
        RuntimeError: called outside the body of a job.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def job(x: tp.Numpy.Placeholder((1,))) -> tp.Numpy:
        ...     return x if flow.scope.mirrored_view_enabled() else -x
        >>> job(np.float32([1]))
        array([-1.], dtype=float32)
        >>> flow.clear_default_session()
    """
    return context.current_run("flow.scope.mirrored_view_enabled()").shared is not None


def consistent_view_enabled() -> bool:
    """Return whether the caller is the body of a job in consistent view.

    Raises:
        RuntimeError: called outside the body of a job.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def job(x: tp.Numpy.Placeholder((1,))) -> tp.Numpy:
        ...     return x if flow.scope.consistent_view_enabled() else -x
        >>> job(np.float32([1]))
        array([1.], dtype=float32)
        >>> flow.clear_default_session()
    """
    return context.current_run("flow.scope.consistent_view_enabled()").shared is None


def auto() -> None:
    """Leave the distribution of a blob or variable to OneFlow, as None does.

    Example:
        >>> import oneflow as flow
        >>> flow.parallel_cast(flow.ones(2), distribute=flow.distribute.auto()).shape
        oneflow.Size([2])
    """


def assert_is_valid_distribute(distribute: Sbp | None) -> None:
    """Check that `distribute` is a distribution of `oneflow.distribute`.

    Raises:
        TypeError: it is something else.

    Example:
        >>> import oneflow as flow
        >>> flow.distribute.assert_is_valid_distribute(flow.distribute.split(0))
    """
    if distribute is not None and not isinstance(distribute, Sbp):
        raise TypeError(
            "a distribution is flow.distribute.split(axis), broadcast() or auto(), "
            f"got {distribute!r}"
        )


class PlacementScope:
    """A context in which variables are made, and layers compute, on the devices of `placement`."""

    def __init__(self, placement: Placement) -> None:
        self.placement = placement
        self._entered: list[AbstractContextManager[None]] = []

    def __enter__(self) -> PlacementScope:
        scope = context.placement_scope(self.placement)
        scope.__enter__()
        self._entered.append(scope)
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)


def config(
    *, checkpointing: bool = False, pipeline_stage_id_hint: int = 0
) -> AbstractContextManager[None]:
    """Accept hints for the computations inside, which change no result.

    Args:
        checkpointing: compute again in the backward pass what the forward pass has computed, to
            save memory. XLA does so by itself where that of a GPU or TPU is short.
        pipeline_stage_id_hint: the stage of a pipeline, which the devices tell here.

    Returns:
        A context manager.

    Example:
        >>> import oneflow as flow
        >>> with flow.experimental.scope.config(checkpointing=True):
        ...     x = flow.zeros(2)
    """
    return nullcontext()


def placement(
    device_tag: str, machine_device_ids: str | Sequence[str], hierarchy: Sequence[int] | None = None
) -> PlacementScope:
    """Make variables, and let layers compute, on these devices.

    Args:
        device_tag: "cpu" or "gpu".
        machine_device_ids: the machine and its devices, such as "0:0-1" or "0:0,2", or several.
        hierarchy: sizes of the grid that the devices form.

    Returns:
        A context manager.

    Raises:
        ValueError: the text is something else, or there are no such devices.

    Example:
        >>> import oneflow as flow
        >>> with flow.scope.placement("cpu", "0:0"):
        ...     x = flow.zeros(2)
    """
    return PlacementScope(_parse_placement(device_tag, machine_device_ids, hierarchy))


def _parse_placement(
    device_tag: str, machine_device_ids: str | Sequence[str], hierarchy: Sequence[int] | None
) -> Placement:
    """Return the placement that the texts of a job function name; see `placement`."""
    kind = {"cpu": "cpu", "gpu": "cuda", "cuda": "cuda"}.get(device_tag)
    if kind is None:
        raise ValueError(f"device_tag must be 'cpu' or 'gpu', got {device_tag!r}")
    ids = [machine_device_ids] if isinstance(machine_device_ids, str) else machine_device_ids
    ranks = [rank for text in ids for rank in _ranks(text)]
    return Placement(kind, ranks, hierarchy)


def _ranks(text: str) -> list[int]:
    """Return the devices in a text such as "0:0-1,3".

    Raises:
        ValueError: the text has another form, or names another machine than the first.
    """
    machine, separator, devices = text.replace("@", "").partition(":")
    try:
        ranges = [tuple(map(int, text_of_range.split("-"))) for text_of_range in devices.split(",")]
        if not separator or int(machine) != 0 or any(len(ends) > 2 for ends in ranges):
            raise ValueError
    except ValueError:
        raise ValueError(
            f"devices are named as in '0:0-1' (the devices 0 and 1 of machine 0), got {text!r}; "
            "devices of other machines are ranks of the launcher's processes"
        ) from None
    return [rank for ends in ranges for rank in range(ends[0], ends[-1] + 1)]


namespace = context.namespace
