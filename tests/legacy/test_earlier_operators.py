"""Operators that only job functions had: gradients, distributions, operators by their names."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow
import oneflow.typing as tp

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((4, 3, 5)).astype(np.float32)
DY = RANDOM.standard_normal((4, 3, 5)).astype(np.float32)


@pytest.mark.parametrize("axis", [1, 2, -1])
def test_gradients_of_layer_norm(axis):
    x = torch.tensor(X, requires_grad=True)
    shape = X.shape[axis % 3 :]
    gamma = torch.tensor(RANDOM.standard_normal(shape), dtype=torch.float32, requires_grad=True)
    beta = torch.zeros(shape, requires_grad=True)
    normal = torch.nn.functional.layer_norm(x, shape)
    normal.retain_grad()
    (normal * gamma + beta).backward(torch.tensor(DY))
    dims = tuple(range(axis % 3, 3))
    mean, rate = X.mean(dims), 1 / np.sqrt(X.var(dims) + 1e-5)
    gradients = flow.layers.layer_norm_param_grad(
        flow.tensor(DY),
        flow.tensor(normal.detach().numpy()),
        flow.tensor(gamma.detach().numpy()),
        axis,
    )
    for ours, theirs in zip(gradients, (normal.grad, beta.grad, gamma.grad), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-5)
    dx = flow.layers.layer_norm_grad(
        gradients[0], flow.tensor(X), flow.tensor(mean), flow.tensor(rate), axis
    )
    np.testing.assert_allclose(dx.numpy(), x.grad.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
@pytest.mark.parametrize(
    ("stride", "padding", "output_padding", "dilation"),
    [(1, 0, 0, 1), (2, 1, 1, 1), ((2, 3), (1, 0), (0, 2), (1, 2)), (3, 2, 2, 1)],
)
def test_transposed_convolution_of_pytorch(stride, padding, output_padding, dilation, data_format):
    x = torch.tensor(RANDOM.standard_normal((2, 4, 5, 6)), dtype=torch.float32)
    weight = torch.tensor(RANDOM.standard_normal((4, 3, 3, 2)), dtype=torch.float32)
    expected = torch.nn.functional.conv_transpose2d(
        x, weight, None, stride, padding, output_padding, dilation=dilation
    ).numpy()
    if data_format == "NHWC":
        x, weight, expected = x.permute(0, 2, 3, 1), weight.permute(0, 2, 3, 1), expected
        expected = expected.transpose(0, 2, 3, 1)
    both_sides = np.multiply(padding, 2).tolist()
    result = flow.nn.torch_conv2d_transpose(
        flow.tensor(x.numpy()),
        flow.tensor(weight.numpy()),
        output_padding,
        stride,
        both_sides,
        data_format,
        dilations=dilation,
    )
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_operators_by_name():
    @flow.experimental.register_user_op("joined_by_name")
    def joined(*blobs, axis):
        return flow.concat(blobs, axis)

    op = flow.builtin_op("joined_by_name").Input("in", 2).Output("out").Attr("axis", 1).Build()
    a, b = flow.ones(2, 1), flow.zeros(2, 2)
    assert op(a, b)[0].shape == (2, 3)
    assert op(a, a, axis=0)[0].shape == (4, 1)
    with pytest.raises(ValueError, match="`joined_by_name` takes 2 blobs, got 1"):
        op(a)
    with pytest.raises(ValueError, match="no operator `nothing`"):
        flow.stateful_op("nothing")
    with pytest.raises(ValueError, match="gives 1 results, and 2 were stated"):
        flow.stateful_op("relu").Input("x").Output("y", 2).Build()(a)


def test_distributions_of_blobs_and_gradients():
    flow.config.cpu_device_num(2)
    placed = []

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((4, 6))) -> tp.Numpy:
        columns = x.with_distribute(flow.distribute.split(1))
        placed.append((x.with_distribute(flow.distribute.auto()) is x, columns.parallel_size))
        return columns.with_gradient_distribute(flow.distribute.broadcast())

    x = RANDOM.standard_normal((4, 6)).astype(np.float32)
    np.testing.assert_array_equal(job(x), x)
    assert placed[-1] == (True, 2)
    labels = np.int32([1, 5, 0, 2])

    @flow.global_function()
    def losses(
        x: tp.Numpy.Placeholder((4, 6)), y: tp.Numpy.Placeholder((4,), dtype=flow.int32)
    ) -> tp.Numpy:
        logits = x.with_distribute(flow.distribute.split(1))
        return flow.nn.distributed_sparse_softmax_cross_entropy_with_logits(y, logits)

    expected = torch.nn.functional.cross_entropy(
        torch.tensor(x), torch.tensor(labels).long(), reduction="none"
    )
    np.testing.assert_allclose(losses(x, labels), expected.numpy(), rtol=1e-5)
    placement = flow.placement("cpu", [0, 1])
    whole = flow.tensor(x).to_global(placement, flow.sbp.broadcast)
    assert [tensor.shape for tensor in whole.numpy_list()] == [(4, 6), (4, 6)]
    parts = whole.to_global(sbp=flow.sbp.split(1)).numpy_list()
    np.testing.assert_array_equal(parts[1], x[:, 3:])
    with pytest.raises(TypeError, match="a distribution is"):
        flow.distribute.assert_is_valid_distribute("split")


def test_variables_and_layers_on_a_grid_of_devices():
    flow.config.cpu_device_num(4)
    placed = []

    def trained(placement):
        flow.clear_default_session()

        @flow.global_function(type="train")
        def job(x: tp.Numpy.Placeholder((4, 6))) -> tp.Numpy:
            with placement:
                initializer = flow.constant_initializer(0.5)
                weight = flow.get_variable(
                    "w", (6, 8), initializer=initializer, parallel_distribution=["B", "S(1)"]
                )
                hidden = flow.layers.dense(x, 6, kernel_initializer=initializer, name="dense")
                y = flow.matmul(hidden, weight)
                placed.append(weight)
            rate = flow.optimizer.PiecewiseConstantScheduler([], [0.1])
            flow.optimizer.SGD(rate, momentum=0.9).minimize(flow.math.square(y))
            return y

        return [job(X[:, 0, :1] * np.arange(1, 7, dtype=np.float32)) for _ in range(3)]

    grid = trained(flow.scope.placement("cpu", "0:0-3", (2, 2)))
    assert placed[-1].sbp == (flow.sbp.broadcast, flow.sbp.split(1))
    parts = [tensor.shape for tensor in flow.get_all_variables()["w"].numpy_list()]
    assert parts == [(6, 4)] * 4
    flow.clear_default_session()
    np.testing.assert_allclose(grid, trained(flow.scope.placement("cpu", "0:0")), rtol=1e-5)
    with pytest.raises(ValueError, match="give one per dimension"):
        trained(flow.scope.placement("cpu", "0:0-3", (2, 1, 2)))


def test_variables_of_batch_normalization_have_names_of_their_own():
    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((4, 6))) -> tp.Numpy:
        names = {f"{name}_name": name for name in ("gamma", "beta", "moving_mean")}
        y = flow.layers.batch_normalization(x, 1, name="bn", **names)
        flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.1])).minimize(y)
        return y

    job(RANDOM.standard_normal((4, 6)).astype(np.float32))
    assert list(flow.get_all_variables()) == ["beta", "bn-moving_variance", "gamma", "moving_mean"]


def test_arguments_by_their_earlier_names():
    x, y = flow.tensor([[1.0, 2.0]]), flow.tensor([[3.0, 2.0]])
    assert flow.math.pow(x=x, y=y, name="power").tolist() == [[1, 4]]
    assert flow.tile(input=x, reps=(2, 1), name="tiles").shape == (2, 2)
    assert flow.expand(x=x, expand_size=(2, 2), name="rows").shape == (2, 2)
    assert flow.squeeze(input=x, axis=[0], name="row").shape == (2,)
    assert flow.transpose(a=x, perm=[1, 0], name="column").shape == (2, 1)
    assert flow.linalg.matmul(a=x, b=y, transpose_b=True, name="product").tolist() == [[7]]
    assert flow.slice_v2(x=x, slice_tup_list=[[0, 1, 1], [1, 2, 1]], name="part").tolist() == [[2]]
    margins = flow.combined_margin_loss(x=x / 4, label=flow.tensor([1]), m1=1, m2=0, m3=0.25)
    np.testing.assert_allclose(margins.numpy(), [[0.25, 0.25]], rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("concat", {"axis": 0}, [1, 2, 3, 4]),
        ("stack", {"axis": 1}, [[1, 3], [2, 4]]),
        ("add_n", {}, [4, 6]),
        ("sub", {}, [-2, -2]),
    ],
)
def test_operators_of_several_blobs_of_one_name(name, attributes, expected):
    blobs = [flow.tensor([1, 2]), flow.tensor([3, 4])]
    op = flow.builtin_op(name).Input("in", 2).Output("out")
    for attribute, value in attributes.items():
        op.Attr(attribute, value)
    assert op.Build()(*blobs)[0].tolist() == expected
    built = flow.user_op_builder("op").Op(name).Input("in", blobs).Output("out")
    for attribute, value in attributes.items():
        built.Attr(attribute, value)
    assert built.Build().InferAndTryRun().SoleOutputBlob().tolist() == expected


def test_suppression_by_its_genuine_name_gives_flags():
    boxes = flow.tensor([[0.0, 0, 1, 1], [0, 0, 1, 1.1], [2, 2, 3, 3]])
    op = flow.builtin_op("nms").Input("in").Output("out").Attr("iou_threshold", 0.5)
    assert op.Attr("keep_n", -1).Build()(boxes)[0].tolist() == [1, 0, 1]
