"""Decompositions that take a primitive's place: they compute what the primitive computes.

What the samples of the operator table and the calls of `layer_calls` record is computed by the
primitive and by its decomposition; results and gradients must agree.
"""

import numpy as np
import pytest

import oneflow as flow
from oneflow.dispatch import call as dispatch
from oneflow.primitives import registry
from oneflow.primitives.registry import PRIMITIVES
from oneflow.tensor import Tensor
from oneflow.tensor.call import wrap
from oneflow.tensor.transfer import import_array
from oneflow.tensor.views import unwrap
from tests.laws.recording import of_recorded_programs, recorded_programs
from tests.oracle import array_difference, dtype_name, to_numpy

pytestmark = of_recorded_programs

DECOMPOSED = sorted(
    name for name, primitive in PRIMITIVES.items() if primitive.traits.decomposition is not None
)
MAX_CASES = 6


@pytest.fixture(scope="module")
def recorded():
    """Per primitive: operations that differ in attributes or types, with their operands."""
    found, patterns = {name: [] for name in DECOMPOSED}, set()
    for program in recorded_programs():
        for instruction in program.instructions:
            operation = instruction.operation
            name = operation.primitive.name
            decomposition = operation.primitive.traits.decomposition
            pattern = (name, str(operation.attributes), str([s.dtype for s in operation.in_specs]))
            if pattern in patterns or not (
                decomposition and decomposition.matches(operation.attributes)
            ):
                continue
            patterns.add(pattern)
            if len(found[name]) < MAX_CASES:
                operands = program.operands(instruction, program.inputs)
                found[name].append((operation, [np.asarray(operand) for operand in operands]))
    return found


def computed(operation, arrays, function):
    """Results of a primitive or a function like it, and gradients of the tensors."""
    operands = [
        array.item() if scalar else import_array(array)
        for array, scalar in zip(arrays, operation.is_scalar, strict=True)
    ]
    floats = [x for x in operands if isinstance(x, Tensor) and x.is_floating_point()]
    for x in floats:
        x.requires_grad_()
    values = [unwrap(x) if isinstance(x, Tensor) else x for x in operands]
    results = function(*values, **operation.attributes)
    tensors = [wrap(result) for result in (results if isinstance(results, tuple) else (results,))]
    outputs = [tensor for tensor in tensors if tensor.requires_grad]
    grads = []
    if operation.differentiable and outputs:
        total = sum(
            (output * flow.arange(1.0, 1.0 + output.numel()).view(output.shape)).sum()
            for output in outputs
        )
        grads = flow.autograd.grad(total, floats, allow_unused=True)
    return tensors, [
        np.zeros(x.shape) if g is None else to_numpy(g) for x, g in zip(floats, grads, strict=False)
    ]


@pytest.mark.parametrize("name", DECOMPOSED)
def test_composition_equals_the_primitive(recorded, name, monkeypatch):
    primitive = PRIMITIVES[name]
    assert recorded[name], "no sample; add one to tests/samples or layer_calls"
    for operation, arrays in recorded[name]:
        expected, expected_grads = computed(operation, arrays, primitive)
        with monkeypatch.context() as patch:
            patch.setattr(registry.BIND, "value", composing)
            mine, grads = computed(operation, arrays, primitive)
        for a, b in zip(mine, expected, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype), operation
            problem = array_difference(to_numpy(a), to_numpy(b), dtype_name(b), 10)
            assert not problem, f"{operation}: {problem}"
        for a, b in zip(grads, expected_grads, strict=True):
            problem = array_difference(a, b, b.dtype.name, 50)
            assert not problem, f"gradient of {operation}: {problem}"


def composing(primitive, operands, attributes):
    """Calls of primitives, of decompositions where there are any."""
    decomposition = primitive.traits.decomposition
    if decomposition is None or not decomposition.matches(attributes):
        return dispatch.bind(primitive, operands, attributes)
    return decomposition.function(*operands, **attributes)
