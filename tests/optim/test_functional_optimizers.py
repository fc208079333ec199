"""The functions of ``torch.optim`` that make one step, beside PyTorch's."""

from __future__ import annotations

import importlib
from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch

from oneflow import mock_torch

_SHAPES = ((3,), (2, 2))
_BETAS = {"beta1": 0.8, "beta2": 0.95}
# The lists of states of each function with their first numbers, and its options.
_ROWS: dict[str, tuple[dict[str, float | None], dict[str, Any]]] = {
    "adadelta": (
        {"square_avgs": 0.1, "acc_deltas": 0.2},
        {"lr": 0.5, "rho": 0.8, "eps": 1e-6, "weight_decay": 0.1, "maximize": True},
    ),
    "adagrad": (
        {"state_sums": 0.3},
        {"lr": 0.1, "weight_decay": 0.1, "lr_decay": 0.2, "eps": 1e-6, "maximize": False},
    ),
    "adam": (
        {"exp_avgs": 0.1, "exp_avg_sqs": 0.2, "max_exp_avg_sqs": 0.3},
        {**_BETAS, "amsgrad": True, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-6, "maximize": True},
    ),
    "adamw": (
        {"exp_avgs": 0.1, "exp_avg_sqs": 0.2, "max_exp_avg_sqs": None},
        {
            **_BETAS,
            "amsgrad": False,
            "lr": 0.1,
            "weight_decay": 0.1,
            "eps": 1e-6,
            "maximize": False,
        },
    ),
    "adamax": (
        {"exp_avgs": 0.1, "exp_infs": 0.2},
        {**_BETAS, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-6, "maximize": True},
    ),
    "asgd": (
        {"axs": 0.5, "mus": 1.0, "etas": 0.1},
        {"lambd": 0.1, "lr": 0.1, "t0": 2.0, "alpha": 0.75, "weight_decay": 0.1},
    ),
    "nadam": (
        {"exp_avgs": 0.1, "exp_avg_sqs": 0.2, "mu_products": 0.7},
        {**_BETAS, "lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.01, "eps": 1e-6},
    ),
    "radam": (
        {"exp_avgs": 0.1, "exp_avg_sqs": 0.2},
        {**_BETAS, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-6, "decoupled_weight_decay": True},
    ),
    "rmsprop": (
        {"square_avgs": 0.2, "grad_avgs": 0.1, "momentum_buffer_list": 0.3},
        {
            "lr": 0.1,
            "alpha": 0.9,
            "eps": 1e-3,
            "weight_decay": 0.1,
            "momentum": 0.9,
            "centered": True,
        },
    ),
    "rprop": (
        {"prevs": 0.1, "step_sizes": 0.05},
        {"step_size_min": 1e-6, "step_size_max": 50.0, "etaminus": 0.5, "etaplus": 1.2},
    ),
    "sgd": (
        {"momentum_buffer_list": None},
        {
            "weight_decay": 0.1,
            "momentum": 0.9,
            "lr": 0.1,
            "dampening": 0.1,
            "nesterov": False,
            "maximize": True,
        },
    ),
}
_COUNTS = ("mus", "etas", "mu_products")


def _steps(library: Any, module: Any, name: str) -> list[np.ndarray]:
    """Parameters and states after three steps on PyTorch or in its place."""
    states, options = _ROWS[name]
    generator = np.random.default_rng(0)
    draw = [generator.normal(size=shape) for shape in _SHAPES for _ in range(4)]
    params = [library.tensor(draw[0]), library.tensor(draw[4])]
    lists: dict[str, list[Any]] = {}
    for argument, first in states.items():
        shapes = [() if argument in _COUNTS else shape for shape in _SHAPES]
        lists[argument] = [
            library.full(shape, first, dtype=library.float64)
            for shape in shapes
            if first is not None
        ]
    if name == "sgd":
        lists["momentum_buffer_list"] = [None, None]
    else:
        lists["state_steps"] = [library.tensor(3.0) for _ in _SHAPES]
    for step in range(3):
        grads = [library.tensor(draw[step + 1]), library.tensor(draw[step + 5])]
        getattr(module, name)(params, grads, *lists.values(), **options)
    return [tensor.numpy() for tensor in chain(params, *lists.values())]


@pytest.mark.parametrize("name", _ROWS)
@pytest.mark.parametrize("path", ["torch.optim.{}", "torch.optim._functional"])
def test_steps_are_torchs(name: str, path: str) -> None:
    expected = _steps(torch, importlib.import_module(path.format(name)), name)
    with mock_torch.enable():
        library = importlib.import_module("torch")
        results = _steps(library, importlib.import_module(path.format(name)), name)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-6, atol=1e-8)


def test_parameters_may_have_a_history_and_keep_their_gradients() -> None:
    with mock_torch.enable():
        import torch
        from torch.optim.sgd import sgd

        leaf = torch.ones(2, requires_grad=True)
        leaf.grad = torch.full((2,), 5.0)
        options = _ROWS["sgd"][1]
        with torch.no_grad():
            sgd([leaf, leaf * 2], [torch.ones(2), None], [None, None], **options)
        assert leaf.grad.tolist() == [5.0, 5.0]
        assert leaf.requires_grad
        np.testing.assert_allclose(leaf.detach().numpy(), 1.09)


def test_what_a_step_does_not_do_is_refused() -> None:
    with mock_torch.enable():
        import torch
        from torch.optim.sgd import sgd

        with pytest.raises(NotImplementedError, match="found_inf"):
            sgd([], [], [], found_inf=torch.ones(1), **_ROWS["sgd"][1])
