"""`profile`: recording what runs."""

from __future__ import annotations

import dataclasses
import enum
import gzip
import json
import os
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

from oneflow.base.device import platform_devices
from oneflow.base.location import user_frames
from oneflow.profiler.averages import EventList, TimedEvent, timed
from oneflow.profiler.events import averages
from oneflow.profiler.schedule import ProfilerAction
from oneflow.profiler.trace_files import (
    MemoryUse,
    bytes_in_use,
    folded_stacks,
    memory_entries,
    peak_bytes,
    trace_entry,
)
from oneflow.runtime.eager import flush_all
from oneflow.runtime.eager_settings import SETTINGS
from oneflow.runtime.events import SINK, EventKind, TraceEvent


class ProfilerActivity(enum.Enum):
    """The subject of a profile: work on the CPU, and on CUDA devices.

    Example:
        >>> import oneflow as flow
        >>> prof = flow.profiler.profile(activities=[flow.profiler.ProfilerActivity.CPU])
    """

    CPU = 1
    CUDA = 2


def kineto_available() -> bool:
    """Return False: PyTorch's library Kineto is not used; `profiler_start` asks XLA.

    Example:
        >>> import oneflow as flow
        >>> flow.profiler.kineto_available()
        False
    """
    return False


class profile:
    """Context manager that records which operators run, and for how long.

    While it is active every operator runs by itself, and its results are waited for: the times add
    up. Programs that are usually compiled as a whole are faster; ``by_operator=False`` leaves them
    whole. Steps of an `nn.Graph` are always whole. Operations whose results nobody asks for do not
    run.

    Args:
        activities: with `ProfilerActivity.CPU` all operators are recorded; without it only those
            on CUDA devices. Devices are waited for, so that times hold for all of them. The default
            is all that this machine has.
        schedule: from the number of a step to what is done in it, see
            `oneflow.profiler.schedule`; `step` ends a step. Everything is recorded by default.
        on_trace_ready: called with this profile at the end, or after every cycle of the schedule.
        record_shapes: keep the shapes of operands.
        record_bandwidth_for_cuda: warns when True; tables show no bandwidths.
        record_attrs: keep what operators are called with beside their operands.
        by_operator: whether to run hot programs operator by operator.
        profile_memory: show the bytes of results, and note the memory in use after each operator,
            for `peak_memory` and the trace.
        with_stack: keep the callers of each operator, for `export_stacks` and the trace. Then each
            runs when it is called.
        with_flops: count multiplications, additions and the like, by the planner's cost model.
        with_modules, experimental_config: warn when given; they are about PyTorch's compiled
            modules and its library Kineto. `record_function` in a module's `forward` shows it as a
            range.
        acc_events: keep the events of earlier cycles of the schedule.
        execution_trace_observer, custom_trace_id_callback: must be None; there is no such trace.
        use_cuda: adds `ProfilerActivity.CUDA` to the activities, or removes it; deprecated.

    Raises:
        RuntimeError: another profile is being made.
        ValueError: there is no activity, or only that of CUDA devices and this machine has none.
        NotImplementedError: an argument that must be left out.

    Example:
        >>> import oneflow as flow
        >>> with flow.profiler.profile() as prof:
        ...     y = (flow.ones(3) * 2).relu()
        >>> [average.key for average in prof.key_averages()]
        ['ones', 'mul', 'relu']
    """

    def __init__(
        self,
        activities: Iterable[ProfilerActivity] | None = None,
        record_shapes: bool = False,
        record_bandwidth_for_cuda: bool = False,
        *,
        record_attrs: bool = False,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        by_operator: bool = True,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        acc_events: bool = False,
        execution_trace_observer: Any = None,
        custom_trace_id_callback: Any = None,
        use_cuda: bool | None = None,
    ) -> None:
        _raise_unsupported(
            execution_trace_observer="use `export_chrome_trace`"
            if execution_trace_observer is not None
            else "",
            custom_trace_id_callback="traces have no identifiers; give their files names"
            if custom_trace_id_callback is not None
            else "",
        )
        _warn_of_no_effect(
            record_bandwidth_for_cuda=record_bandwidth_for_cuda,
            with_modules=with_modules,
            experimental_config=experimental_config is not None,
        )
        self.activities = _select_activities(activities, use_cuda)
        self.record_shapes, self.record_attrs = record_shapes, record_attrs
        self.profile_memory = profile_memory
        self.with_stack, self.with_flops = with_stack, with_flops
        self.step_num = 0
        self._schedule, self._on_trace_ready = schedule, on_trace_ready
        self._by_operator = by_operator
        self._acc_events = acc_events
        self._action = ProfilerAction.NONE
        self._events: list[TraceEvent] = []
        self._memory: list[MemoryUse] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to record."""
        if SINK.record is not None:
            raise RuntimeError("another profile is being made; only one can be made at a time")
        flush_all("sync")
        self._before = SETTINGS.by_operator, SETTINGS.limit
        SETTINGS.by_operator = self._by_operator
        if self.with_stack:
            SETTINGS.limit = 1  # an operator runs while its callers are on the stack
        SINK.record = self._record
        self._begin_step()

    def stop(self) -> None:
        """End the profile and hand it to `on_trace_ready`."""
        flush_all("sync")
        SINK.record = None
        SETTINGS.by_operator, SETTINGS.limit = self._before
        if self._action.is_recording:
            self._trace_ready()
        self._action = ProfilerAction.NONE

    def step(self) -> None:
        """End a step of the schedule and begin the next one."""
        flush_all("sync")
        if self._action is ProfilerAction.RECORD_AND_SAVE:
            self._trace_ready()
        self.step_num += 1
        self._begin_step()

    def _begin_step(self) -> None:
        before = self._action
        self._action = (
            ProfilerAction.RECORD if self._schedule is None else self._schedule(self.step_num)
        )
        starts_cycle = self._action.is_recording and before is not ProfilerAction.RECORD
        if starts_cycle and self._schedule is not None and not self._acc_events:
            self._events, self._memory = [], []

    def _trace_ready(self) -> None:
        if self._on_trace_ready is not None:
            self._on_trace_ready(self)

    def _record(self, event: TraceEvent) -> None:
        if not self._action.is_recording:
            return
        if event.kind is EventKind.OPERATOR:
            device_type = event.operation.device.type
            if ProfilerActivity.CPU not in self.activities and device_type != "cuda":
                return
            if self.with_stack:
                event = dataclasses.replace(event, stack=user_frames())
            if self.profile_memory:
                self._memory.append(MemoryUse(event.end, bytes_in_use(device_type)))
        self._events.append(event)

    def events(self) -> list[TimedEvent]:
        """Return all events, in the order in which they ended."""
        return timed(self._events)

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        *,
        group_by_attributes: bool = False,
    ) -> EventList:
        """Return the averages of all events of a name.

        Args:
            group_by_input_shape: keep events with operands of different shapes apart; needs
                `record_shapes`.
            group_by_stack_n: keep events with different callers apart, that many of the innermost;
                needs `with_stack`.
            group_by_attributes: keep operators apart that were called with something else beside
                their operands; needs `record_attrs`.

        Raises:
            ValueError: shapes, callers or attributes are asked for and were not recorded.

        Example:
            >>> import oneflow as flow
            >>> with flow.profiler.profile(record_attrs=True) as prof:
            ...     y = flow.ones(2, 3).sum(0).sum(0)
            ...     z = flow.ones(2, 3).sum(1)
            >>> rows = prof.key_averages(group_by_attributes=True)
            >>> [(row.count, row.attributes["dims"]) for row in rows if row.key == "sum"]
            [(2, '(0,)'), (1, '(1,)')]
        """
        if group_by_input_shape and not self.record_shapes:
            raise ValueError("`group_by_input_shape` needs a profile made with `record_shapes`")
        if group_by_stack_n and not self.with_stack:
            raise ValueError("`group_by_stack_n` needs a profile made with `with_stack`")
        if group_by_attributes and not self.record_attrs:
            raise ValueError("`group_by_attributes` needs a profile made with `record_attrs`")
        event_averages = averages(
            self._events,
            group_by_input_shape,
            group_by_stack_n,
            self.with_flops,
            group_by_attributes,
        )
        return EventList(event_averages, with_memory=self.profile_memory)

    def peak_memory(self) -> dict[str, int]:
        """Return the most bytes in use after an operator, by device.

        A GPU's are those that XLA accounts for; the CPU's are those of this process, which only
        Linux tells.

        Raises:
            ValueError: they were not recorded.
        """
        if not self.profile_memory:
            raise ValueError("`peak_memory` needs a profile made with `profile_memory`")
        return peak_bytes(self._memory)

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total"
    ) -> None:
        """Write a line for each stack of callers, with the microseconds of its operators.

        It is the format of flame graphs, as `flamegraph.pl` and https://speedscope.app read it:
        callers from the outermost one to the operator, with semicolons between them.

        Args:
            path: the file.
            metric: ``"self_cpu_time_total"`` or ``"cpu_time_total"``.

        Raises:
            ValueError: an unknown metric, or callers were not recorded.
        """
        if not self.with_stack:
            raise ValueError("`export_stacks` needs a profile made with `with_stack`")
        Path(path).write_text(folded_stacks(self.events(), metric), encoding="utf-8")

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events to a JSON file, compressed if its name ends in `.gz`.

        Perfetto (https://ui.perfetto.dev) and Chrome's ``chrome://tracing`` open it.
        """
        entries = [
            trace_entry(event, self.record_shapes, self.with_flops) for event in self.events()
        ]
        text = json.dumps({"traceEvents": [*entries, *memory_entries(self._memory)]})
        if str(path).endswith(".gz"):
            Path(path).write_bytes(gzip.compress(text.encode()))
        else:
            Path(path).write_text(text, encoding="utf-8")


def _raise_unsupported(**reasons: str) -> None:
    """Raise for the first argument that has a reason."""
    for name, reason in reasons.items():
        if reason:
            raise NotImplementedError(f"`{name}` of a profile must be left out: {reason}")


_WITHOUT_EFFECT = {
    "record_bandwidth_for_cuda": "tables show no bandwidths",
    "with_modules": "name a part of `forward` by `record_function`",
    "experimental_config": "it configures PyTorch's library Kineto",
}


def _warn_of_no_effect(**is_given: bool) -> None:
    for name in filter(is_given.__getitem__, is_given):
        reason = _WITHOUT_EFFECT[name]
        warnings.warn(f"`{name}` of a profile has no effect: {reason}", stacklevel=3)


def _select_activities(
    activities: Iterable[ProfilerActivity] | None, use_cuda: bool | None
) -> set[ProfilerActivity]:
    """Return the requested activities that this machine supports."""
    cuda = ProfilerActivity.CUDA
    selected = set(ProfilerActivity if activities is None else activities)
    unknown = [activity for activity in selected if not isinstance(activity, ProfilerActivity)]
    if unknown:
        raise ValueError(f"`activities` are `ProfilerActivity.CPU` and `.CUDA`, got {unknown[0]!r}")
    if use_cuda is not None:
        warnings.warn(
            "`use_cuda` of a profile is deprecated; give `activities`", FutureWarning, stacklevel=3
        )
        selected = selected | {cuda} if use_cuda else selected - {cuda}
    if cuda in selected and not platform_devices("cuda"):
        if activities is not None or use_cuda:
            warnings.warn("a profile of CUDA devices: this machine has none", stacklevel=3)
        selected.remove(cuda)
    if not selected:
        raise ValueError("a profile needs an activity, such as `ProfilerActivity.CPU`")
    return selected
