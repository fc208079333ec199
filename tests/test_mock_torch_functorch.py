"""The package ``functorch``, which comes with PyTorch, compared with PyTorch's."""

from __future__ import annotations

import importlib

import pytest
import torch

from oneflow import mock_torch
from tests.oracle import difference


def both(program):
    """The results of a program in PyTorch's place, and in PyTorch."""
    with mock_torch.enable():
        modules = [importlib.import_module(n) for n in ("torch", "functorch")]
        importlib.import_module("functorch.experimental")
        found = program(*modules)
    importlib.import_module("functorch.experimental")
    return found, program(torch, importlib.import_module("functorch"))


def model_of(t):
    model = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
    with t.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.copy_(t.arange(parameter.numel()).reshape(parameter.shape) - number)
    return model


def functional(t, functorch):
    model, x = model_of(t)[0], t.tensor([[1.0, -2.0]])
    function, params = functorch.make_functional(model)
    frozen = functorch.make_functional(model, disable_autograd_tracking=True)[1]
    gradients = functorch.grad(lambda p: function(p, x).sum())(params)
    kinds = [tensor.requires_grad for tensor in (*params, *frozen)]
    return function(params, x).detach(), gradients, kinds, params[0] is model.weight


def with_buffers(t, functorch):
    function, params, buffers = functorch.make_functional_with_buffers(model_of(t).eval())
    result = function(params, buffers, t.tensor([[1.0, -2.0], [3.0, 5.0]]))
    return result.detach(), [tuple(tensor.shape) for tensor in (*params, *buffers)]


def ensemble(t, functorch):
    models = [t.nn.Linear(2, 2) for _ in range(3)]
    with t.no_grad():
        for number, model in enumerate(models):
            model.weight.fill_(number)
            model.bias.fill_(-number)
    function, params, buffers = functorch.combine_state_for_ensemble(models)
    result = functorch.vmap(function, (0, 0, None))(params, buffers, t.ones(2))
    return result.detach(), [parameter.requires_grad for parameter in params]


def tied(t, functorch):
    model = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Linear(2, 2))
    model[1].weight = model[0].weight
    function, params = functorch.make_functional(model)
    result = function([t.ones(parameter.shape) for parameter in params], t.ones(1, 2))
    return result, len(params)


def chunks(t, functorch):
    mapped = functorch.experimental.chunk_vmap(t.sin, in_dims=1, out_dims=1, chunks=2)
    return mapped(t.arange(6.0).reshape(2, 3))


def without_statistics(t, functorch):
    model = functorch.experimental.replace_all_batch_norm_modules_(model_of(t))
    x = t.arange(8.0).reshape(4, 2)
    return model(x).detach(), [name for name, _ in model.named_buffers()]


def mistakes(t, functorch):
    found = []
    for call in (
        lambda: functorch.make_functional(model_of(t)),
        lambda: functorch.combine_state_for_ensemble([]),
        lambda: functorch.combine_state_for_ensemble([t.nn.Linear(2, 2), t.nn.ReLU()]),
    ):
        try:
            call()
        except Exception as error:
            found.append(type(error).__name__)
    return found


@pytest.mark.parametrize(
    "program",
    [functional, with_buffers, ensemble, tied, chunks, without_statistics, mistakes],
    ids=lambda program: program.__name__,
)
@pytest.mark.filterwarnings("ignore:We've integrated functorch:FutureWarning")
def test_functions_are_those_of_pytorch(program):
    found, expected = both(program)
    assert difference(found, expected) is None
