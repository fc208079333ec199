"""Functions of job functions against NumPy and PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow.compatible import single_client

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 0.9, (3, 4)).astype(np.float32)
Y = RNG.uniform(0.1, 0.9, (3, 4)).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("abs", np.abs),
        ("acos", np.arccos),
        ("erf", lambda x: torch.erf(torch.tensor(x)).numpy()),
        ("negative", np.negative),
        ("reciprocal", np.reciprocal),
        ("relu", lambda x: np.maximum(x, 0)),
        ("rint", np.rint),
        ("rsqrt", lambda x: 1 / np.sqrt(x)),
        ("sigmoid_v2", lambda x: 1 / (1 + np.exp(-x))),
        ("softplus", lambda x: np.log1p(np.exp(x))),
        ("square", np.square),
        ("tanh_v2", np.tanh),
        ("argmax", lambda x: x.argmax(-1)),
        ("reduce_sum", np.sum),
        ("reduce_mean", np.mean),
        ("reduce_max", np.max),
        ("reduce_min", np.min),
        ("reduce_prod", np.prod),
        ("reduce_std", np.std),
        ("reduce_variance", np.var),
        ("reduce_euclidean_norm", np.linalg.norm),
        ("reduce_logsumexp", lambda x: np.log(np.exp(x).sum())),
    ],
)
def test_functions_of_one_tensor(name, expected):
    result = getattr(flow.math, name)(flow.tensor(X), name="some_name")
    np.testing.assert_allclose(result.numpy(), expected(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("add", np.add),
        ("divide", np.divide),
        ("equal", np.equal),
        ("fmod", np.fmod),
        ("greater_equal", np.greater_equal),
        ("less", np.less),
        ("maximum", np.maximum),
        ("multiply", np.multiply),
        ("not_equal", np.not_equal),
        ("pow", np.power),
        ("squared_difference", lambda x, y: (x - y) ** 2),
        ("subtract", np.subtract),
    ],
)
def test_functions_of_two_tensors(name, expected):
    result = getattr(flow.math, name)(flow.tensor(X), flow.tensor(Y))
    np.testing.assert_allclose(result.numpy(), expected(X, Y), rtol=1e-5)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "std", "variance"])
def test_reductions_of_dimensions(name):
    ours = getattr(flow.math, f"reduce_{name}")(flow.tensor(X), axis=[1], keepdims=True)
    numpy = {"variance": "var"}.get(name, name)
    np.testing.assert_allclose(ours.numpy(), getattr(np, numpy)(X, 1, keepdims=True), rtol=1e-5)


def test_losses():
    logits = RNG.standard_normal((5, 3), np.float32)
    labels = np.array([0, 2, 1, 1, 0])
    expected = torch.nn.functional.cross_entropy(
        torch.tensor(logits), torch.tensor(labels), reduction="none"
    )
    blobs = flow.tensor(logits), flow.tensor(labels)
    for given in (blobs, blobs[::-1]):
        ours = flow.nn.sparse_softmax_cross_entropy_with_logits(*given)
        np.testing.assert_allclose(ours.numpy(), expected.numpy(), rtol=1e-5)
    one_hot = np.eye(3, dtype=np.float32)[labels]
    ours = flow.nn.softmax_cross_entropy_with_logits(flow.tensor(one_hot), blobs[0])
    np.testing.assert_allclose(ours.numpy(), expected.numpy(), rtol=1e-5)
    with pytest.raises(TypeError, match="labels must be integers"):
        flow.nn.sparse_softmax_cross_entropy_with_logits(blobs[0], blobs[0])


def test_names_that_mean_something_else_today():
    flow_x = flow.arange(24).reshape(2, 3, 4)
    x = flow_x.numpy()
    index = np.array([[1, 0], [2, 2]])
    np.testing.assert_array_equal(
        single_client.gather(flow_x, flow.tensor(index), axis=1).numpy(), x[:, index]
    )
    batched = single_client.gather(flow_x, flow.tensor(index), batch_dims=1).numpy()
    np.testing.assert_array_equal(batched, np.stack([x[0][index[0]], x[1][index[1]]]))
    # OneFlow's BERT counts a dimension too many.
    counted = single_client.gather(flow_x, flow.tensor(index), axis=2, batch_dims=2).numpy()
    np.testing.assert_array_equal(counted, batched)
    rows = single_client.gather(flow_x, flow.tensor(index), axis=2, batch_dims=1).numpy()
    np.testing.assert_array_equal(rows, np.stack([x[0][:, index[0]], x[1][:, index[1]]]))
    padded = single_client.pad(flow_x, [(0, 1), (2, 0), (0, 0)], constant_value=7)
    expected = np.pad(x, [(0, 1), (2, 0), (0, 0)], constant_values=7)
    np.testing.assert_array_equal(padded.numpy(), expected)
    part = single_client.slice(flow_x, [None, 1, -2], [1, -1, 2])
    np.testing.assert_array_equal(part.numpy(), x[:1, 1:, -2:])
    with pytest.raises(ValueError, match="not within the size 4"):
        single_client.slice(flow_x, [0, 0, 3], [2, 3, 2])
    with pytest.raises(ValueError, match="max_dim_size=1"):
        single_client.concat([flow.ones(1), flow.ones(1)], max_dim_size=1)
    assert single_client.abs is flow.abs
    assert single_client.typing.Numpy is flow.typing.Numpy


def test_sums_of_segments():
    rng = np.random.default_rng(0)
    data, ids = rng.standard_normal((4, 5, 3), np.float32), rng.integers(0, 6, 5)
    expected = np.zeros((4, 6, 3), np.float32)
    np.add.at(expected, (slice(None), ids), data)
    x, at = flow.tensor(data, requires_grad=True), flow.tensor(ids)
    found = flow.math.unsorted_segment_sum(x, at, 6, axis=1)
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-5, atol=1e-6)
    found.sum().backward()
    assert (x.grad == 1).all()
    like = flow.unsorted_segment_sum_like(x, at, found, axis=1)
    np.testing.assert_array_equal(like.detach().numpy(), found.detach().numpy())
    two = np.zeros((6, 3), np.float32)
    np.add.at(two, ids[:4].reshape(2, 2), data[0, :4].reshape(2, 2, 3))
    pairs = flow.unsorted_segment_sum(
        flow.tensor(data[0, :4].reshape(2, 2, 3)), at[:4].reshape(2, 2), 6
    )
    np.testing.assert_allclose(pairs.numpy(), two, rtol=1e-5, atol=1e-6)
    rows = rng.integers(0, 6, (4, 5))
    sums = np.stack([np.zeros((6, 3), np.float32)] * 4)
    for sample in range(4):
        np.add.at(sums[sample], rows[sample], data[sample])
    batch = flow.unsorted_batch_segment_sum(flow.tensor(data), flow.tensor(rows), 6)
    np.testing.assert_allclose(batch.numpy(), sums, rtol=1e-5, atol=1e-6)


def test_quotients_without_nan():
    x = flow.tensor([0.0, 2.0, -4.0], requires_grad=True)
    flow.math.reciprocal_no_nan(x).sum().backward()
    assert x.grad.tolist() == [0.0, -0.25, -0.0625]
    y = flow.tensor([0.0, 0.0, 2.0])
    assert flow.math.xdivy(x, y).tolist() == [0.0, float("inf"), -2.0]
    assert flow.math.polyval([2.0, 0.0, 1.0], y).tolist() == [1.0, 1.0, 9.0]
    norms = flow.math.l2_normalize(flow.tensor([[3.0, 0.0], [4.0, 0.0]]), axis=0)
    np.testing.assert_allclose(norms.numpy(), [[0.6, 0], [0.8, 0]], rtol=1e-6)


def test_earlier_arguments_of_sorting():
    x = flow.tensor([[3.0, 1.0, 2.0]])
    assert single_client.sort(x, axis=1).tolist() == [[1.0, 2.0, 3.0]]
    positions = single_client.argsort(x, axis=-1, direction="DESCENDING")
    assert (positions.tolist(), positions.dtype) == ([[0, 2, 1]], flow.int32)
    with pytest.raises(ValueError, match="'ASCENDING' or 'DESCENDING'"):
        single_client.sort(x, direction="up")


def test_uniform_complex_numbers_are_those_of_nn_init():
    def drawn(fill):
        flow.manual_seed(0)
        try:
            return fill(flow.empty(4, dtype=flow.complex64)).tolist()
        except RuntimeError as error:
            return str(error)

    expected = drawn(lambda tensor: flow.nn.init.uniform_(tensor, -1, 2))
    assert drawn(flow.random_uniform_initializer(-1, 2)) == expected


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_uniform_integers_of_initializers(dtype):
    kind = getattr(flow, dtype)
    fill = flow.random_uniform_initializer(-1, 2, dtype=kind)
    drawn = fill(flow.empty(400, dtype=kind))
    assert drawn.dtype is kind
    assert sorted(set(drawn.tolist())) == [-1, 0, 1, 2]

    @flow.global_function()
    def labels() -> flow.typing.Numpy:
        ones = flow.random_uniform_initializer(dtype=kind)
        return flow.data.decode_random((1,), kind, batch_size=64, initializer=ones)

    assert set(labels().ravel().tolist()) == {0, 1}
