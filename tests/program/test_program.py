"""Programs: what is recorded and printed, what the verifier refuses, what the evaluator does."""

from dataclasses import replace

import numpy as np
import pytest

import oneflow as flow
from oneflow.base.spec import spec_of
from oneflow.passes.dead_code import eliminate_dead_code
from oneflow.program.evaluate import evaluate
from oneflow.program.printer import format_program
from oneflow.program.verifier import InvalidProgramError, verify
from oneflow.tensor.views import unwrap


def example():
    """A small program with an array input, a number, and a two-output instruction."""

    def function(x):
        low, high = (x * 2.0).split(2)
        return low + high

    return flow.eager.record(function, flow.ones(4, 2))


EXPECTED = """\
program(%0: float32[4,2], $1: float32) {
  %2: float32[4,2] = mul(%0, $1)
  %3: float32[2,2], %4: float32[2,2] = split(%2, sizes=(2, 2), dim=0)
  %5: float32[2,2] = add(%3, %4)
  return %5
}"""


def test_printed_form():
    assert format_program(example()) == EXPECTED


def test_a_scope_is_printed():
    program = example()
    scoped = replace(program.instructions[0], scope="encoder.layer1")
    program = replace(program, instructions=(scoped, *program.instructions[1:]))
    assert "mul(%0, $1)  # encoder.layer1" in format_program(program)


def test_evaluator_computes_what_it_says():
    program = example()
    verify(program)
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    (result,), checks = evaluate(program, [x], [np.float32(2.0)])
    np.testing.assert_array_equal(result, 2 * x[:2] + 2 * x[2:])
    assert checks == []


@pytest.mark.usefixtures("jax_x64")
def test_evaluator_reports_checks():
    program = flow.eager.record(
        lambda table, index: table.index_select(0, index), flow.ones(3, 2), flow.tensor([0, 1])
    )
    tensors = [flow.ones(3, 2), flow.tensor([0, 7])]
    arrays = [unwrap(tensor).read() for tensor in tensors]
    assert [spec.shape for spec in program.inputs] == [array.shape for array in arrays]
    _, checks = evaluate(program, arrays, [])
    assert [(bool(bad), int(value)) for bad, value in checks] == [(True, 7)]


def test_dead_code_is_dropped_and_checks_stay():
    program = example()
    shorter = eliminate_dead_code(replace(program, outputs=(2,)))
    assert format_program(shorter) == (
        "program(%0: float32[4,2], $1: float32) {\n  %2: float32[4,2] = mul(%0, $1)\n  return %2\n}"
    )
    checked = flow.eager.record(
        lambda table, index: (table.index_select(0, index), table + 1)[1],
        flow.ones(3, 2),
        flow.tensor([0, 1]),
    )
    assert len(eliminate_dead_code(checked).checks) == 1


def wrong_order(program):
    first, second, *rest = program.instructions
    return replace(program, instructions=(second, first, *rest))


def wrong_operand_count(program):
    first, *rest = program.instructions
    return replace(program, instructions=(replace(first, operands=(0,)), *rest))


def wrong_spec(program):
    spec = spec_of((4, 3), flow.float32, flow.device("cpu"))
    return replace(program, inputs=(spec,))


def defined_twice(program):
    first, *rest = program.instructions
    return replace(program, instructions=(first, first, *rest))


def undefined_output(program):
    return replace(program, outputs=(99,))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (wrong_order, "used before it is defined"),
        (wrong_operand_count, "takes 2 operands, got 1"),
        (wrong_spec, "expects float32"),
        (defined_twice, "defined twice"),
        (undefined_output, "never defined"),
    ],
)
def test_verifier_refuses(damage, message):
    with pytest.raises(InvalidProgramError, match=message):
        verify(damage(example()))


def test_a_refusal_shows_the_neighbours():
    with pytest.raises(InvalidProgramError, match=r"%2: float32\[4,2\] = mul"):
        verify(wrong_order(example()))
