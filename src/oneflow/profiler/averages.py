"""Events of a profile, averages of those of a name, and tables of these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from oneflow.primitives.cost.operation_cost import unsharded_flops
from oneflow.runtime.events import EventKind, TraceEvent

_NS_PER_US = 1_000  # nanoseconds


@dataclass(frozen=True)
class TimedEvent:
    """An event with the time that none of the events inside it has.

    Attributes:
        event: the event.
        self_time_ns: that time.
    """

    event: TraceEvent
    self_time_ns: int

    @property
    def name(self) -> str:
        """The event's name."""
        return self.event.name

    @property
    def cpu_time_total(self) -> float:
        """Microseconds from begin to end."""
        return (self.event.end - self.event.start) / _NS_PER_US

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds without nested events."""
        return self.self_time_ns / _NS_PER_US

    @property
    def flops(self) -> int:
        """The multiplications, additions and the like of an operator, by the cost model."""
        return unsharded_flops(self.event.operation) if self.event.operation is not None else 0

    @property
    def stack(self) -> list[str]:
        """Callers outside `oneflow`, the innermost first; empty without `with_stack`."""
        return list(self.event.stack)

    @property
    def input_shapes(self) -> list[list[int]]:
        """The shapes of an operator's operands."""
        return [list(shape) for shape in self.event.shapes]

    @property
    def attributes(self) -> dict[str, str]:
        """The arguments of an operator beside its operands, as text."""
        operation = self.event.operation
        return {} if operation is None else {k: str(v) for k, v in operation.attributes.items()}


@dataclass
class EventAverages:
    """All events of one name, grouped by shapes if requested.

    Attributes:
        key: the name.
        kind: what ran.
        input_shapes: the shapes of the operands, if events of different shapes are kept apart.
        count: number of events.
        cpu_time_total: microseconds of all together.
        self_cpu_time_total: microseconds without those of the events inside them.
        output_bytes: bytes of all results.
        flops: multiplications, additions and the like, if these were asked for.
        stack: callers outside `oneflow`, if events of different ones are kept apart.
        attributes: what the operators were called with beside their operands, as text, if events
            of different ones are kept apart.

    Example:
        >>> import oneflow as flow
        >>> with flow.profiler.profile() as prof:
        ...     y = flow.ones(3).relu()
        >>> [(average.key, average.count) for average in prof.key_averages()]
        [('ones', 1), ('relu', 1)]
    """

    key: str
    kind: EventKind
    input_shapes: list[list[int]]
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    output_bytes: int = 0
    flops: int = 0
    stack: list[str] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name, as upstream's events have it."""
        return self.key

    @property
    def cpu_time(self) -> float:
        """Microseconds of one event, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def update(self, other: EventAverages) -> None:
        """Count the events of other averages as well, of the same name.

        Raises:
            ValueError: of another name or kind.
        """
        if (self.key, self.kind) != (other.key, other.kind):
            raise ValueError(
                f"events of `{self.key}` ({self.kind.value}) and `{other.key}` "
                f"({other.kind.value}) have no common average"
            )
        self.count_also(other)

    def count_also(self, other: EventAverages) -> None:
        """Count the events of other averages as well, whatever their name."""
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.output_bytes += other.output_bytes
        self.flops += other.flops

    def add(self, timed: TimedEvent, with_flops: bool) -> None:
        """Count one more event."""
        self.count += 1
        self.cpu_time_total += timed.cpu_time_total
        self.self_cpu_time_total += timed.self_cpu_time_total
        self.output_bytes += timed.event.output_bytes
        self.flops += timed.flops if with_flops else 0


_SORT_KEYS = (
    "cpu_time_total",
    "self_cpu_time_total",
    "cpu_time",
    "count",
    "output_bytes",
    "flops",
)


class EventList(list[EventAverages]):
    """Averages, in the order in which their first events ended.

    Args:
        averages: these.
        with_memory: whether tables show the bytes of results.

    Example:
        >>> import oneflow as flow
        >>> with flow.profiler.profile() as prof:
        ...     y = flow.ones(3).relu()
        >>> prof.key_averages().total_average().count
        2
    """

    def __init__(
        self, averages: Iterable[EventAverages] = (), *, with_memory: bool = False
    ) -> None:
        super().__init__(averages)
        self.with_memory = with_memory

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each counted once."""
        return sum(average.self_cpu_time_total for average in self)

    def total_average(self) -> EventAverages:
        """Return one entry for all."""
        total = EventAverages("Total", EventKind.RANGE, [])
        for average in self:
            total.count_also(average)
        return total

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_name_column_width: int = 55
    ) -> str:
        """Return a table as text.

        Args:
            sort_by: a column, the largest first: ``"cpu_time_total"``, ``"self_cpu_time_total"``,
                ``"cpu_time"``, ``"count"``, ``"output_bytes"`` or ``"flops"``.
            row_limit: number of rows, -1 for all.
            max_name_column_width: longer names are cut off.

        Raises:
            ValueError: an unknown column.
        """
        rows: Sequence[EventAverages] = self
        if sort_by is not None:
            if sort_by not in _SORT_KEYS:
                raise ValueError(f"`sort_by` must be one of {_SORT_KEYS}, got {sort_by!r}")
            rows = sorted(self, key=lambda row: getattr(row, sort_by), reverse=True)
        rows = rows if row_limit < 0 else rows[:row_limit]
        optional = {
            "Output Bytes": [str(row.output_bytes) for row in rows] if self.with_memory else [],
            "FLOPs": [str(row.flops) for row in rows] if any(row.flops for row in rows) else [],
            "Input Shapes": [str(row.input_shapes or "") for row in rows],
            "Attributes": [_attributes_text(row.attributes) for row in rows],
            "Source Location": [row.stack[0] if row.stack else "" for row in rows],
        }
        columns = {title: column for title, column in optional.items() if any(column)}
        head = ["Name", "Self CPU %", "Self CPU", "CPU total", "CPU time avg", "# of Calls"]
        cells = [[*head, *columns]]
        total = self.self_cpu_time_total or 1.0
        for number, row in enumerate(rows):
            share = f"{100 * row.self_cpu_time_total / total:.2f}%"
            times = row.self_cpu_time_total, row.cpu_time_total, row.cpu_time
            name = row.key[:max_name_column_width]
            plain = [name, share, *map(_time_text, times), str(row.count)]
            cells.append([*plain, *[column[number] for column in columns.values()]])
        return f"{_aligned(cells)}\nSelf CPU time total: {_time_text(self.self_cpu_time_total)}\n"


def _attributes_text(attributes: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in attributes.items())


def _time_text(time_us: float) -> str:
    """A time in a unit that fits."""
    for limit, unit in ((1e3, "us"), (1e6, "ms")):
        if time_us < limit:
            return f"{time_us / limit * 1e3:.3f}{unit}"
    return f"{time_us / 1e6:.3f}s"


def _aligned(cells: list[list[str]]) -> str:
    """Rows of cells as text, the first column to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    line = "  ".join("-" * width for width in widths)
    rows = [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
    return "\n".join([line, rows[0], line, *rows[1:], line])


def timed(events: Iterable[TraceEvent]) -> list[TimedEvent]:
    """Return events with the self time of each: without the time of nested events."""
    inside: dict[int, int] = defaultdict(int)
    open_events: dict[int, list[tuple[int, TraceEvent]]] = defaultdict(list)
    ordered = sorted(enumerate(events), key=lambda pair: (pair[1].start, -pair[1].end))
    for number, event in ordered:
        stack = open_events[event.thread]
        while stack and stack[-1][1].end <= event.start:
            stack.pop()
        if stack:
            inside[stack[-1][0]] += event.end - event.start
        stack.append((number, event))
    by_number = sorted(ordered, key=lambda pair: pair[0])
    return [TimedEvent(event, event.end - event.start - inside[n]) for n, event in by_number]
