"""Functions under PyTorch's names: aliases at the top level, and in-place forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow

# Functions of `nn.functional` that PyTorch has at its top level, too.
LAYERS = [
    "avg_pool1d",
    "bilinear",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_similarity",
    "dropout",
    "group_norm",
    "hardshrink",
    "layer_norm",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "prelu",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "selu_",
    "threshold_",
]
X = np.array([[-2.0, -0.4, 0.3], [1.5, 2.0, -1.0]], np.float32)
# In-place functions with what they take beside the tensor.
INPLACE: dict[str, tuple] = {
    "celu_": (),
    "fill_": (2.0,),
    "nn.functional.celu_": (1.5,),
    "nn.functional.elu_": (0.5,),
    "nn.functional.hardtanh_": (-0.5, 1.0),
    "nn.functional.leaky_relu_": (0.2,),
    "nn.functional.relu_": (),
    "nn.functional.selu_": (),
    "nn.functional.threshold_": (0.1, 7.0),
    "relu_": (),
    "rrelu_": (0.25, 0.25),
    "selu_": (),
    "sigmoid_": (),
    "tanh_": (),
    "threshold_": (0.1, 7.0),
    "zero_": (),
}


def found(library: Any, path: str) -> Any:
    """The function of that path in a library."""
    for part in path.split("."):
        library = getattr(library, part)
    return library


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_the_same_at_the_top_level(name: str) -> None:
    assert found(flow, name) is found(flow.nn.functional, name)
    assert hasattr(torch, name)


@pytest.mark.parametrize("path", INPLACE)
def test_inplace_functions_change_their_argument(path: str) -> None:
    mine, theirs = flow.tensor(X), torch.tensor(X)
    assert found(flow, path)(mine, *INPLACE[path]) is mine
    found(torch, path)(theirs, *INPLACE[path])
    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-6)


def test_inplace_functions_have_gradients() -> None:
    x = flow.tensor(X, requires_grad=True)
    y = x * 1
    flow.nn.functional.elu_(y)
    y.sum().backward()
    theirs = torch.tensor(X, requires_grad=True)
    torch.nn.functional.elu(theirs).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), theirs.grad.numpy(), rtol=1e-6)


def test_inplace_forms_of_dropout() -> None:
    for name in ("dropout_", "alpha_dropout_", "feature_alpha_dropout_"):
        x = flow.ones(4, 3)
        assert found(flow, name)(x, 0.0, True) is x
        np.testing.assert_array_equal(x.numpy(), np.ones((4, 3)))
    assert flow.dropout_(flow.ones(4), 1.0).sum().item() == 0


def test_statistics_come_last_at_the_top_level() -> None:
    shapes = {"weight": 3, "bias": 3, "running_mean": 3, "running_var": 3}
    arrays = {name: np.linspace(0.5, 2, n).astype(np.float32) for name, n in shapes.items()}
    x = np.random.default_rng(0).normal(size=(4, 3, 5)).astype(np.float32)
    for name in ("batch_norm", "instance_norm"):
        results = []
        for library in (flow, torch):
            given = [library.tensor(each) for each in arrays.values()]
            y = found(library, name)(library.tensor(x), *given, True, 0.1, 1e-5, True)
            results.append([y.numpy(), given[2].numpy(), given[3].numpy()])
        for mine, theirs in zip(*results, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)


def test_tables_come_first_at_the_top_level() -> None:
    table, rows = np.arange(6, dtype=np.float32).reshape(3, 2), [[0, 2], [1, 1]]
    mine = flow.embedding(flow.tensor(table), flow.tensor(rows))
    theirs = torch.embedding(torch.tensor(table), torch.tensor(rows))
    np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def test_detached_tensors() -> None:
    x = flow.ones(2, requires_grad=True)
    assert not flow.detach(x).requires_grad
    y = x * 2
    assert flow.detach_(y) is y
    assert not y.requires_grad
