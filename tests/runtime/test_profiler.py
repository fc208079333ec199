"""Profiles: which events they have, what they add up to, and the files they are written to."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import oneflow as flow
from oneflow.profiler import (
    ProfilerAction,
    ProfilerActivity,
    nvtx_end,
    nvtx_start,
    profile,
    profiler_start,
    profiler_stop,
    range_pop,
    range_push,
    record_function,
    schedule,
    tensorboard_trace_handler,
)
from oneflow.profiler.events import CustomEvent, CustomEventType, Events, KernelEvent, averages
from oneflow.runtime.events import SINK, EventKind, TraceEvent


@pytest.fixture(autouse=True)
def _no_profile_is_left() -> Iterator[None]:
    yield
    assert SINK.record is None


def keys(made: profile) -> list[str]:
    """The names of events, compilations left out."""
    return [
        average.key for average in made.key_averages() if average.kind is not EventKind.COMPILATION
    ]


def event(name: str, start: int, end: int, thread: int = 0) -> TraceEvent:
    """A range at these nanoseconds."""
    return TraceEvent(name, EventKind.RANGE, start, end, thread)


def test_operators_have_names_counts_and_shapes() -> None:
    (flow.ones(7) * 3).sum().item()
    with profile(record_shapes=True) as made:
        kept = [flow.matmul(flow.ones(2, 5), flow.ones(5, 3)).relu() for _ in range(3)]
        kept.append(flow.matmul(flow.ones(4, 5), flow.ones(5, 3)))
    counts = {average.key: average.count for average in made.key_averages()}
    assert counts["matmul"] == 4
    assert counts["relu"] == 3
    assert "mul" not in counts
    apart = [
        average
        for average in made.key_averages(group_by_input_shape=True)
        if average.key == "matmul"
    ]
    assert [(row.count, row.input_shapes) for row in apart] == [
        (3, [[2, 5], [5, 3]]),
        (1, [[4, 5], [5, 3]]),
    ]


def test_operators_are_kept_apart_by_their_attributes() -> None:
    with profile(record_attrs=True) as made:
        kept = [flow.ones(2, 5).softmax(dim) for dim in (0, 1, 1)]
    assert len(kept) == 3
    rows = [row for row in made.key_averages(group_by_attributes=True) if row.key == "softmax"]
    assert [row.count for row in rows] == [1, 2]
    assert rows[0].attributes != rows[1].attributes
    assert "Attributes" in made.key_averages(group_by_attributes=True).table()
    together = [row for row in made.key_averages() if row.key == "softmax"]
    assert [(row.count, row.attributes) for row in together] == [(3, {})]
    with pytest.raises(ValueError, match="record_attrs"):
        profile().key_averages(group_by_attributes=True)


@pytest.mark.usefixtures("no_small_programs")
def test_hot_programs_are_taken_apart_unless_they_are_left_whole() -> None:
    def step(x: flow.Tensor) -> float:
        return (x * 2 + 1).sum().item()

    x = flow.ones(11)
    for _ in range(6):
        step(x)
    with profile() as by_operator:
        step(x)
    with profile(by_operator=False) as whole:
        step(x)
    assert keys(by_operator) == ["mul", "add", "sum"]
    assert keys(whole) == ["program of 3 operators"]


def test_backward_passes_are_profiled() -> None:
    x = flow.ones(3, requires_grad=True)
    with profile() as made:
        (x * x).sum().backward()
        assert x.grad.tolist() == [2, 2, 2]
    assert {"mul", "broadcast_along"} <= set(keys(made))


def test_graphs_are_one_event_per_step() -> None:
    class Double(flow.nn.Graph):
        def build(self, x: flow.Tensor) -> flow.Tensor:
            return x * 2

    graph = Double()
    with profile() as made:
        for _ in range(3):
            graph(flow.ones(3))
    events = {average.key: average for average in made.key_averages()}
    assert events[graph.name].count == 3
    assert events[graph.name].kind is EventKind.GRAPH
    assert events[f"compile {graph.name}"].count == 1


def test_ranges_hold_what_is_recorded_inside() -> None:
    @record_function("square")
    def square(x: flow.Tensor) -> flow.Tensor:
        return x * x

    with profile() as made:
        outside = flow.ones(3) + 1
        with record_function("inside", "x"):
            kept = square(outside)
        range_push("pushed")
        total = kept.sum()
        range_pop()
    assert total.item() == 12
    by_name = {record.name: record.event for record in made.events()}
    inside, multiplied, added = by_name["inside(x)"], by_name["mul"], by_name["add"]
    assert inside.start <= by_name["square"].start <= multiplied.start
    assert multiplied.end <= by_name["square"].end <= inside.end
    assert added.end <= inside.start
    assert by_name["pushed"].start <= by_name["sum"].start <= by_name["pushed"].end
    with pytest.raises(RuntimeError, match="range_push"):
        range_pop()


def test_ranges_between_tensors() -> None:
    with profile() as made:
        x = flow.ones(3) + 1
        begun = nvtx_start(x, mark_prefix="outer")
        product = nvtx_end(nvtx_start(begun, mark_prefix="inner") * 2, mark_prefix="inner")
        with pytest.raises(RuntimeError, match="'outer', got 'inner'"):
            nvtx_end(product, mark_prefix="inner")
        ended = nvtx_end(product, mark_prefix="outer")
    assert begun is x
    assert ended is product
    by_name = {record.name: record.event for record in made.events()}
    outer, inner = by_name["outer"], by_name["inner"]
    assert by_name["add"].end <= outer.start <= inner.start <= by_name["mul"].start
    assert by_name["mul"].end <= inner.end <= outer.end
    with pytest.raises(RuntimeError, match="nvtx_start"):
        nvtx_end(x, mark_prefix="outer")


def test_time_is_counted_once() -> None:
    events = [
        event("inner", 2_000, 5_000),
        event("inner", 6_000, 7_000),
        event("outer", 1_000, 9_000),
        event("outer", 10_000, 12_000),
        event("elsewhere", 0, 20_000, thread=1),
    ]
    found = {average.key: average for average in averages(events, by_shape=False)}
    assert found["inner"].self_cpu_time_total == found["inner"].cpu_time_total == 4
    assert found["inner"].cpu_time == 2
    assert found["outer"].cpu_time_total == 10
    assert found["outer"].self_cpu_time_total == 6
    assert found["elsewhere"].self_cpu_time_total == 20
    total = averages(events, by_shape=False).total_average()
    assert (total.count, total.self_cpu_time_total) == (5, 30)


def test_tables_are_sorted_and_cut_off() -> None:
    events = [event("short", 0, 1_000), event("long", 2_000, 2_000_000)]
    made = averages(events, by_shape=False)
    rows = made.table(sort_by="cpu_time_total").splitlines()
    assert rows[1].split()[0] == "Name"
    assert [row.split()[0] for row in rows[3:5]] == ["long", "short"]
    assert "1.998ms" in rows[3]
    assert "Self CPU time total: 1.999ms" in rows[-1]
    assert "short" not in made.table(sort_by="cpu_time", row_limit=1)
    assert len({len(row) for row in rows[:-1]}) == 1
    with pytest.raises(ValueError, match="sort_by"):
        made.table(sort_by="colour")


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_traces_are_files_of_the_trace_event_format(tmp_path: Path, name: str) -> None:
    with profile(record_shapes=True) as made:
        kept = flow.ones(3) * 2
    assert kept.tolist() == [2, 2, 2]
    path = tmp_path / name
    made.export_chrome_trace(path)
    text = gzip.decompress(path.read_bytes()) if name.endswith("gz") else path.read_bytes()
    entries = [load for load in json.loads(text)["traceEvents"] if load["name"] == "mul"]
    assert len(entries) == 1
    assert entries[0]["ph"] == "X"
    assert entries[0]["dur"] > 0
    assert entries[0]["args"]["Input Dims"][0] == [3]


def test_schedules_say_which_steps_are_recorded(tmp_path: Path) -> None:
    plan = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    names = "NONE NONE WARMUP RECORD RECORD_AND_SAVE"
    expected = [ProfilerAction[word] for word in f"{names} {names[5:]} NONE".split()]
    assert [plan(step) for step in range(10)] == expected
    counts: list[dict[str, int]] = []

    def ready(made: Any) -> None:
        counts.append({average.key: average.count for average in made.key_averages()})
        tensorboard_trace_handler(tmp_path, use_gzip=True)(made)

    with profile(schedule=plan, on_trace_ready=ready) as made:
        for _ in range(10):
            kept = flow.ones(3) + 1
            made.step()
    assert kept.tolist() == [2, 2, 2]
    assert [count["add"] for count in counts] == [2, 2]
    assert len(list(tmp_path.glob("*.pt.trace.json.gz"))) == 2
    with pytest.raises(ValueError, match="active"):
        schedule(wait=0, warmup=0, active=0)


@pytest.mark.parametrize("repeat", [0, 2])
@pytest.mark.parametrize("skip_first_wait", [0, 1])
def test_schedules_are_pytorchs(repeat: int, skip_first_wait: int) -> None:
    numbers = {"wait": 3, "warmup": 1, "active": 2, "skip_first": 2, "repeat": repeat}
    ours = schedule(**numbers, skip_first_wait=skip_first_wait)
    theirs = torch.profiler.schedule(**numbers, skip_first_wait=skip_first_wait)
    assert [ours(n).name for n in range(20)] == [theirs(n).name for n in range(20)]


def test_only_one_profile_is_made_at_a_time() -> None:
    with profile(), pytest.raises(RuntimeError, match="another profile"):
        profile().start()
    with pytest.raises(ValueError, match="record_shapes"):
        profile().key_averages(group_by_input_shape=True)


def test_errors_in_a_profile_are_raised_and_end_it() -> None:
    with pytest.raises(IndexError), profile():
        flow.ones(3)[5]
    assert SINK.record is None


def test_xla_traces_the_process(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no trace"):
        profiler_stop()
    profiler_start(tmp_path)
    with pytest.raises(RuntimeError, match="already"):
        profiler_start(tmp_path)
    flow.linalg.inv(flow.eye(3) * 2).sum().item()
    path = profiler_stop()
    assert json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]


def called(x: flow.Tensor) -> flow.Tensor:
    """A caller with a name."""
    return flow.relu(x)


def test_callers_of_operators_are_kept(tmp_path: Path) -> None:
    x = flow.ones(3, requires_grad=True)
    with profile(with_stack=True) as made:
        called(x).sum().backward()
    stacks = {record.name: record.stack for record in made.events()}
    assert [frame.rpartition(": ")[2] for frame in stacks["relu"][:1]] == ["called"]
    assert stacks["sum"][0].startswith(__file__)
    assert stacks["sum"][0].endswith("test_callers_of_operators_are_kept")
    apart = made.key_averages(group_by_stack_n=1)
    assert {row.stack[0].rpartition(": ")[2] for row in apart if row.key == "relu"} == {"called"}
    assert "called" in apart.table()
    made.export_stacks(tmp_path / "stacks.txt", "cpu_time_total")
    lines = (tmp_path / "stacks.txt").read_text().splitlines()
    assert any(line.rpartition(" ")[0].endswith(": called;relu") for line in lines)
    assert all(int(line.rpartition(" ")[2]) > 0 for line in lines)
    with pytest.raises(ValueError, match="metric"):
        made.export_stacks(tmp_path / "stacks.txt", "count")
    with pytest.raises(ValueError, match="with_stack"):
        profile().export_stacks(tmp_path / "stacks.txt")


def test_operations_are_counted() -> None:
    with profile(with_flops=True) as made:
        kept = flow.ones(4, 5) @ flow.ones(5, 6)
        total = kept.sum()
    assert total.item() == 120
    flops = {average.key: average.flops for average in made.key_averages()}
    assert flops["matmul"] == 2 * 4 * 5 * 6
    assert flops["ones"] == 0
    assert "FLOPs" in made.key_averages().table(sort_by="flops")
    with profile() as made:
        assert (flow.ones(2) + 1).tolist() == [2, 2]
    assert "FLOPs" not in made.key_averages().table()


def test_memory_is_noted_after_every_operator(tmp_path: Path) -> None:
    with profile(profile_memory=True) as made:
        kept = [flow.ones(1 << 20) * 2 for _ in range(4)]
        assert kept[3][0].item() == 2
    rows = {average.key: average for average in made.key_averages()}
    assert rows["mul"].output_bytes == 4 * rows["mul"].count << 20
    assert "Output Bytes" in made.key_averages().table()
    (peak,) = made.peak_memory().values()
    assert peak >= 16 << 20
    made.export_chrome_trace(tmp_path / "trace.json")
    entries = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    counted = [entry["args"] for entry in entries if entry["ph"] == "C"]
    assert max(value for counts in counted for value in counts.values()) == peak
    with pytest.raises(ValueError, match="profile_memory"):
        profile().peak_memory()


@pytest.mark.parametrize(
    "refused",
    [
        {"execution_trace_observer": object()},
        {"custom_trace_id_callback": str},
    ],
)
def test_what_profiles_cannot_do_is_refused(refused: dict[str, Any]) -> None:
    with pytest.raises(NotImplementedError, match=f"`{next(iter(refused))}` of a profile"):
        profile(**refused)


@pytest.mark.parametrize(
    "idle",
    [
        {"with_modules": True},
        {"experimental_config": object()},
        {"record_bandwidth_for_cuda": True},
    ],
)
def test_what_has_no_effect_is_said(idle: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match=f"`{next(iter(idle))}` of a profile has no effect"):
        made = profile(**idle)
    with made:
        flow.ones(3).numpy()
    assert [average.key for average in made.key_averages()] == ["ones"]


CPU, CUDA = ProfilerActivity.CPU, ProfilerActivity.CUDA


def test_activities_are_those_of_the_machine() -> None:
    assert profile().activities == ({CPU, CUDA} if flow.cuda.is_available() else {CPU})
    assert profile(activities=[CPU]).activities == {CPU}
    with pytest.warns(FutureWarning, match="give `activities`"):
        assert profile(use_cuda=False).activities == {CPU}
    wrong: Any
    for wrong in ([], ["cpu"]):
        with pytest.raises(ValueError, match=r"ProfilerActivity\.CPU"):
            profile(activities=wrong)


@pytest.mark.skipif(flow.cuda.is_available(), reason="there is a CUDA device")
def test_a_profile_of_cuda_devices_needs_one() -> None:
    with pytest.warns(UserWarning, match="this machine has none"):
        assert profile(activities=[CPU, CUDA]).activities == {CPU}
    with (
        pytest.warns(UserWarning, match="this machine has none"),
        pytest.raises(ValueError, match="needs an activity"),
    ):
        profile(activities=[CUDA])


def test_operators_are_recorded_where_the_activities_are() -> None:
    with profile() as made:
        kept = flow.ones(3) * 2
        assert kept[0].item() == 2
        made.activities = {CUDA}
        kept = flow.zeros(3)
        assert kept[0].item() == 0
    names = {event.name for event in made.events()}
    assert {"ones", "mul"} <= names
    assert ("zeros" in names) == flow.ones(1).is_cuda


def test_traces_fit_perfettos_json_format(tmp_path: Path) -> None:
    """Keys and phases are those of the trace event format, and events of a thread nest."""
    with profile(record_shapes=True, profile_memory=True, with_flops=True, with_stack=True) as made:
        with record_function("outside"), record_function("inside"):
            kept = called(flow.ones(3)).sum()
        assert kept.item() == 3
    made.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert list(trace) == ["traceEvents"]
    spans: dict[int, list[tuple[float, float]]] = {}
    for entry in trace["traceEvents"]:
        assert isinstance(entry["name"], str)
        assert isinstance(entry["pid"], int)
        assert entry["ts"] > 0
        assert entry["ph"] in ("X", "C")
        if entry["ph"] == "C":
            assert all(isinstance(value, int) for value in entry["args"].values())
        else:
            assert isinstance(entry["cat"], str)
            spans.setdefault(entry["tid"], []).append((entry["ts"], entry["ts"] + entry["dur"]))
    assert any(len(span) >= 4 for span in spans.values())
    for intervals in spans.values():
        ends: list[float] = []
        for start, end in sorted(intervals, key=lambda span: (span[0], -span[1])):
            while ends and ends[-1] <= start:
                ends.pop()
            assert not ends or end <= ends[-1]
            ends.append(end)


def test_averages_of_operators_and_of_ranges_are_classes_of_their_own() -> None:
    with profile(record_shapes=True) as made, record_function("both"):
        flow.ones(2, 3).relu().numpy()
    rows = made.key_averages(group_by_input_shape=True)
    assert {row.name for row in rows if isinstance(row, KernelEvent)} == {"ones", "relu"}
    ranges = [row for row in rows if isinstance(row, CustomEvent) and row.kind is EventKind.RANGE]
    assert [(row.name, row.custom_event_type) for row in ranges] == [
        ("both", CustomEventType.Default)
    ]
    (relu,) = (row for row in rows if row.name == "relu")
    assert (relu.count, relu.input_shapes) == (1, [[2, 3]])
    assert relu.cpu_time == relu.cpu_time_total > 0


def test_events_are_read_and_added_up() -> None:
    load = {"type": 0, "name": "load", "time": 3.0, "custom_type": 1}
    conv = {"type": 1, "name": "conv", "time": 5.0, "memory_size": 64, "description": {"a": "b"}}
    events = Events(json.dumps([load, conv, {**load, "time": 4.0}]))
    assert events[0] == CustomEvent("load", 3.0, CustomEventType.CudaKernel)
    assert events[1] == KernelEvent("conv", 5.0, 64, {"a": "b"})
    assert events[1].description == {"a": "b"}
    averages = events.key_averages()
    assert [(row.name, row.count, row.cpu_time, row.cpu_time_total) for row in averages] == [
        ("load", 2, 3.5, 7.0),
        ("conv", 1, 5.0, 5.0),
    ]
    assert [row.count for row in events] == [1, 1, 1]
    with pytest.raises(ValueError, match=r"`load` .* and `conv`"):
        events[0].update(events[1])
    assert Events() == []
