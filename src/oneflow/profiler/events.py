"""Averages of operators and of other events as classes of their own, as upstream's programs ask.

``isinstance(event, KernelEvent)`` tells operators apart from ranges, programs and graphs.
"""

from __future__ import annotations

import copy
import enum
import json
from collections.abc import Iterable, Mapping
from typing import Any, Self

from oneflow.profiler.averages import EventAverages, EventList, timed
from oneflow.runtime.events import EventKind, TraceEvent


class CustomEventType(enum.Enum):
    """The origin of a `CustomEvent`: the program itself, or the runtime of a CUDA device.

    Example:
        >>> from oneflow.profiler.events import CustomEventType
        >>> CustomEventType(0)
        <CustomEventType.Default: 0>
    """

    Default = 0
    CudaKernel = 1
    CudaRuntime = 2


class CustomEvent(EventAverages):
    """Averages of what is no operator: a range (`record_function`), a program, a graph.

    Args:
        name: its name.
        time_total: microseconds of all events together.
        custom_event_type: where they come from.
        kind: what ran.
        count: number of events.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.profiler.events import CustomEvent
        >>> with flow.profiler.profile() as prof:
        ...     with flow.profiler.record_function("both"):
        ...         y = flow.ones(3).relu()
        >>> [event.name for event in prof.key_averages() if isinstance(event, CustomEvent)]
        ['both']
    """

    def __init__(
        self,
        name: str,
        time_total: float,
        custom_event_type: CustomEventType = CustomEventType.Default,
        *,
        kind: EventKind = EventKind.RANGE,
        count: int = 1,
    ) -> None:
        super().__init__(name, kind, [], count, time_total, time_total)
        self.custom_event_type = custom_event_type

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Self:
        """The event of a record with ``name``, ``time`` and ``custom_type``."""
        return cls(d["name"], d["time"], CustomEventType(d.get("custom_type", 0)))


class KernelEvent(EventAverages):
    """Averages of an operator.

    Args:
        name: its name.
        time_total: microseconds of all events together.
        memory_size: the bytes of its results.
        description: further texts about it; only kept.
        count: number of events.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.profiler.events import KernelEvent
        >>> with flow.profiler.profile() as prof:
        ...     with flow.profiler.record_function("both"):
        ...         y = flow.ones(3).relu()
        >>> [event.name for event in prof.key_averages() if isinstance(event, KernelEvent)]
        ['ones', 'relu']
    """

    def __init__(
        self,
        name: str,
        time_total: float,
        memory_size: int = 0,
        description: Any = None,
        *,
        count: int = 1,
    ) -> None:
        super().__init__(name, EventKind.OPERATOR, [], count, time_total, time_total, memory_size)
        self.description = {} if description is None else description

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Self:
        """The event of a record with ``name``, ``time``, ``memory_size`` and ``description``."""
        return cls(d["name"], d["time"], d.get("memory_size", 0), d.get("description"))


class Events(EventList):
    """Averages read from a text in JSON, as upstream's profiler writes it.

    Args:
        events: a list of records, each with ``type`` 0 for a `CustomEvent` and 1 for a
            `KernelEvent`; left out, there are none.

    Example:
        >>> from oneflow.profiler.events import Events
        >>> text = '{"type": 0, "name": "load", "time": 3.0, "custom_type": 0}'
        >>> (load,) = Events(f"[{text}, {text}]").key_averages()
        >>> load.name, load.count, load.cpu_time
        ('load', 2, 3.0)
    """

    def __init__(self, events: str = "") -> None:
        super().__init__()
        classes = CustomEvent, KernelEvent
        for record in json.loads(events or "[]"):
            self.append(classes[record["type"]].from_dict(record))

    def key_averages(self) -> Events:
        """Return the averages of all events of a name and kind."""
        groups: dict[tuple[str, EventKind], EventAverages] = {}
        for event in self:
            key = event.key, event.kind
            if key in groups:
                groups[key].update(event)
            else:
                groups[key] = copy.deepcopy(event)
        averages = Events()
        averages.extend(groups.values())
        return averages


def averages(
    events: Iterable[TraceEvent],
    by_shape: bool,
    frames: int = 0,
    with_flops: bool = False,
    by_attributes: bool = False,
) -> EventList:
    """Return the averages of events of the same name.

    Args:
        events: the events.
        by_shape: keep operands of different shapes apart.
        frames: keep events with different callers apart, that many of the innermost.
        with_flops: count multiplications, additions and the like.
        by_attributes: keep operators with different attributes apart.
    """
    groups: dict[tuple, EventAverages] = {}
    for event in timed(events):
        shapes = event.input_shapes if by_shape else []
        stack = event.stack[:frames]
        attributes = event.attributes if by_attributes else {}
        kind = event.event.kind
        key = event.name, kind, str(shapes), str(attributes), *stack
        if key not in groups:
            group = (
                KernelEvent(event.name, 0.0, count=0)
                if kind is EventKind.OPERATOR
                else CustomEvent(event.name, 0.0, kind=kind, count=0)
            )
            group.input_shapes, group.stack, group.attributes = shapes, stack, attributes
            groups[key] = group
        groups[key].add(event, with_flops)
    return EventList(groups.values())
