"""Features named by the list of concepts: tensors, placeholders, blobs, job functions and views."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow
import oneflow.typing as tp

BATCH_SIZE = 32


pytestmark = pytest.mark.usefixtures("fresh_session")


def _images():
    rng = np.random.default_rng(0)
    images = rng.standard_normal((BATCH_SIZE, 1, 28, 28), np.float32)
    return images, rng.integers(0, 10, BATCH_SIZE).astype(np.int32)


def test_s002_01_placeholder_describes_shape_and_dtype():
    placeholder = tp.Numpy.Placeholder((32, 1, 28, 28), dtype=flow.float)
    assert (placeholder.shape, placeholder.dtype) == ((32, 1, 28, 28), flow.float32)

    @flow.global_function()
    def job(x: placeholder) -> tp.Numpy:
        return x

    with pytest.raises(ValueError, match=r"`x` must have the shape \(32, 1, 28, 28\)"):
        job(np.zeros((32, 1, 28, 27), np.float32))
    with pytest.raises(TypeError, match=r"`x` must be an array of"):
        job(np.zeros((32, 1, 28, 28), np.complex64))
    assert job(np.zeros((32, 1, 28, 28))).dtype == np.float32


def test_s002_02_two_placeholders_and_a_tuple():
    @flow.global_function()
    def test_job(
        images: tp.Numpy.Placeholder((32, 1, 28, 28), dtype=flow.float),
        labels: tp.Numpy.Placeholder((32,), dtype=flow.int32),
    ) -> tuple[tp.Numpy, tp.Numpy]:
        return (images, labels)

    images, labels = _images()
    for result, given in zip(test_job(images, labels), (images, labels), strict=True):
        assert result.dtype == given.dtype
        np.testing.assert_array_equal(result, given)


def _perceptron(images):
    initializer = flow.truncated_normal(0.1)
    x = flow.reshape(images, [images.shape[0], -1])
    hidden = flow.layers.dense(
        x, 512, activation=flow.nn.relu, kernel_initializer=initializer, name="hidden"
    )
    return flow.layers.dense(hidden, 10, kernel_initializer=initializer, name="logits")


def _train_job(learning_rate=0.1, config=None):
    @flow.global_function(type="train", function_config=config)
    def train_job(
        images: tp.Numpy.Placeholder((BATCH_SIZE, 1, 28, 28), dtype=flow.float),
        labels: tp.Numpy.Placeholder((BATCH_SIZE,), dtype=flow.int32),
    ) -> tp.Callback[tp.Numpy]:
        logits = _perceptron(images)
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(logits, labels)
        schedule = flow.optimizer.PiecewiseConstantScheduler([], [learning_rate])
        flow.optimizer.SGD(schedule, momentum=0).minimize(loss)
        return loss

    return train_job


def _losses(job, count, images, labels):
    losses = []
    for _ in range(count):
        job(images, labels)(lambda loss: losses.append(loss.mean()))
    return losses


def test_s002_03_one_placeholder_for_training_and_prediction():
    placeholder = tp.Numpy.Placeholder((4, 3))

    @flow.global_function(type="train")
    def train(x: placeholder) -> tp.Numpy:
        loss = flow.layers.dense(x, 2, kernel_initializer=flow.ones_initializer(), name="d")
        schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.1])
        flow.optimizer.SGD(schedule).minimize(loss)
        return loss

    @flow.global_function(type="predict")
    def predict(x: placeholder) -> tp.Numpy:
        return flow.layers.dense(x, 2, name="d")

    x = np.ones((4, 3), np.float32)
    before = train(x)
    assert predict(x).max() < before.min()


def test_s002_04_tensor():
    x = flow.tensor([[1.0, 2.5]])
    assert isinstance(x, flow.Tensor)
    assert (x.shape, x.dtype, x.tolist()) == ((1, 2), flow.float32, [[1.0, 2.5]])


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param("BoolTensor", flow.bool, id="s002_05"),
        pytest.param("ByteTensor", flow.uint8, id="s002_06"),
        pytest.param("CharTensor", flow.int8, id="s002_07"),
        pytest.param("DoubleTensor", flow.float64, id="s002_08"),
        pytest.param("FloatTensor", flow.float32, id="s002_09"),
        pytest.param("HalfTensor", flow.float16, id="s002_10"),
        pytest.param("IntTensor", flow.int32, id="s002_11"),
        pytest.param("LongTensor", flow.int64, id="s002_12"),
    ],
)
def test_tensor_types(name, dtype):
    x = getattr(flow, name)([1, 0])
    assert x.dtype is dtype
    assert x.type() == f"oneflow.{name}"
    assert x.tolist() == [1, 0]


def test_s002_13_from_a_list():
    x = flow.tensor([[1.0, -1.0], [1.0, -1.0]], dtype=flow.float32)
    assert x.dtype is flow.float32
    assert x.tolist() == [[1.0, -1.0], [1.0, -1.0]]


def test_s002_14_from_an_array():
    x = flow.tensor(np.array([[1, 2, 3], [4, 5, 6]]), dtype=flow.int64)
    assert x.dtype is flow.int64
    assert x.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_s002_15_index_and_modify():
    x = flow.tensor([[1, 2, 3], [4, 5, 6]])
    assert x[1][2].item() == 6
    x[0][1] = 8
    assert x.tolist() == [[1, 8, 3], [4, 5, 6]]


def test_s002_16_autograd():
    x = flow.tensor([2.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.item() == 4


def test_s002_17_blob():
    seen = []

    @flow.global_function()
    def job(images: tp.Numpy.Placeholder((32, 1, 28, 28))) -> tp.Numpy:
        seen.append((images.shape, images.dtype, type(images) is type(images + 1)))
        return images + 1

    images, _ = _images()
    np.testing.assert_array_equal(job(images), images + 1)
    assert seen[0] == ((32, 1, 28, 28), flow.float32, True)


@pytest.mark.parametrize("dim", [0, 1])
def test_s002_18_distribution_of_a_blob(dim):
    flow.config.cpu_device_num(2)
    blobs = []

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((4, 4))) -> tp.Numpy:
        x = x.with_distribute(flow.distribute.split(dim))
        blobs.append((x.sbp, x.placement.ranks.tolist()))
        return x * 2

    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    np.testing.assert_array_equal(job(x), x * 2)
    assert blobs[0] == ((flow.sbp.split(dim),), [0, 1])


def test_s002_19_job_takes_and_returns_arrays():
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        return x * 3

    result = job(np.float32([1, 2]))
    assert isinstance(result, np.ndarray)
    assert result.tolist() == [3, 6]


def test_s002_20_training_a_perceptron():
    losses = _losses(_train_job(), 20, *_images())
    assert len(losses) == 20
    assert losses[-1] < 0.1 * losses[0]


def test_s002_20_without_an_optimizer_it_runs_forward():
    @flow.global_function(type="train")
    def train_job(
        images: tp.Numpy.Placeholder((BATCH_SIZE, 1, 28, 28), dtype=flow.float),
        labels: tp.Numpy.Placeholder((BATCH_SIZE,), dtype=flow.int32),
    ) -> tp.Callback[tp.Numpy]:
        return flow.nn.sparse_softmax_cross_entropy_with_logits(_perceptron(images), labels)

    first, second = _losses(train_job, 2, *_images())
    assert first == second


def test_s002_21_callback_gets_the_result_once():
    results = []
    images, labels = _images()
    _train_job()(images, labels)(results.append)
    assert [type(result) for result in results] == [np.ndarray]


def test_s002_22_definition_has_shapes_and_no_data():
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        assert x.shape == (2, 3)
        return flow.tensor(x.numpy())

    with pytest.raises(RuntimeError, match="value"):
        job(np.zeros((2, 3), np.float32))


def test_s002_22_a_job_is_defined_once():
    definitions = []

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        definitions.append(x.shape)
        return x * 3

    job(np.zeros(2, np.float32))
    before = len(definitions)
    assert before > 0
    assert job(np.float32([1, 2])).tolist() == [3, 6]
    assert len(definitions) == before


def _convolved(x, stride, padding):
    """The convolution in PyTorch of the images with the variables of the session."""
    variables = [torch.tensor(variable.numpy()) for variable in flow.get_all_variables().values()]
    (weight,) = [variable for variable in variables if variable.ndim == 4]
    biases = [variable for variable in variables if variable.ndim == 1]
    padded = torch.nn.functional.pad(torch.tensor(x), padding)
    return torch.nn.functional.conv2d(padded, weight, *biases[:1], stride=stride).numpy()


def test_s002_23_layers_have_variables():
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((1, 3, 8, 8))) -> tp.Numpy:
        options = dict.fromkeys(("kernel_initializer", "bias_initializer"), initializer)
        return flow.layers.conv2d(x, 4, 3, **options)

    initializer = flow.random_normal_initializer()
    x = np.random.default_rng(0).standard_normal((1, 3, 8, 8), np.float32)
    result = job(x)
    assert len(flow.get_all_variables()) == 2
    np.testing.assert_allclose(result, _convolved(x, 1, (0,) * 4), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (lambda x: flow.math.add(x, x), lambda x: 2 * x),
        (flow.nn.relu, lambda x: np.maximum(x, 0)),
        (lambda x: flow.matmul(x, x, transpose_b=True), lambda x: x @ x.T),
    ],
)
def test_s002_24_operators_alone(operator, expected):
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2, 2))) -> tp.Numpy:
        return operator(x)

    x = np.float32([[-1, 2], [3, -4]])
    np.testing.assert_array_equal(job(x), expected(x))


def test_s002_25_operators_of_users():
    @flow.experimental.register_user_op("s002_scale_and_shift")
    def scale_and_shift(x, scale, shift):
        return x * scale + shift

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        op = flow.user_op_builder("mine").Op("s002_scale_and_shift").Input("in", [x])
        op = op.Output("out").Attr("scale", 2.0).Attr("shift", 1.0)
        return op.Build().InferAndTryRun().RemoteBlobList()[0]

    assert job(np.float32([1, 2])).tolist() == [3, 5]


def _layer_example(kind, normalized=True):
    @flow.global_function(type=kind)
    def layer_example(x: tp.Numpy.Placeholder((1, 64, 128, 128))) -> tp.Numpy:
        initializer = flow.truncated_normal(0.1)
        conv2d = flow.layers.conv2d(
            x,
            filters=128,
            kernel_size=3,
            strides=2,
            padding="SAME",
            kernel_initializer=initializer,
            name="Conv2d",
        )
        return flow.layers.batch_normalization(conv2d, axis=1) if normalized else conv2d

    return layer_example


def test_s002_26_layer_example():
    x = np.random.default_rng(0).standard_normal((1, 64, 128, 128), np.float32)
    out = _layer_example("predict")(x)
    assert isinstance(out, np.ndarray)  # s002_28: the result is there when the call returns
    assert out.shape == (1, 128, 64, 64)
    flow.clear_default_session()
    out = _layer_example("predict", normalized=False)(x)
    np.testing.assert_allclose(out, _convolved(x, 2, (0, 1, 0, 1)), rtol=1e-4, atol=1e-3)


def test_s002_27_batch_normalization():
    x = np.random.default_rng(0).standard_normal((1, 64, 128, 128), np.float32)
    out = _layer_example("train")(x)
    np.testing.assert_allclose(out.mean((0, 2, 3)), 0, atol=1e-4)
    np.testing.assert_allclose(out.var((0, 2, 3)), 1, atol=1e-2)


def test_s002_28_synchronous_result():
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        return x

    result = job(np.float32([1, 2]))
    assert isinstance(result, np.ndarray)
    assert result.tolist() == [1, 2]


def _losses_in_consistent_view(devices):
    """The losses of five steps on some devices."""
    flow.clear_default_session()
    flow.manual_seed(0)
    flow.config.gpu_device_num(devices)
    config = flow.FunctionConfig()
    config.default_logical_view(flow.scope.consistent_view())
    losses = _losses(_train_job(config=config), 5, *_images())
    assert losses[-1] < 0.5 * losses[0]
    if devices > 1:
        assert {variable.placement.size for variable in flow.get_all_variables().values()} == {
            devices
        }
    return losses


@pytest.fixture(scope="module")
def losses_of_one_device():
    return _losses_in_consistent_view(1)


@pytest.mark.parametrize("count", [2, 4])
def test_s002_29_consistent_view_computes_what_one_device_does(count, losses_of_one_device):
    losses = _losses_in_consistent_view(count)
    np.testing.assert_allclose(losses, losses_of_one_device, rtol=1e-4, atol=1e-5)


def test_s002_30_mirrored_view(losses_of_one_device):
    images, labels = _images()
    flow.clear_default_session()
    flow.manual_seed(0)
    flow.config.gpu_device_num(2)
    config = flow.FunctionConfig()
    config.default_logical_view(flow.scope.mirrored_view())

    @flow.global_function(type="train", function_config=config)
    def job(
        images: tp.ListNumpy.Placeholder((BATCH_SIZE // 2, 1, 28, 28)),
        labels: tp.ListNumpy.Placeholder((BATCH_SIZE // 2,), dtype=flow.int32),
    ) -> tp.ListNumpy:
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, _perceptron(images))
        schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.1])
        flow.optimizer.SGD(schedule, momentum=0).minimize(loss)
        return loss

    half = BATCH_SIZE // 2
    losses = [job([images[:half], images[half:]], [labels[:half], labels[half:]]) for _ in range(5)]
    assert {len(column) for column in losses} == {2}
    means = [np.mean(column) for column in losses]
    np.testing.assert_allclose(means, losses_of_one_device, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="a list of 2 arrays"):
        job([images[:half]], [labels[:half]])


def test_s002_31_number_of_devices():
    flow.config.gpu_device_num(2)

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((4,))) -> tp.Numpy:
        assert x.placement.size == 2
        return x + 1

    assert job(np.zeros(4, np.float32)).tolist() == [1, 1, 1, 1]
    with pytest.raises(RuntimeError, match="after a job was called"):
        flow.config.gpu_device_num(1)


def test_s002_32_port():
    flow.config.ctrl_port(50051)
    flow.env.ctrl_port(50051)
    with pytest.raises(ValueError, match="a port is a number"):
        flow.config.ctrl_port(99999)


def test_s002_33_two_devices_and_a_port():
    flow.config.gpu_device_num(2)
    flow.config.ctrl_port(50051)

    @flow.global_function()
    def train_job(
        images: tp.Numpy.Placeholder((BATCH_SIZE, 1, 28, 28), dtype=flow.float),
        labels: tp.Numpy.Placeholder((BATCH_SIZE,), dtype=flow.int32),
    ) -> tp.Numpy:
        placements.append(images.placement.size)
        return flow.nn.sparse_softmax_cross_entropy_with_logits(_perceptron(images), labels)

    placements = []
    images, labels = _images()
    loss = train_job(images, labels)
    assert set(placements) == {2}
    variables = {name: variable.numpy() for name, variable in flow.get_all_variables().items()}
    hidden = np.maximum(images.reshape(BATCH_SIZE, -1) @ variables["hidden-weight"].T, 0)
    logits = torch.tensor(hidden @ variables["logits-weight"].T)
    wanted = torch.nn.functional.cross_entropy(
        logits, torch.tensor(labels).long(), reduction="none"
    )
    np.testing.assert_allclose(loss, wanted, rtol=1e-3, atol=1e-4)


def test_s002_34_the_view_is_consistent_by_default():
    assert not flow.FunctionConfig().view.is_mirrored


def test_s002_35_jobs_share_variables():
    train_job = _train_job()

    @flow.global_function(type="predict")
    def eval_job(
        images: tp.Numpy.Placeholder((BATCH_SIZE, 1, 28, 28), dtype=flow.float),
    ) -> tp.Numpy:
        return _perceptron(images)

    images, labels = _images()
    _losses(train_job, 20, images, labels)
    assert (eval_job(images).argmax(1) == labels).mean() > 0.9
