"""Updates unpack numbers once, and compute nothing that no option asks for."""

import functools
from collections import Counter

import jax
import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow.base.x64 import in_x64
from oneflow.primitives.operation import Operation
from oneflow.runtime.eager import current
from tests.graph.helpers import TrainGraph
from tests.optim.table import OWN_ROWS, ROWS

# The steps that unpack a vector of numbers.
UNPACKING = ("slice", "squeeze", "dynamic_slice", "convert_element_type")
START = np.array([[0.5, np.inf], [-1.0, 3.0]])


def update_of(row, count, **options):
    """The operation that updates `count` parameters, as it is recorded."""
    parameters = [flow.ones(2, 2).requires_grad_() for _ in range(count)]
    optimizer = row.make(parameters, **options)
    for parameter in parameters:
        parameter.grad = flow.ones(2, 2)
    optimizer.step()
    (operation,) = [
        entry
        for entry in current.recorder.key
        if isinstance(entry, Operation) and entry.primitive is optimizer._update
    ]
    return operation


@in_x64
def traced_update(operation, implementation):
    """The steps of an implementation of an update."""
    operands = [jax.ShapeDtypeStruct(s.shape, s.dtype.numpy) for s in operation.in_specs]
    with jax.disable_jit():
        update = functools.partial(implementation, **operation.attributes)
        return jax.make_jaxpr(update)(*operands).jaxpr


def steps_of(operation):
    """The number of times that each primitive of JAX is in an update."""
    program = traced_update(operation, operation.primitive.implementation("cpu"))
    return Counter(equation.primitive.name for equation in program.eqns)


@pytest.mark.parametrize("row", [*ROWS, *OWN_ROWS], ids=lambda row: row.label)
def test_numbers_are_unpacked_once(row):
    if row.name == "Muon":
        pytest.skip("converts matrices to bfloat16")
    one, three = steps_of(update_of(row, 1)), steps_of(update_of(row, 3))
    assert three["mul"] > one["mul"]
    assert [three[name] for name in UNPACKING] == [one[name] for name in UNPACKING]


@pytest.mark.parametrize("row", [*ROWS, *OWN_ROWS], ids=lambda row: row.label)
def test_gradients_lie_as_parameters_on_gpus(row):
    operation = update_of(row, 2)
    program = traced_update(operation, operation.primitive.implementation("cuda"))
    laid = [step for step in program.eqns if step.primitive.name == "layout_constraint"]
    pairs = operation.primitive.traits.update.gradients(operation)
    assert [step.invars[0] for step in laid] == [program.invars[place] for _, place in pairs]
    assert {step.params["layout"].major_to_minor for step in laid} == {(0, 1)}
    others = Counter(step.primitive.name for step in program.eqns)
    del others["layout_constraint"]
    assert others == steps_of(operation)


def test_plain_gradient_descent_is_a_product_and_a_difference():
    row = next(row for row in ROWS if row.name == "SGD")
    added = steps_of(update_of(row, 2)) - steps_of(update_of(row, 1))
    assert added == {"mul": 1, "sub": 1}
    added = steps_of(update_of(row, 2, maximize=True)) - steps_of(update_of(row, 1, maximize=True))
    assert added == {"mul": 1, "sub": 1, "neg": 1}


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "NAdam", "RMSprop", "Adagrad"])
def test_the_form_may_change_while_a_graph_trains(name):
    """Without decay an infinite parameter stays what it is; with it others move."""
    theirs = torch.tensor(START).requires_grad_()
    options = {"lr": 0.07, "weight_decay": 0.0}
    reference = getattr(torch.optim, name)([theirs], **options)
    module = flow.nn.Module()
    module.weight = flow.nn.Parameter(flow.tensor(START))
    ours = getattr(flow.optim, name)([module.weight], **options)
    graph = TrainGraph(module, lambda m: (m.weight[:, 0] ** 2).sum(), ours)
    if name == "RMSprop":
        ours.param_groups[0]["eps"] = reference.param_groups[0]["eps"] = 0.0
    for decay, maximize in [(0.0, False)] * 2 + [(0.3, False)] * 2 + [(0.0, True), (0.0, False)]:
        for optimizer in (ours, reference):
            optimizer.param_groups[0].update(weight_decay=decay, maximize=maximize)
        graph()
        reference.zero_grad()
        (theirs[:, 0] ** 2).sum().backward()
        reference.step()
        np.testing.assert_allclose(module.weight.numpy(), theirs.detach().numpy(), rtol=1e-6)


def test_a_decay_that_is_a_tensor_may_be_zero():
    weight = flow.tensor(START).requires_grad_()
    optimizer = flow.optim.SGD([weight], lr=0.5)
    decay = flow.tensor(0.0, dtype=flow.float64)
    optimizer.param_groups[0]["weight_decay"] = decay
    for factor in (0.0, 0.5):
        decay.fill_(factor)
        before = weight.numpy()
        with np.errstate(invalid="ignore"):
            expected = before - 0.5 * (1 + factor * before if factor else 1)
        weight.grad = flow.ones(2, 2, dtype=flow.float64)
        optimizer.step()
        np.testing.assert_array_equal(weight.numpy(), expected)
