"""Values are stored, where each reader would compute many steps again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import oneflow as flow
from oneflow.compiler.lower import Executable
from oneflow.passes.materialize import materialize_shared
from oneflow.primitives.operators.materialize import materialize
from oneflow.program.evaluate import evaluate
from oneflow.program.ir import Program

SMALL, LARGE = (4, 32), (64, 512)


def steps(x: flow.Tensor, count: int) -> flow.Tensor:
    for _ in range(count):
        x = x * 2
    return x


def twice(value: flow.Tensor) -> flow.Tensor:
    """Two readers of a value."""
    return value.sum() + value.cos().sum()


def dropped(x: flow.Tensor) -> flow.Tensor:
    return flow.nn.functional.dropout(x, 0.5)


# A function, the shape of its argument, and the number of values that are stored.
ROWS: dict[str, tuple[Callable[[flow.Tensor], flow.Tensor], tuple[int, ...], int]] = {
    "many steps": (lambda x: twice(steps(x, 16)), SMALL, 1),
    "a few steps": (lambda x: twice(steps(x, 15)), SMALL, 0),
    "one reader": (lambda x: steps(x, 16).sum(), SMALL, 0),
    "random bits": (lambda x: twice(dropped(x)), SMALL, 1),
    "a product reads it": (lambda x: twice(steps(x, 16) @ x.T), SMALL, 0),
    "moved in between": (lambda x: twice(steps(steps(x, 8).T, 8)), SMALL, 1),
    "steps of a stored value": (lambda x: twice(steps(dropped(x), 1) * dropped(x)), SMALL, 1),
    "two stored values": (lambda x: twice(steps(x, 16)) + twice(steps(x.T, 17)), SMALL, 2),
    "large": (lambda x: twice(steps(x, 16)), LARGE, 0),
}


def stored(program: Program) -> int:
    return sum(i.operation.primitive is materialize for i in program.instructions)


@pytest.mark.parametrize("name", ROWS)
def test_small_values_of_many_steps_are_stored(name: str):
    function, shape, expected = ROWS[name]
    program = flow.eager.record(function, flow.ones(*shape))
    assert stored(materialize_shared(program)) == expected


def normalized(x: flow.Tensor, weight: flow.Tensor, layers: int) -> flow.Tensor:
    """Layers that each add something to their input and normalize the sum."""
    for _ in range(layers):
        x = flow.nn.functional.layer_norm(x + x @ weight, (32,))
    return x


@pytest.mark.usefixtures("jax_x64")
def test_a_layer_does_not_compute_again_what_the_layers_before_it_have():
    layers = 16
    program = flow.eager.record(
        lambda x, weight: normalized(x, weight, layers), flow.ones(4, 32), flow.ones(32, 32)
    )
    optimized = materialize_shared(program)
    executable = Executable(optimized, (), flow.device("cpu"))
    # With nothing stored they grow with the square of the layers: 832 for 16.
    assert executable.hlo().count(" add(") < 16 * layers
    rng = np.random.default_rng(0)
    operands = [rng.standard_normal(spec.shape).astype(np.float32) for spec in program.inputs]
    numbers = [1e-5] * len(program.scalars)
    (result,), _ = executable(operands, numbers)
    (expected,), _ = evaluate(program, operands, numbers)
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-3)
