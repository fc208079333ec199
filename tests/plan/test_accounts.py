"""The planner's cost model says what XLA says of the same programs.

The collectives are the same to the byte; the peak of memory is within a quarter of XLA's, and
the operations within a twentieth.
"""

from collections import defaultdict

import numpy as np
import pytest

import oneflow as flow
from examples import plans
from oneflow.plan import plan_graph, planning

SIZES = {
    "mlp": {"batch": 64, "width": 256},
    "gpt": {"batch": 8, "context": 32, "layers": 2, "heads": 8, "width": 128, "vocabulary": 256},
    "wide_deep": {"batch": 512, "rows": 200},
}
WAYS = [("data", 0), ("tensor", 0), ("2d", 0), ("data", 1), ("data", 2), ("data", 3)]
CASES = [("mlp", 4, *way) for way in WAYS] + [("wide_deep", 4, *way) for way in WAYS]
# Large programs, which take XLA long.
CASES += [("gpt", 4, *way) for way in WAYS if way[1] in (0, 3)]
CASES += [("mlp", 2, "tensor", 0), ("wide_deep", 2, "data", 2)]
CASES += [("mlp", 8, "2d", 0), ("wide_deep", 8, "data", 3)]


def grid(count, strategy, type="cpu"):
    return flow.placement(type, range(count), (2, count // 2) if strategy == "2d" else None)


def plan_of(model, count, strategy, zero, **options):
    with planning():
        graph, inputs = getattr(plans, model)(
            grid(count, strategy), strategy=strategy, zero=zero, **SIZES[model]
        )
        return plan_graph(graph, *inputs, **options)


def bytes_of(collectives):
    """Bytes of operands, and sent, by kind and size of the group."""
    totals = defaultdict(lambda: np.zeros(2))
    for entry in collectives:
        totals[entry.kind, entry.group] += entry.operand_bytes, entry.sent
    return totals


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("model", "count", "strategy", "zero"), CASES)
def test_the_model_agrees_with_xla(model, count, strategy, zero):
    contents = plan_of(model, count, strategy, zero).contents
    mine, theirs = contents.model, contents.xla
    counted, compiled = bytes_of(mine.collectives), bytes_of(theirs.collectives)
    for key in counted.keys() | compiled.keys():
        # Devices also tell each other whether a run-time check has failed: some bytes.
        assert counted[key] == pytest.approx(compiled[key], abs=16)
    assert mine.sent > 0
    assert mine.flops == pytest.approx(theirs.flops, rel=0.05)
    assert mine.memory.arguments == pytest.approx(theirs.memory.arguments, rel=0.001)
    assert mine.memory.peak == pytest.approx(theirs.memory.peak, rel=0.25)
