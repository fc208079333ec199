"""Profiling: the time of operators, programs and ranges, as a table and as a trace."""

from oneflow.profiler.averages import EventAverages as EventAverages, EventList as EventList
from oneflow.profiler.profile import (
    ProfilerActivity as ProfilerActivity,
    kineto_available as kineto_available,
    profile as profile,
)
from oneflow.profiler.ranges import (
    nvtx_end as nvtx_end,
    nvtx_start as nvtx_start,
    range_pop as range_pop,
    range_push as range_push,
    record_function as record_function,
)
from oneflow.profiler.schedule import (
    ProfilerAction as ProfilerAction,
    schedule as schedule,
    tensorboard_trace_handler as tensorboard_trace_handler,
)
from oneflow.profiler.xla_trace import (
    profiler_start as profiler_start,
    profiler_stop as profiler_stop,
)

__all__ = [
    "EventAverages",
    "EventList",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "nvtx_end",
    "nvtx_start",
    "profile",
    "profiler_start",
    "profiler_stop",
    "range_pop",
    "range_push",
    "record_function",
    "schedule",
    "tensorboard_trace_handler",
]
