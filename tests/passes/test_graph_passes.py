"""Passes of graphs: longer programs, their order, and the inputs that programs read."""

from __future__ import annotations

import oneflow as flow
from oneflow.passes.inputs import inputs_read, with_inputs
from oneflow.passes.pipeline import PASSES, PassGroup, run_passes
from oneflow.program.verifier import verify
from tests.graph.helpers import TrainGraph

LOOKED_UP = """\
  %16: int64[3], %17: float32[3,2] = gradient_of_rows(%12, %0, count=5, paddings=(-1,))
  %18: float32[5,2] = sgd_update_of_rows(%1, %16, %17, %15, states=0)
  %19: float32[1,2] = sgd_update(%2, %13, %15, states=0)
  return %18, %19, %9
}"""
# Unscaled, checked, clipped and perhaps skipped: no line is about the whole table.
GUARDED = """\
  %33: int64[3], %34: float32[3,2] = gradient_of_rows(%30, %0, count=5, paddings=(-1,))
  %35: bool[], %36: float32[3,2], %37: float32[1,2] = unscale(%3, %34, %31)
  %39: float32[], %40: float32[3,2], %41: float32[1,2] = clip_norm($6, %36, %37, order=2.0)
  %56: int64[3] = rows_unless(%35, %33, count=5)
  %57: float32[5,2] = sgd_update_of_rows(%1, %56, %40, %55, states=0)
"""


def lookup_graph(group=None, **options):
    """A table that is looked up, and a weight."""
    model = flow.nn.ModuleList([flow.nn.Embedding(5, 2), flow.nn.Linear(2, 1, bias=False)])
    optimizer = flow.optim.SGD([{"params": model.parameters(), **(group or {})}], lr=0.5)
    return TrainGraph(model, lambda m, i: m[1](m[0](i)).sum(), optimizer, **options)


def passes_seen(graph, monkeypatch, *arguments):
    """Every pass of the first call: its name, and the programs before and after as text."""
    seen = []

    def observe(name, before, after):
        seen.append((name, flow.eager.format_program(before), flow.eager.format_program(after)))

    monkeypatch.setattr("oneflow.graph.compilation.dump_callback", lambda name: observe)
    graph(*arguments)
    return seen


def test_sparse_updates(monkeypatch):
    graph = lookup_graph(is_sparse=True)
    seen = passes_seen(graph, monkeypatch, flow.tensor([1, 1, 4]))
    texts = {name: (before, after) for name, before, after in seen}
    before, after = texts["sparse_updates"]
    assert "%16: float32[5,2], %17: float32[1,2] = sgd_update(%1, %14, %2, %13, %15" in before
    assert after.endswith(LOOKED_UP)
    # The dense gradient is dropped by the next pass.
    before, after = texts["dead_code"]
    assert "embedding_backward" in before
    assert "embedding_backward" not in after


def test_sparse_updates_of_scaled_and_clipped_gradients(monkeypatch):
    graph = lookup_graph({"clip_grad_max_norm": 1.0, "clip_grad_norm_type": 2.0}, is_sparse=True)
    graph.set_grad_scaler(flow.amp.GradScaler())
    seen = passes_seen(graph, monkeypatch, flow.tensor([1, 1, 4]))
    (after,) = [after for name, _, after in seen if name == "dead_code"]
    lines = after.splitlines(keepends=True)
    assert all(line in lines for line in GUARDED.splitlines(keepends=True))
    # As input, as output, and as what the tensor holds unless a check has failed.
    assert sum("[5,2]" in line for line in lines) == 3


def test_every_pass_is_seen_in_order(monkeypatch):
    names = [name for name, _, _ in passes_seen(lookup_graph(), monkeypatch, flow.tensor([1]))]
    assert names == [pass_.name for pass_ in PASSES if pass_.group is not PassGroup.STEP]


def test_inputs_in_another_order():
    program = flow.eager.record(lambda x, y: x - y * 2.0, flow.ones(2), flow.zeros(2))
    turned = with_inputs(program, [1, 0])
    verify(turned)
    assert inputs_read(program) == {0, 1}
    assert flow.eager.format_program(program).splitlines()[1:] == [
        "  %3: float32[2] = mul(%0, $2)",
        "  %4: float32[2] = sub(%1, %3)",
        "  return %4",
        "}",
    ]
    assert flow.eager.format_program(turned).splitlines()[1:] == [
        "  %3: float32[2] = mul(%1, $2)",
        "  %4: float32[2] = sub(%0, %3)",
        "  return %4",
        "}",
    ]


def test_inputs_that_nothing_reads_are_left_out():
    program = flow.eager.record(lambda x: x * 2.0, flow.ones(2))
    with_more = type(program)(
        (*program.inputs, *program.inputs),
        program.scalars,
        tuple(
            type(instruction)(instruction.operation, (1, 2), range(3, 4), instruction.scope)
            for instruction in program.instructions
        ),
        (3,),
    )
    verify(with_more)
    assert inputs_read(with_more) == {1}
    assert with_inputs(with_more, [1]) == program
    assert run_passes(program) is program
