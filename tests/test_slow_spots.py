"""Calls of models are kept as text, made again, and listed where they take long."""

from __future__ import annotations

import json
import time
from pathlib import Path

import torch
from tools.slow_spots.calls import Call, TensorArgument
from tools.slow_spots.measure import measure
from tools.slow_spots.recorder import Recorder
from tools.slow_spots.table import table_of
from tools.torch_tests.results import FAILED, PASSED, Result, Results

CALL = Call(
    "torch.cat",
    (
        [TensorArgument((2, 3), "float32", True), TensorArgument((2, 3), "float32", False)],
        (1, 2.5, None, True, slice(0, None, 2), ...),
    ),
    {"dim": 1, "mode": "mean"},
)


def test_a_call_is_made_again_from_its_text():
    assert Call.of_text(CALL.to_text()) == CALL
    assert [tensor.shape for tensor in CALL.tensors()] == [(2, 3), (2, 3)]
    doubled = CALL.replace(lambda tensor: tensor._replace(dtype="float64"))
    assert {tensor.dtype for tensor in doubled.tensors()} == {"float64"}


def test_the_table_lists_what_takes_long(tmp_path: Path):
    results = Results(tmp_path / "times.jsonl")
    times = {"quick": [1.0, 1.0], "slow": [9.0, 2.0], "slower": [4.0, 1.0], "short": [0.09, 0.02]}
    for name, seconds in times.items():
        text = Call(f"torch.{name}", CALL.args, {}).to_text()
        results.add(Result(f"float32 {text}", PASSED, json.dumps({"forward": seconds})))
    results.add(Result(f"float32 {CALL.to_text()}", FAILED, "TypeError: no"))
    lines = [line for line in table_of(results.file).splitlines() if line.startswith(("| `", "- "))]
    assert [line.split("(")[0] for line in lines[:2]] == ["| `torch.slow", "| `torch.slower"]
    assert lines[0].endswith("| float32 | forward | 9.00 | 2.00 | 4.5 |")
    assert "2x3*" in lines[0]
    assert len(lines) == 3
    assert "TypeError: no" in lines[2]


def test_calls_that_compute_are_recorded_and_timed():
    x = torch.ones(3, 4, device="meta", requires_grad=True)
    with Recorder() as recorder:
        torch.nn.functional.relu((x * 2).view(4, 3), inplace=True)
        (x * 2).add_(1).size()
    calls = [Call.of_text(text) for text in sorted(recorder.counts)]
    assert [made_call.function for made_call in calls] == [
        "torch.Tensor.add",
        "torch.Tensor.mul",
        "torch.nn.functional.relu",
    ]
    assert calls[2] == Call(calls[2].function, (TensorArgument((4, 3), "float32", True), False), {})
    result = measure("relu", calls[2], time.process_time)
    assert result.outcome == PASSED, result.message
    assert json.loads(result.message).keys() == {"forward", "both"}
