"""Calls in bodies of jobs with the arguments, and the results, of OneFlow 0.1 to 0.4."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

import oneflow as flow
import oneflow.typing as tp

X = np.float32([[3, -1, 2, 0], [0.5, 5, -4, 1], [-2, 7, 6, -3]])
T = torch.tensor(X)
SIGMOID = torch.sigmoid(T)
NAME = '"operator"'
IMAGES = "flow.reshape(x, (1, 4, 3, 1))"

# The call of `x`, which is X, and what NumPy and PyTorch say of it.
CALLS = {
    f'flow.sort(x, -1, "DESCENDING", {NAME})': -np.sort(-X),
    'flow.sort(input=x, axis=0, direction="ASCENDING", name="sorted")': np.sort(X, 0),
    "flow.sort(x)": np.sort(X),
    f'flow.argsort(x, 1, "DESCENDING", {NAME})': np.argsort(-X).astype(np.int32),
    "flow.argsort(x, axis=0)": np.argsort(X, 0).astype(np.int32),
    f"flow.concat([x, x], 1, None, {NAME})": np.concatenate([X, X], 1),
    "flow.concat(values=[x, x], axis=0, max_dim_size=6)": np.concatenate([X, X]),
    f"flow.gather(x, flow.argsort(x, 0)[0], None, 0, 0, {NAME})": X[np.argsort(X, 0)[0]],
    "flow.gather(params=x, indices=flow.argsort(x, 0)[0], axis=1)": X[:, np.argsort(X, 0)[0]],
    "flow.gather(x, flow.argsort(x), axis=1, batch_dims=1)": np.sort(X),
    f"flow.pad(x, [[1, 0], (0, 2)], 9.0, {NAME})": np.pad(X, ((1, 0), (0, 2)), constant_values=9),
    "flow.pad(x=x, paddings=((0, 0), (1, 1)), constant_value=2)": np.pad(
        X, ((0, 0), (1, 1)), constant_values=2
    ),
    f"flow.slice(x, [0, None], [2, 3], {NAME})": X[:2, :3],
    "flow.slice(x, begin=[1, -2], size=[-1, 2])": X[1:, -2:],
    f"flow.transpose(x, [1, 0], False, False, {NAME})": X.T,
    "flow.transpose(a=x, perm=(1, 0), conjugate=False, batch_axis_non_change=True)": X.T,
    "flow.transpose(x)": X.T,
    f"flow.ones((2, 3), flow.int32, {NAME})": np.ones((2, 3), np.int32),
    "flow.ones([2])": np.ones(2, np.float32),
    "flow.zeros((2, 3), flow.float64)": np.zeros((2, 3)),
    f"flow.ones_like(x, flow.int32, {NAME})": np.ones_like(X, np.int32),
    f"flow.zeros_like(x, None, {NAME})": np.zeros_like(X),
    f"flow.scatter_nd(flow.argsort(x, 0)[:, :1], x[:, 0], [4], {NAME})": np.float32([0.5, -2, 3, 0])
    * 0
    + np.float32([X[np.argsort(X, 0)[:, 0] == i, 0].sum() for i in range(4)]),
    "flow.clamp(values=x, min_value=-1, max_value=2)": X.clip(-1, 2),
    f"flow.nn.swish(x, 2.0, {NAME})": T * torch.sigmoid(2 * T),
    "flow.nn.swish(x, beta=1)": torch.nn.functional.silu(T),
    f"flow.math.tril(x, 0, -1.0, {NAME})": np.where(np.tri(3, 4), X, -1).astype(np.float32),
    f'flow.nn.L1Loss(x, x * 2, "sum", {NAME})': torch.nn.functional.l1_loss(
        T, 2 * T, reduction="sum"
    ),
    'flow.nn.MSELoss(input=x, target=x * 2, reduction="none")': T**2,
    "flow.nn.BCELoss(flow.math.sigmoid(x), flow.ones_like(x))": -SIGMOID.log().mean(),
    'flow.nn.BCEWithLogitsLoss(x, flow.ones_like(x), None, x * 0 + 2, "none")': -2
    * torch.nn.functional.logsigmoid(T),
    'flow.nn.KLDivLoss(x, flow.math.sigmoid(x), False, "sum")': torch.nn.functional.kl_div(
        T, SIGMOID, reduction="sum"
    ),
    "flow.nn.KLDivLoss(x, x, log_target=True)": torch.zeros(()),
    "flow.nn.MarginRankingLoss(x, x * 2, flow.ones_like(x), 0.5)": (T + 0.5).clamp(min=0).mean(),
    'flow.nn.TripletMarginLoss(x, x + 1, x - 2, 4.0, reduction="sum")': 6.0,
    "flow.nn.PixelShuffle(flow.reshape(x, (1, 4, 3, 1)), 2)": torch.nn.functional.pixel_shuffle(
        T.reshape(1, 4, 3, 1), 2
    ),
    f"flow.nn.GroupNorm({IMAGES}, num_groups=2, affine=False)": torch.nn.functional.group_norm(
        T.reshape(1, 4, 3, 1), 2
    ),
    f'flow.nn.GroupNorm({IMAGES}, 2, 1e-5, True, "grouped")': torch.nn.functional.group_norm(
        T.reshape(1, 4, 3, 1), 2
    ),
    f"flow.nn.InstanceNorm2d({IMAGES}, name='normed')": torch.nn.functional.instance_norm(
        T.reshape(1, 4, 3, 1)
    ),
    "flow.nn.InstanceNorm1d(flow.reshape(x, (1, 4, 3)), 0.1, False)": (
        torch.nn.functional.instance_norm(T.reshape(1, 4, 3), eps=0.1)
    ),
    # Calls of today are what they are in the bodies of jobs, too.
    "flow.sort(x, dim=1, descending=True)[0]": -np.sort(-X),
    "flow.sort(x, -1, True)[1]": np.argsort(-X),
    "flow.cat((x, x), dim=1)": np.concatenate([X, X], 1),
    "flow.gather(x, 1, flow.argsort(x, dim=1))": np.sort(X),
    "flow.pad(x, (1, 2))": np.pad(X, ((0, 0), (1, 2))),
    "flow.slice(x, [(0, 2, 1), (0, 4, 2)])": X[:2, ::2],
    "flow.transpose(x, 0, 1)": X.T,
    "flow.ones(2, 3)": np.ones((2, 3), np.float32),
    "flow.zeros((2,), dtype=flow.int8)": np.zeros(2, np.int8),
    "flow.nn.swish(x)": torch.nn.functional.silu(T),
    "flow.tril(x, 1)": np.tril(X, 1),
    'flow.nn.L1Loss("sum")(x, x * 2)': torch.nn.functional.l1_loss(T, 2 * T, reduction="sum"),
    "x.sort().values": np.sort(X),
    "x.sort(1)[1]": np.argsort(X),
    "flow.Tensor.argsort(x)": np.argsort(X),
    "flow.nn.L1Loss(None, None)(x, x * 2)": T.abs().mean(),
    'flow.nn.MSELoss(None, None, "sum")(x, x * 2)': (T**2).sum(),
    'flow.nn.BCELoss(flow.ones(4), "sum")(flow.sigmoid(x), x * 0 + 1)': -SIGMOID.log().sum(),
    'flow.nn.BCEWithLogitsLoss(None, "sum")(x, x * 0 + 1)': -SIGMOID.log().sum(),
    'flow.nn.KLDivLoss(None, None, "sum")(x, flow.sigmoid(x))': torch.nn.functional.kl_div(
        T, SIGMOID, reduction="sum"
    ),
    "flow.nn.MarginRankingLoss(0.5, None, None)(x, x * 2, x * 0 + 1)": (T + 0.5)
    .clamp(min=0)
    .mean(),
    "flow.nn.TripletMarginLoss(4.0, 2.0, 1e-6)(x, x + 1, x - 2)": 2.0,
    "flow.nn.GroupNorm(2, 4, affine=False)(flow.reshape(x, (1, 4, 3, 1)))": (
        torch.nn.functional.group_norm(T.reshape(1, 4, 3, 1), 2)
    ),
}


@pytest.fixture(scope="module")
def results():
    """The results of all calls in the body of one job."""

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder(X.shape)) -> tuple[(tp.Numpy,) * len(CALLS)]:
        return tuple(eval(call, {"flow": flow, "x": x}) for call in CALLS)

    values = dict(zip(CALLS, job(X), strict=True))
    flow.clear_default_session()
    return values


@pytest.mark.parametrize("call", CALLS)
def test_calls_in_jobs_have_the_arguments_of_their_time(call, results):
    expected = np.asarray(CALLS[call])
    if expected.shape:
        assert results[call].dtype == expected.dtype
        assert results[call].shape == expected.shape
    np.testing.assert_allclose(results[call], expected, rtol=2e-5, atol=2e-6)


def test_normalizations_of_jobs_have_variables():
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((1, 4, 3))) -> tp.Numpy:
        return flow.nn.GroupNorm(flow.nn.InstanceNorm1d(x, name="one"), 2, name="two")

    job(X.reshape(1, 4, 3))
    assert {name: tuple(value.shape) for name, value in flow.get_all_variables().items()} == {
        f"{name}_{part}": (1, 4, 1) for name in ("one", "two") for part in ("gamma", "beta")
    }
    flow.clear_default_session()


def test_outside_of_jobs_names_mean_what_they_mean_today():
    values, positions = flow.sort(flow.tensor([2, 1]))
    assert (values.tolist(), positions.tolist()) == ([1, 2], [1, 0])
    assert isinstance(flow.nn.MSELoss("sum"), flow.nn.MSELoss)
    with pytest.raises(TypeError):
        flow.nn.MSELoss(flow.ones(2), flow.ones(2))
    with pytest.raises(TypeError):
        flow.sort(flow.ones(2), -1, "DESCENDING")


def test_errors_in_jobs_are_those_of_today():
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        with pytest.raises(ValueError, match="upscale_factor"):
            flow.nn.PixelShuffle(2, 2)
        with pytest.raises(TypeError, match=r"slice\(\) takes"):
            flow.slice(x, [(0, 2, 1)], None)
        with pytest.raises(TypeError, match=r"cat\(\): argument 'tensors' must be tuple"):
            flow.concat(x)
        return x

    job(np.float32([1, 2]))
    flow.clear_default_session()


def test_classes_beside_a_loss_get_its_arguments():
    class Noted:
        def __new__(cls, reduction):
            created = super().__new__(cls)
            created.noted = reduction
            return created

    class Mine(flow.nn.L1Loss, Noted):
        pass

    assert (Mine("sum").noted, Mine("sum").reduction) == ("sum", "sum")


def test_other_threads_are_outside_of_the_job():
    results = []

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        thread = threading.Thread(target=lambda: results.append(flow.sort(flow.tensor([2, 1]))))
        thread.start()
        thread.join()
        return x

    job(np.float32([1, 2]))
    assert results[0].values.tolist() == [1, 2]
    flow.clear_default_session()


@pytest.mark.parametrize("function", [flow.nonzero, lambda x: x.numpy(), lambda x: x[x > 0]])
def test_values_are_not_read_in_bodies(function):
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        return function(x)

    with pytest.raises(RuntimeError, match="job `job`: a blob's value was read in its body"):
        job(np.float32([1, 2]))
    flow.clear_default_session()
