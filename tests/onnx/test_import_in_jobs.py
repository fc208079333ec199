"""Models in the bodies of job functions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from onnx import numpy_helper

import oneflow as flow
import oneflow.typing as tp
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx, from_pytorch
from tests.onnx.models import parsed

pytestmark = pytest.mark.usefixtures("fresh_session")


def scaling(**initializers):
    """A model that multiplies by its initializers, one after the other."""
    names, text, last = list(initializers), "", "x"
    for place, name in enumerate(names):
        output = "y" if place == len(names) - 1 else f"h{place}"
        text += f'{output} = Mul({last}, "{name}") '.replace('"', "")
        last = output
    model = parsed(f"g (float[2, 3] x) => (float[2, 3] y) {{ {text} }}")
    for name, values in initializers.items():
        model.graph.initializer.append(numpy_helper.from_array(np.float32(values), name))
    return model


def network():
    layers = [torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()]
    head = [torch.nn.Flatten(), torch.nn.Linear(4 * 36, 10)]
    return torch.nn.Sequential(*layers, *head)


def test_a_network_of_pytorch_predicts():
    source = network().eval()

    @flow.global_function()
    def predict(x: tp.Numpy.Placeholder((2, 1, 8, 8))) -> tp.Numpy:
        return from_pytorch(source, x)

    x = np.random.rand(2, 1, 8, 8).astype(np.float32)
    with torch.no_grad():
        expected = source(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(predict(x), expected, rtol=1e-4, atol=1e-5)
    variables = flow.get_all_variables()
    assert {"0_weight", "1_running_mean", "4_bias"} <= variables.keys()
    np.testing.assert_array_equal(
        variables["4_bias"].detach().numpy(), source[4].bias.detach().numpy()
    )


def test_it_trains_as_in_pytorch():
    source = network()
    model = network()
    model.load_state_dict(source.state_dict())

    @flow.global_function(type="train")
    def train(
        x: tp.Numpy.Placeholder((4, 1, 8, 8)), y: tp.Numpy.Placeholder((4,), dtype=flow.int64)
    ) -> tp.Numpy:
        logits = from_pytorch(source, x)
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
        schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.1])
        flow.optimizer.SGD(schedule, momentum=0).minimize(loss)
        return loss

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    random = np.random.default_rng(0)
    for _ in range(3):
        x = random.random((4, 1, 8, 8), np.float32)
        y = random.integers(0, 10, 4)
        loss = torch.nn.functional.cross_entropy(
            model(torch.from_numpy(x)), torch.from_numpy(y), reduction="none"
        )
        optimizer.zero_grad()
        loss.mean().backward()
        optimizer.step()
        np.testing.assert_allclose(train(x, y), loss.detach().numpy(), rtol=1e-3, atol=1e-4)
    mean = flow.get_all_variables()["1_running_mean"].numpy()
    np.testing.assert_allclose(mean, model[1].running_mean.numpy(), rtol=1e-3, atol=1e-5)


def test_weights_are_saved_for_a_checkpoint(tmp_path):
    model = scaling(a=[1, 2, 3], b=[2, 2, 2])

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        return from_onnx(model, {"x": x}, model_weight_dir=tmp_path / "weights")

    x = np.ones((2, 3), np.float32)
    assert job(x).tolist() == [[2, 4, 6]] * 2
    assert (tmp_path / "weights" / "snapshot_done").exists()
    flow.load_variables({"a": flow.zeros(3)})
    assert not job(x).any()
    flow.train.CheckPoint().load(str(tmp_path / "weights"))
    assert job(x).tolist() == [[2, 4, 6]] * 2


def test_several_outputs_are_a_dict():
    text = "g (float[2] x) => (float[2] a, float[2] b) { a = Neg(x) b = Exp(x) }"

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2,))) -> dict[str, tp.Numpy]:
        return from_onnx(parsed(text), x)

    result = job(np.zeros(2, np.float32))
    assert {name: values.tolist() for name, values in result.items()} == {"a": [0, 0], "b": [1, 1]}


def test_models_with_the_same_names():
    first, second = scaling(w=[1, 1, 1]), scaling(w=[3, 3, 3])

    @flow.global_function()
    def wrong(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        return from_onnx(second, from_onnx(first, x))

    with pytest.raises(ValueError, match=r"`w` exists already.*flow\.scope\.namespace"):
        wrong(np.ones((2, 3), np.float32))
    flow.clear_default_session()

    @flow.global_function()
    def right(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        with flow.scope.namespace("first"):
            x = from_onnx(first, x)
        with flow.scope.namespace("second"):
            return from_onnx(second, x)

    assert right(np.ones((2, 3), np.float32)).tolist() == [[3, 3, 3]] * 2
    assert set(flow.get_all_variables()) == {"first-w", "second-w"}


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        (lambda x: None, TypeError, "needs the blobs"),
        (lambda x: {"z": x}, TypeError, "no inputs named"),
        (lambda x: flow.reshape(x, (3, 2)), ValueError, "must have the shape"),
    ],
)
def test_inputs_that_do_not_fit(inputs, error, message):
    model = scaling(w=[1, 1, 1])

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        return from_onnx(model, inputs(x))

    with pytest.raises(error, match=message):
        job(np.ones((2, 3), np.float32))
