"""Cross entropy of a linear layer in chunks: no matrix of logits, and gradients as without."""

import jax
import numpy as np
import pytest

import oneflow as flow
import oneflow.nn.functional as F
from oneflow.base.x64 import in_x64
from oneflow.primitives.operators import linear_cross_entropy as primitives

ROWS, FEATURES, CLASSES, CHUNK = 96, 8, 40, 16


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
def test_the_matrix_of_logits_never_exists(backward):
    @in_x64
    def program():
        def losses(x, weight, labels):
            arguments = {"has_bias": False, "ignore_index": -100, "chunk": CHUNK}
            if not backward:
                return primitives._losses(x, weight, labels, **arguments)
            return primitives._losses_backward(x[:, 0], x, weight, labels, **arguments)

        shapes = ((ROWS, FEATURES), (CLASSES, FEATURES))
        arrays = [jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes]
        labels = jax.ShapeDtypeStruct((ROWS,), np.int64)
        return jax.jit(losses).lower(*arrays, labels).as_text()

    text = program()
    assert f"tensor<{CHUNK}x{CLASSES}xf32>" in text
    assert f"tensor<{ROWS}x{CLASSES}" not in text


def test_gradients_of_gradients():
    x = flow.randn(6, 4, dtype=flow.float64, requires_grad=True)
    weight = flow.randn(5, 4, dtype=flow.float64, requires_grad=True)
    labels = flow.tensor([0, 4, 2, -100, 1, 1])
    found = []
    for options in (None, flow.nn.LinearCrossEntropyOptions(batch_chunk_size=4)):
        loss = F.linear_cross_entropy(x, weight, labels, options=options)
        first = flow.autograd.grad(loss, (x, weight), create_graph=True)
        total = sum(tensor.square().sum() for tensor in first)
        found.append([loss, *first, *flow.autograd.grad(total, (x, weight))])
    for whole, chunked in zip(*found, strict=True):
        np.testing.assert_allclose(chunked.numpy(), whole.numpy(), rtol=1e-9, atol=1e-12)


def test_rows_split_over_devices_sum_the_gradient_of_the_weight():
    devices = flow.placement("cpu", [0, 1])
    x, weight = flow.randn(10, 4), flow.randn(5, 4)
    labels = flow.randint(0, 5, (10,))
    options = flow.nn.LinearCrossEntropyOptions(batch_chunk_size=2)

    def gradients(x, weight, labels):
        x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
        loss = F.linear_cross_entropy(x, weight, labels, options=options)
        loss.backward()
        return loss, x.grad, weight.grad

    split, whole = flow.sbp.split(0), flow.sbp.broadcast
    laid = [tensor.to_global(devices, whole) for tensor in (x, weight, labels)]
    laid = [laid[0].to_global(sbp=split), laid[1], laid[2].to_global(sbp=split)]
    for one, other in zip(gradients(x, weight, labels), gradients(*laid), strict=True):
        np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-5, atol=1e-6)


def test_labels_that_are_no_classes():
    options = flow.nn.LinearCrossEntropyOptions(batch_chunk_size=2)
    x, weight = flow.randn(3, 4), flow.randn(5, 4)
    for label in (5, -1):
        with pytest.raises(IndexError, match=f"Target {label} is out of bounds"):
            F.linear_cross_entropy(x, weight, flow.tensor([0, label, 1]), options=options).item()


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({"batch_chunk_size": 7}, 7),
        ({"chunking_method": None}, 1000),
        ({"chunking_method": "aspect_ratio"}, 128),
        ({"chunking_method": "aspect_ratio:4"}, 32),
        ({}, 256),
    ],
)
def test_rows_of_a_chunk(options, rows):
    weight = flow.empty(5000, 500)
    assert flow.nn.LinearCrossEntropyOptions(**options).rows_of_chunk(1000, weight) == rows


@pytest.mark.parametrize(
    "options",
    [{"batch_chunk_size": 0}, {"chunking_method": "aspect_ratio:0"}, {"chunking_method": "rows"}],
)
def test_options_that_cannot_be(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))}"):
        flow.nn.LinearCrossEntropyOptions(**options)


REFUSED = {
    "labels of one sample": {"target": flow.tensor([[0, 1, 2]])},
    "labels of two samples": {"target": flow.tensor([0, 1])},
    "dtype of the layer": {"linear_weight": flow.ones(4, 5, dtype=flow.float64)},
    "weights of five classes": {"weight": flow.ones(5)},
    "weights in two dimensions": {"weight": flow.ones(4, 1)},
}


@pytest.mark.parametrize("name", REFUSED)
def test_chunks_are_refused_what_the_whole_matrix_is(name):
    arguments = {"linear_weight": flow.ones(4, 5), "target": flow.tensor([0, 1, 2])}
    arguments |= REFUSED[name]
    refusals = []
    for options in (None, flow.nn.LinearCrossEntropyOptions(batch_chunk_size=2)):
        with pytest.raises((RuntimeError, ValueError)) as refusal:
            F.linear_cross_entropy(flow.ones(3, 5), **arguments, options=options)
        refusals.append((refusal.type, str(refusal.value).rpartition(": ")[2]))
    assert refusals[1] == refusals[0]


def test_options_without_effect_say_so():
    x, weight = flow.randn(3, 4), flow.randn(5, 4)
    options = flow.nn.LinearCrossEntropyOptions()
    with pytest.warns(UserWarning, match="``options`` ignored"):
        F.linear_cross_entropy(
            x, weight, flow.tensor([0, 1, 2]), label_smoothing=0.1, options=options
        )


def test_the_layer_has_pytorchs_state_and_text():
    options = flow.nn.LinearCrossEntropyOptions(batch_chunk_size=2)
    layer = flow.nn.LinearCrossEntropyLoss(4, 5, out_features=(2,), bias=True)
    assert {name: tuple(tensor.shape) for name, tensor in layer.state_dict().items()} == {
        "linear.weight": (10, 4),
        "linear.bias": (10,),
    }
    assert layer(flow.randn(3, 4), flow.randint(0, 5, (3, 2))).shape == ()
    chunked = flow.nn.LinearCrossEntropyLoss(4, 5, options=options)
    assert "batch_chunk_size=2" in repr(chunked)
    with pytest.raises(RuntimeError, match="expected weight shape"):
        flow.nn.LinearCrossEntropyLoss(4, 5, weight=flow.ones(4))
