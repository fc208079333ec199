"""`torch.utils.benchmark`: statements are timed with their results, and texts are PyTorch's."""

from __future__ import annotations

import pytest
import torch.utils.benchmark as torch_benchmark

import oneflow as flow
from tests.in_place import in_place_of

OURS = in_place_of("torch.utils.benchmark")
SPECS = {
    "plain": {"stmt": "x + 1", "setup": "pass"},
    "set up": {"stmt": "x + 1", "setup": "x = 1"},
    "lines": {"stmt": "y = x\ny + 1", "setup": "x = 1\nx += 1", "sub_label": "two"},
    "names": {
        "stmt": "f(x)",
        "setup": "pass",
        "label": "sum",
        "sub_label": "3 x 4",
        "description": "sparse",
        "num_threads": 2,
    },
}
TIMES = {
    "one": (1000, [2.29e-5]),
    "three": (10, [0.0101, 0.0102, 0.0103]),
    "fluctuating": (1, [1.0, 1.1, 1.2, 1.3, 1.0]),
    "wild": (100, [1.0, 3.0, 2.0, 9.0, 4.0, 1.5]),
    "steady": (1, [5e-4] * 9 + [5.01e-4]),
}


def without_address(text):
    return text.partition("\n")[2]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("times", TIMES)
def test_measurements(spec, times):
    def describe(library):
        measurement = library.Measurement(*TIMES[times], library.TaskSpec(**SPECS[spec]))
        numbers = (measurement.median, measurement.mean, measurement.iqr)
        return (
            without_address(repr(measurement)),
            pytest.approx(numbers, rel=1e-6, abs=1e-15),
            (measurement.has_warnings, measurement.title, measurement.as_row_name),
            (measurement.significant_figures, measurement.num_threads, measurement.label),
        )

    theirs, ours = describe(torch_benchmark), describe(OURS)
    assert (ours[0], *ours[2:]) == (theirs[0], *theirs[2:])
    assert ours[1].expected == theirs[1]


@pytest.mark.parametrize("seconds", [3e-9, 9.9e-7, 1e-6, 0.2e-3, 0.5, 1.0, 20.0, 5000.0])
def test_units(seconds):
    assert OURS.select_unit(seconds) == torch_benchmark.select_unit(seconds)


def test_merged_measurements():
    def merge(library):
        first, second = (library.TaskSpec(**SPECS[name]) for name in ("plain", "names"))
        parts = [(10, [1.0, 2.0], first), (1, [3.0], second), (2, [4.0], first)]
        return [
            m.times for m in library.Measurement.merge([library.Measurement(*p) for p in parts])
        ]

    assert merge(OURS) == merge(torch_benchmark)


def test_statements_are_run_with_their_names():
    calls = []
    timer = OURS.Timer("f(x)", setup="x = 3", globals={"f": calls.append})
    measurement = timer.timeit(200)
    assert measurement.number_per_run == 200
    assert calls == [3] * 202
    blocks = []
    measurement = OURS.Timer("pass").blocked_autorange(
        lambda number, seconds: blocks.append((number, seconds)), min_run_time=0.01
    )
    assert measurement.raw_times == [seconds for _, seconds in blocks]
    assert {number for number, _ in blocks} == {measurement.number_per_run}
    assert sum(measurement.raw_times) >= 0.01
    assert OURS.Timer("torch.ones(2)").timeit(1).median > 0


def test_adaptive_blocks_end():
    ticks = iter(range(10**9))
    # Each reading of this clock is a second later.
    timer = OURS.Timer("pass", timer=lambda: float(next(ticks)))
    assert timer.adaptive_autorange(max_run_time=5.0).raw_times == [1.0] * 4


def test_the_time_is_that_of_results():
    x = flow.ones(400, 400)
    flow.eager.synchronize()
    y = x @ x
    OURS.timer()
    assert y.numpy()[0, 0] == 400
    with pytest.raises(NotImplementedError, match="language"):
        OURS.Timer("1;", language="c++")


def measurements(library):
    """Times of two labels, in several environments, and with threads, columns and gaps."""
    rows = [
        ("sums", "small", "x + y", None, 1, [1e-4, 2e-4, 3e-4]),
        ("sums", "large", "x + y", None, 1, [0.9, 1.0, 1.1, 1.2, 0.8]),
        ("sums", "small", "x - y", "other", 4, [2.5e-4] * 5),
        ("sums", "small", "x + y", None, 1, [4e-4]),
        ("products", "one", "x * y", "a", 1, [1.2345e-3, 1.2346e-3]),
        ("products", "one", "x * y", "bb", 1, [8e-3, 1e-3, 4e-3, 9e-3]),
        ("products", "two", "x @ y", "bb", 2, [1.24e-3, 1.25e-3]),
    ]
    for label, description, stmt, note, threads, times in rows:
        env = note if label == "products" else None
        spec = library.TaskSpec(
            stmt,
            "",
            label=label,
            sub_label=None if env else note,
            description=description,
            env=env,
            num_threads=threads,
        )
        yield library.Measurement(2, times, spec)


@pytest.mark.parametrize(
    "setting",
    [
        lambda table: None,
        lambda table: table.trim_significant_figures(),
        lambda table: table.highlight_warnings(),
        lambda table: table.colorize(),
        lambda table: table.colorize(rowwise=True),
    ],
)
def test_tables_are_pytorchs(setting):
    texts = []
    for library in (in_place_of("torch.utils.benchmark"), torch_benchmark):
        table = library.Compare(list(measurements(library))[:4])
        table.extend_results(list(measurements(library))[4:])
        setting(table)
        texts.append(str(table))
        with pytest.raises(ValueError, match="Measurement"):
            table.extend_results([1.0])
    assert texts[0] == texts[1]


def test_numbers_are_shortened():
    mine, its = in_place_of("torch.utils.benchmark"), torch_benchmark
    for number, count in ((3.14159, 2), (0.00123456, 4), (98765.0, 1)):
        assert mine.trim_sigfig(number, count) == pytest.approx(its.trim_sigfig(number, count))
    assert mine.ordered_unique([2, 1, 2]) == its.ordered_unique([2, 1, 2])
    assert mine.unit_to_english("us") == its.unit_to_english("us")
