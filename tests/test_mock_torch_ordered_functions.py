"""Functions whose arguments have PyTorch's order in its place: their files and signatures."""

from __future__ import annotations

import importlib
import inspect
import io
import pickle
import subprocess
import sys

import pytest
import torch

import oneflow as flow
from oneflow.mock_torch.positional_order import ORDERS
from tests.in_place import in_place_of, overrides_enabled

ORDERED = [
    (module, name)
    for module, rows in ORDERS.items()
    for name in rows
    if hasattr(in_place_of(module), name)
]
MODULES = ("torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special")


def _assert_pickled(function):
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        assert pickle.loads(pickle.dumps(function, protocol)) is function


@pytest.mark.parametrize(("module", "name"), ORDERED)
def test_ordered_functions_are_pickled(module, name):
    _assert_pickled(getattr(in_place_of(module), name))


@pytest.mark.parametrize("name", MODULES)
def test_functions_that_ask_are_pickled(name):
    module = in_place_of(name)
    with overrides_enabled():
        for function in list(vars(module).values()):
            if inspect.isfunction(function) and function.__module__.startswith("oneflow."):
                _assert_pickled(function)


def test_methods_that_ask_for_the_program_are_pickled():
    in_place_of("torch")
    for method in (flow.Tensor.allclose, flow.Tensor.isclose):
        _assert_pickled(method)


def test_other_processes_load_them():
    content = pickle.dumps(in_place_of("torch.nn.functional").mse_loss)
    program = f"import pickle; print(pickle.loads({content!r}).__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "mse_loss\n", done.stderr


class Holder(flow.nn.Module):
    """A module with a function."""


def test_modules_with_functions_are_saved():
    ours = in_place_of("torch")
    module, file = Holder(), io.BytesIO()
    module.loss = ours.nn.functional.cross_entropy
    ours.save(module, file)
    file.seek(0)
    assert ours.load(file, weights_only=False).loss is module.loss


def _defaults(function):
    return [(x.name, x.default) for x in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize(("module", "name"), ORDERED)
def test_signatures_are_pytorchs(module, name):
    original = getattr(importlib.import_module(module), name)
    try:
        expected = _defaults(original)
    except ValueError:  # it is written in C++
        pytest.skip("PyTorch's has no signature")
    if expected[0][0] == "args":
        expected = _defaults(getattr(torch.nn.functional, f"{name}_with_indices"))
    assert _defaults(getattr(in_place_of(module), name)) == expected


def _operands(name):
    x = flow.linspace(0.1, 0.9, 12).reshape(3, 4)
    if name.startswith("max_pool"):
        sizes = {"1": (64,), "2": (8, 8), "3": (4, 4, 4)}[name[8]]
        return flow.arange(64.0).reshape(1, 1, *sizes), 2
    if name == "grad":
        weight = flow.ones(2).requires_grad_()
        return weight.sum(), weight
    return {
        "group_norm": (x, 2),
        "layer_norm": (x, (4,)),
        "tensordot": (x, x.T, 1),
        "cosine_embedding_loss": (x, x + 1, flow.ones(3)),
        "margin_ranking_loss": (x, x + 1, flow.ones(3, 4)),
        **dict.fromkeys(("cross_entropy", "nll_loss"), (x, flow.tensor([1, 0, 3]))),
        "multi_margin_loss": (x, flow.tensor([1, 0, 3])),
        "multilabel_margin_loss": (x, flow.tensor([[1, 0, -1, -1]] * 3)),
        **dict.fromkeys(("norm", "rrelu", "softmax", "log_softmax", "softmin", "normalize"), (x,)),
    }.get(name, (x, x * 0.5))


@pytest.mark.parametrize(("module", "name"), ORDERED)
def test_arguments_may_be_bound_to_their_defaults(module, name):
    if name in ("gumbel_softmax", "sum"):
        pytest.skip("the values are random, or of sparse tensors")
    function = getattr(in_place_of(module), name)
    bound = inspect.signature(function).bind(*_operands(name))
    bound.apply_defaults()
    results = function(*bound.args), function(*_operands(name))
    found, expected = (x if isinstance(x, tuple) else (x,) for x in results)
    for one, other in zip(found, expected, strict=True):
        assert one == other if isinstance(one, bool) else flow.equal(one, other)


def test_embeddings_take_freeze_before_the_device():
    for framework in (torch, in_place_of("torch")):
        vectors = framework.ones(3, 2)
        options = (None, None, 2.0, False, False)
        for rest in ((vectors,), (vectors, False), (vectors, False, "cpu", framework.float64)):
            assert framework.nn.Embedding(3, 2, *options, *rest).weight.requires_grad
        for rest in ((vectors, True), (None, True, "cpu", framework.float64)):
            layer = framework.nn.Embedding(3, 2, *options, *rest)
            assert not layer.weight.requires_grad
        assert layer.weight.dtype is framework.float64
        assert not framework.nn.Embedding(3, 2, _freeze=True).weight.requires_grad
    assert flow.nn.Embedding(3, 2, *options, None, "cpu", flow.float64).weight.dtype is flow.float64
