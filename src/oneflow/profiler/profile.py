"""`profile`: recording what runs."""

from __future__ import annotations

import enum
import gzip
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

from oneflow.profiler.averages import EventList, TimedEvent, averages, timed
from oneflow.profiler.schedule import ProfilerAction
from oneflow.runtime.eager import flush_all
from oneflow.runtime.eager_settings import SETTINGS
from oneflow.runtime.events import SINK, TraceEvent


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
    whole. Steps of an `nn.Graph` are always whole. What nobody asks for the result of does not run.

    Args:
        activities: accepted; devices are waited for, so that times hold for all of them.
        schedule: from the number of a step to what is done in it, see
            `oneflow.profiler.schedule`; `step` ends a step. By default all is recorded.
        on_trace_ready: called with this profile at the end, or after every cycle of the schedule.
        record_shapes: keep the shapes of operands.
        record_bandwidth_for_cuda: accepted; tables show no bandwidths.
        by_operator: whether to run hot programs operator by operator.
        profile_memory, with_stack, with_flops, with_modules: accepted as in PyTorch; profiles have
            times and shapes.
        experimental_config, acc_events, execution_trace_observer, use_cuda: accepted as well.
        custom_trace_id_callback: accepted as well.

    Raises:
        RuntimeError: another profile is being made.

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
        self.activities = set(ProfilerActivity if activities is None else activities)
        self.record_shapes = record_shapes
        self.step_num = 0
        self._schedule, self._on_trace_ready = schedule, on_trace_ready
        self._by_operator = by_operator
        self._action = ProfilerAction.NONE
        self._events: list[TraceEvent] = []

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
        self._before = SETTINGS.by_operator
        SETTINGS.by_operator = self._by_operator
        SINK.record = self._record
        self._begin_step()

    def stop(self) -> None:
        """End the profile and hand it to `on_trace_ready`."""
        flush_all("sync")
        SINK.record = None
        SETTINGS.by_operator = self._before
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
        if starts_cycle and self._schedule is not None:
            self._events = []

    def _trace_ready(self) -> None:
        if self._on_trace_ready is not None:
            self._on_trace_ready(self)

    def _record(self, event: TraceEvent) -> None:
        if self._action.is_recording:
            self._events.append(event)

    def events(self) -> list[TimedEvent]:
        """Return all events, in the order in which they ended."""
        return timed(self._events)

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """Return the averages of all events of a name.

        Args:
            group_by_input_shape: keep events with operands of different shapes apart; needs
                `record_shapes`.

        Raises:
            ValueError: shapes are asked for and were not recorded.
        """
        if group_by_input_shape and not self.record_shapes:
            raise ValueError("`group_by_input_shape` needs a profile made with `record_shapes`")
        return averages(self._events, group_by_input_shape)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events to a JSON file, compressed if its name ends in `.gz`.

        Perfetto (https://ui.perfetto.dev) and Chrome's ``chrome://tracing`` open it.
        """
        text = json.dumps({"traceEvents": list(map(self._trace_entry, self._events))})
        if str(path).endswith(".gz"):
            Path(path).write_bytes(gzip.compress(text.encode()))
        else:
            Path(path).write_text(text, encoding="utf-8")

    def _trace_entry(self, event: TraceEvent) -> dict[str, Any]:
        """One complete event of the trace event format, with times in microseconds."""
        details: dict[str, Any] = {}
        if self.record_shapes:
            details = {"Input Dims": event.shapes, "Input type": event.dtypes}
        return {
            "name": event.name,
            "cat": event.kind.value,
            "ph": "X",
            "ts": event.start / 1e3,
            "dur": (event.end - event.start) / 1e3,
            "pid": os.getpid(),
            "tid": event.thread,
            "args": details,
        }
