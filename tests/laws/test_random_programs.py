"""A law of random programs: they give what PyTorch gives, cold, compiled as a whole and as a graph.

Written to in place and read through views, in all orders that were drawn.
"""

from __future__ import annotations

import warnings

import pytest
import torch

import oneflow as flow
from oneflow import nn
from tests.laws.random_programs import Program, gradients, leaves_of, random_program
from tests.oracle import difference, dtype_name, eager_mode, gradient_difference

PROGRAMS = 1000
# Programs of one test.
AT_ONCE = 5
# Sums of products in single precision, by different orders.
TOLERANCE = 50.0
# The factor of the tolerance for double precision numbers that come of single precision.
MIXED = 200.0


class ProgramGraph(nn.Graph):
    """The program as a graph of its inputs."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program

    def build(self, *inputs):
        return self.program.run(flow, list(inputs))


def problem_in(mine: list, theirs: list) -> str | None:
    is_mixed = any(dtype_name(tensor) == "float32" for tensor in theirs)
    for index, pair in enumerate(zip(mine, theirs, strict=True)):
        may_differ_more = is_mixed and dtype_name(pair[1]) == "float64"
        problem = difference(*pair, TOLERANCE * (MIXED if may_differ_more else 1))
        if problem:
            return f"tensor {index}: {problem}"
    return None


def problems_of(program: Program) -> list[str]:
    their_leaves = leaves_of(torch, program)
    theirs = program.run(torch, their_leaves)
    their_gradients = gradients(torch, their_leaves, theirs)
    theirs = [tensor.detach() for tensor in theirs]
    found = {}
    for mode in ("cold", "compiled"):
        with eager_mode(mode):
            leaves = leaves_of(flow, program)
            tensors = program.run(flow, leaves)
            mine = gradients(flow, leaves, tensors)
            found[mode] = problem_in(tensors, theirs)
            if their_gradients is not None:
                found[f"{mode} gradients"] = (
                    "refused"
                    if mine is None
                    else gradient_difference(mine, their_gradients, TOLERANCE)
                )
    inputs = [tensor.detach() for tensor in leaves_of(flow, program)]
    found["graph"] = problem_in(list(ProgramGraph(program)(*inputs)), theirs)
    return [f"{kind}: {problem}" for kind, problem in found.items() if problem]


@pytest.mark.one_in(100)
@pytest.mark.parametrize("first", range(0, PROGRAMS, AT_ONCE))
def test_random_programs_give_what_pytorch_gives(first: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, first + AT_ONCE):
            program = random_program(seed)
            problems = problems_of(program)
            steps = "\n".join(map(str, program.steps))
            assert not problems, f"program {seed}: {problems}\n{steps}"
