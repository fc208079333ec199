"""Functions made of functions, against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.nn.twins import raised_by, random_array
from tests.oracle import difference, flat_tensors

LIBRARIES = (flow, torch)


def tensor(lib, *shape, seed=0):
    return lib.tensor(random_array(*shape, seed=seed))


def params(lib):
    return {"w": tensor(lib, 2, 3), "b": tensor(lib, 2, seed=1)}


def loss(given, x):
    return ((x @ given["w"].T + given["b"]) ** 2).sum()


def curve(x):
    return x.sin() * x.sum()


CASES = {
    "grad": lambda lib: lib.func.grad(lambda x: (x**3).sum())(tensor(lib, 3)),
    "of structures": lambda lib: lib.func.grad(loss)(params(lib), tensor(lib, 4, 3, seed=2)),
    "second": lambda lib: lib.func.grad(lambda x: lib.func.grad(lambda y: (y**3).sum())(x).sum())(
        tensor(lib, 3)
    ),
    "several": lambda lib: lib.func.grad(lambda x, y: (x * y.exp()).sum(), (0, 1))(
        tensor(lib, 3), tensor(lib, 3, seed=1)
    ),
    "closure": lambda lib: lib.func.grad(lambda x: x * lib.func.grad(lambda y: x * y * y)(x * 2))(
        tensor(lib, 1)[0]
    ),
    "aux": lambda lib: lib.func.grad(lambda x: (x.prod(), x * 2), has_aux=True)(tensor(lib, 3)),
    "value": lambda lib: lib.func.grad_and_value(lambda x: x.prod())(tensor(lib, 3)),
    "unused": lambda lib: lib.func.grad(lambda x, y: y.sum())(tensor(lib, 3), tensor(lib, 2)),
    "vjp": lambda lib: lib.func.vjp(curve, tensor(lib, 3))[1](tensor(lib, 3, seed=1)),
    "vjp of several": lambda lib: lib.func.vjp(
        lambda x, y: (x * y, x + y), tensor(lib, 3), tensor(lib, 3, seed=1)
    )[1]((tensor(lib, 3, seed=2), tensor(lib, 3, seed=3))),
    "jvp": lambda lib: lib.func.jvp(curve, (tensor(lib, 3),), (tensor(lib, 3, seed=1),)),
    "jvp of linear": lambda lib: lib.func.jvp(
        lambda x: x * 2, (tensor(lib, 3),), (tensor(lib, 3, seed=1),)
    ),
    "jacrev": lambda lib: lib.func.jacrev(curve)(tensor(lib, 2, 2)),
    "jacfwd": lambda lib: lib.func.jacfwd(curve)(tensor(lib, 3)),
    "hessian": lambda lib: lib.func.hessian(lambda x: (curve(x) ** 2).sum())(tensor(lib, 3)),
    "vmap": lambda lib: lib.func.vmap(lib.dot)(tensor(lib, 4, 3), tensor(lib, 4, 3, seed=1)),
    "vmap along others": lambda lib: lib.func.vmap(
        lambda x, y: x * y, in_dims=(1, None), out_dims=1
    )(tensor(lib, 3, 4), tensor(lib, 3, seed=1)),
    "per sample": lambda lib: lib.func.vmap(lib.func.grad(loss), in_dims=(None, 0))(
        params(lib), tensor(lib, 4, 3, seed=2)
    ),
    "of pairs": lambda lib: lib.func.vmap(lambda x: (x, x.sum()))(tensor(lib, 4, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_pytorchs(name):
    mine, theirs = (CASES[name](lib) for lib in LIBRARIES)
    if isinstance(theirs, dict):
        assert list(mine) == list(theirs)
        mine, theirs = tuple(mine.values()), tuple(theirs.values())
    problem = difference(mine, theirs)
    assert problem is None, problem
    assert not any(flat_tensor.requires_grad for flat_tensor in flat_tensors(mine))


def test_gradients_go_on_outside():
    x = flow.tensor([2.0], requires_grad=True)
    flow.func.grad(lambda y: (y**3).sum())(x).sum().backward()
    assert x.grad.tolist() == [12.0]


def test_a_module_by_its_parameters():
    layer = flow.nn.Linear(3, 2)
    given = {name: parameter.detach() for name, parameter in layer.named_parameters()}
    x = flow.ones(4, 3)
    found = flow.func.grad(lambda p: flow.func.functional_call(layer, p, x).sum())(given)
    np.testing.assert_allclose(found["weight"].numpy(), np.full((2, 3), 4.0))
    assert layer.weight.grad is None


@pytest.mark.parametrize(
    "misuse",
    [
        lambda lib: lib.func.grad(lambda x: x)(lib.ones(2)),
        lambda lib: lib.func.grad(lambda x: 1.0)(lib.ones(2)),
        lambda lib: lib.func.vmap(lambda x, y: x)(lib.ones(2), lib.ones(3)),
        lambda lib: lib.func.vmap(lambda x: x, in_dims=(None,))(lib.ones(2)),
    ],
)
def test_errors_are_of_pytorchs_type(misuse):
    with pytest.raises(raised_by(lambda: misuse(torch))):
        misuse(flow)


@pytest.mark.parametrize("lib", LIBRARIES)
def test_models_run_as_an_ensemble(lib):
    models = [lib.nn.Sequential(lib.nn.Linear(3, 2), lib.nn.BatchNorm1d(2)) for _ in range(3)]
    for model in models:
        model.eval()[0].bias.requires_grad_(False)
    weights, buffers = lib.func.stack_module_state(models)
    assert [weight.is_leaf for weight in weights.values()] == [True] * 4
    assert [weight.requires_grad for weight in weights.values()] == [True, False, True, True]

    def run(weights, buffers, x):
        return lib.func.functional_call(models[0], (weights, buffers), (x,))

    x = tensor(lib, 5, 3).float()
    together = lib.func.vmap(run, in_dims=(0, 0, None))(weights, buffers, x)
    for mine, model in zip(together, models, strict=True):
        np.testing.assert_allclose(
            mine.detach().numpy(), model(x).detach().numpy(), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize(
    "models",
    [
        lambda lib: [],
        lambda lib: [lib.nn.Linear(1, 1), lib.nn.ReLU()],
        lambda lib: [lib.nn.ReLU(), lib.nn.ReLU().eval()],
        lambda lib: [lib.nn.Linear(1, 1), lib.nn.Linear(1, 1).requires_grad_(False)],
    ],
)
def test_models_that_make_no_ensemble(models):
    calls = [lambda lib=lib: lib.func.stack_module_state(models(lib)) for lib in LIBRARIES]
    assert raised_by(calls[0]) is raised_by(calls[1]) is RuntimeError


def test_linearized_functions_give_the_changes_of_jvp():
    x, directions = tensor(flow, 3), [tensor(flow, 3, seed=seed) for seed in (1, 2)]
    value, change = flow.func.linearize(curve, x)
    assert value.tolist() == curve(x).tolist()
    for direction in directions:
        assert change(direction).tolist() == flow.func.jvp(curve, (x,), (direction,))[1].tolist()


def test_strict_changes_need_a_value_that_depends():
    for lib in (flow, torch):
        x = lib.ones(2)
        assert lib.func.jvp(lambda x, lib=lib: lib.ones(1), (x,), (x,))[1].tolist() == [0]
        with pytest.raises(RuntimeError):
            lib.func.jvp(lambda x, lib=lib: lib.ones(1), (x,), (x,), strict=True)
