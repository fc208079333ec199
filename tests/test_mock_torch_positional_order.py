"""Positional arguments in PyTorch's place are PyTorch's."""

from __future__ import annotations

import inspect
import warnings

import pytest
import torch

import oneflow as flow
from tests.in_place import enabled, in_place_of

FRAMEWORKS = (torch, in_place_of("torch"))
MODULES = ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft")
MODULES += ("torch.autograd", "torch.sparse", "torch.nn.init", "torch.nn.utils")
# Kernels with numbers for reductions, which nothing but PyTorch's own functions calls.
EXEMPT = {"torch.kl_div", "torch.triplet_margin_loss"}
# It takes both orders.
EXEMPT.add("torch.nn.functional.upsample")
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def positional(function):
    """The names of positional arguments; None where Python does not know them."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [p.name for p in parameters if p.kind in POSITIONAL]


def orders(function, name):
    """All orders that PyTorch has for a function."""
    if names := positional(function):
        return [names]
    overloads = getattr(torch.ops.aten, name, None)
    if overloads is None:
        return []
    schemas = [getattr(overloads, kind)._schema for kind in overloads.overloads()]
    return [[a.name for a in schema.arguments if not a.kwarg_only] for schema in schemas]


def moved(ours, theirs):
    """Names that are at other places than in PyTorch."""
    return [
        name for place, name in enumerate(ours) if name in theirs and theirs.index(name) != place
    ]


@pytest.mark.parametrize("module", MODULES)
def test_arguments_are_at_pytorchs_places(module):
    theirs, ours = (getattr_path(framework, module) for framework in FRAMEWORKS)
    wrong = {}
    for name in dir(theirs):
        function, other = getattr(theirs, name), getattr(ours, name, None)
        if name.startswith("_") or inspect.isclass(function) or f"{module}.{name}" in EXEMPT:
            continue
        names = positional(other) if callable(other) else None
        expected = orders(function, name) if names else []
        found = [moved(names, order) for order in expected]
        if found and all(found):
            wrong[name] = found
    assert not wrong


def getattr_path(framework, module):
    for part in module.split(".")[1:]:
        framework = getattr(framework, part)
    return framework


def losses(call):
    """A function of a framework that gives a loss of two matrices."""

    def compute(framework):
        x = framework.linspace(-1, 1, 10).reshape(2, 5)
        return call(framework.nn.functional, x, framework.softmax(-x, 1))

    return compute


CALLS = {
    "kl_div": losses(lambda F, x, y: F.kl_div(x, y, None, None, "sum")),
    "kl_div sum": losses(lambda F, x, y: F.kl_div(x, y, False)),
    "cross_entropy": losses(lambda F, x, y: F.cross_entropy(x, y.argmax(1), None, None, 1)),
    "cross_entropy sum": losses(lambda F, x, y: F.cross_entropy(x, y.argmax(1), None, False)),
    "smooth_l1_loss": losses(lambda F, x, y: F.smooth_l1_loss(x, y, False)),
    "mse_loss": losses(lambda F, x, y: F.mse_loss(x, y, None, None, "sum")),
    "l1_loss": losses(lambda F, x, y: F.l1_loss(x, y, None, False)),
    "poisson": losses(
        lambda F, x, y: F.poisson_nll_loss(x, y, True, False, None, 1e-8, None, "sum")
    ),
    "softmax": losses(lambda F, x, y: F.softmax(x, 1, 3, x.double().dtype).double()),
    "softmax keyword": losses(lambda F, x, y: F.softmax(x, dim=1, _stacklevel=5)),
    "normalize": losses(lambda F, x, y: F.normalize(x, 1.0, 0, 1e-12, None)),
    "max_pool2d": losses(lambda F, x, y: F.max_pool2d(x[None], 2, 2, 0, 1, True)),
    "indices": losses(lambda F, x, y: F.max_pool1d(x, 2, 2, 0, 1, False, True)[1]),
    "gumbel": losses(lambda F, x, y: F.gumbel_softmax(x, 1.0, True, 1e-10, -1).amax(1)),
    "allclose": lambda f: [
        f.allclose(f.ones(1), f.ones(1) * 1.05, *t) for t in ((0.1, 0.0), (0.0, 0.1))
    ],
    "isclose": lambda f: f.isclose(f.ones(1) * 100, f.ones(1) * 105, 0.1, 0.0),
    "method": lambda f: (f.ones(1) * 100).isclose(f.ones(1) * 105, 0.1, 0.0),
    "method of all": lambda f: (f.ones(1) * 100).allclose(f.ones(1) * 105, 0.1, 0.0),
    "norm": lambda f: f.norm(f.ones(2, 2), 2, 1, True, None, f.float64),
    "grad": lambda f: f.autograd.grad(
        *(lambda x: (x.sum(), x))(f.ones(2, requires_grad=True)), None, True, True, True, True
    )[0],
}


@pytest.mark.parametrize("name", CALLS)
def test_positional_arguments_mean_the_same(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of old arguments
        expected = CALLS[name](FRAMEWORKS[0])
        with enabled():
            found = CALLS[name](FRAMEWORKS[1])
    if torch.is_tensor(expected):
        assert str(found.dtype).rpartition(".")[2] == str(expected.dtype).rpartition(".")[2]
        torch.testing.assert_close(torch.tensor(found.tolist()), torch.tensor(expected.tolist()))
    else:
        assert found == expected


def test_the_order_is_oneflows_under_its_own_name():
    x, y = flow.ones(1) * 100, flow.ones(1) * 105
    assert not flow.isclose(x, y, 0.1, 0.0).item()
    assert not x.isclose(y, 0.1, 0.0).item()
    assert not x.allclose(y, 0.1, 0.0)
    assert x.allclose(y, 0.0, 0.1)


def test_too_many_arguments_are_refused():
    F = FRAMEWORKS[1].nn.functional
    with pytest.raises(TypeError, match="at most 6 positional arguments"):
        F.mse_loss(*[flow.ones(1)] * 2, None, None, "sum", None, 1)
