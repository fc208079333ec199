"""The table of the calls that take longer than PyTorch's."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.slow_spots.calls import Call, TensorArgument
from tools.torch_tests.results import FAILED, PASSED, Results

#: The quotient of times above which a call is listed.
_LIMIT = 1.5
# Milliseconds that a slow call loses at least: less cannot be told from noise.
_MIN_LOSS = 0.1


class Row(NamedTuple):
    """A measured call.

    Attributes:
        lost: the milliseconds that it takes longer.
        ratio: its time as a multiple of PyTorch's.
        text: the call and its times, for readers.
        function: the name of the function.
    """

    lost: float
    ratio: float
    text: str
    function: str


def _show(value: object) -> str:
    if isinstance(value, TensorArgument):
        return f"{'x'.join(map(str, value.shape))}{'*' if value.requires_grad else ''}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_show, value))})"
    return str(value)


def _rows(results: Results) -> Iterator[Row]:
    for name, result in results.by_test.items():
        if result.outcome != PASSED:
            continue
        dtype, _, text = name.partition(" ")
        call = Call.of_text(text)
        arguments = [_show(argument) for argument in call.args]
        arguments += [f"{key}={_show(value)}" for key, value in call.kwargs.items()]
        for what, (ours, theirs) in json.loads(result.message).items():
            numbers = f"{ours:.2f} | {theirs:.2f} | {ours / theirs:.1f}"
            shown = f"`{call.function}({', '.join(arguments)})` | {dtype} | {what} | {numbers}"
            yield Row(ours - theirs, ours / theirs, shown, call.function)


def table_of(file: Path) -> str:
    """The slow calls, those first that lose most time, and what could not be measured."""
    results = Results(file)
    rows = sorted(_rows(results), reverse=True)
    slow = [row for row in rows if row.ratio > _LIMIT and row.lost > _MIN_LOSS]
    mean = math.exp(sum(math.log(row.ratio) for row in rows) / max(len(rows), 1))
    failures = {
        name: result for name, result in results.by_test.items() if result.outcome == FAILED
    }
    lines = [
        f"{len(rows)} times of {len(results.by_test)} calls, {len(slow)} slow ones; "
        f"the geometric mean of all quotients is {mean:.2f}.",
        "",
        "Gradients are those of the tensors with a star.",
        "",
        "| call | type | what | ms | PyTorch's | quotient |",
        "| --- | --- | --- | ---: | ---: | ---: |",
        *(f"| {row.text} |" for row in slow),
    ]
    lines += ["", f"Not measured: {len(failures)}", ""] if failures else []
    lines += [f"- `{name[:150]}`: {failure.message[:150]}" for name, failure in failures.items()]
    return "\n".join(lines) + "\n"
