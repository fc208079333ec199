"""Resizing by factors that are no integers: sizes and positions as in ONNX Runtime and PyTorch."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper, shape_inference

import oneflow as flow
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx

FACTORS = [1.8, 1.3, 0.6, 2.5, 0.7, 1.1, 3.3, 1.7]


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def resizing(name, opset, factor, attributes):
    """A model that resizes the last dimension by a factor."""
    scales = numpy_helper.from_array(np.array([1, 1, 1, factor], np.float32), "scales")
    roi = [numpy_helper.from_array(np.zeros(0, np.float32), "roi")]
    names = ["x", "scales"] if opset < 11 else ["x", "roi", "scales"]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 1, 1, None]) for n in "xy"]
    node = helper.make_node(name, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", infos[:1], infos[1:], [scales, *roi])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    return model


CASES = [("Upsample", 9, {}), ("Resize", 10, {})] + [
    ("Resize", opset, {"coordinate_transformation_mode": coordinates, "nearest_mode": rounding})
    for opset, coordinates, rounding in (
        (11, "asymmetric", "floor"),
        (13, "asymmetric", "floor"),
        (18, "asymmetric", "floor"),
        (18, "half_pixel", "round_prefer_ceil"),
        (18, "half_pixel", "floor"),
        (18, "asymmetric", "ceil"),
    )
]


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize(("name", "opset", "attributes"), CASES)
def test_import_resizes_as_onnx_runtime_does(name, opset, attributes, factor):
    if name == "Upsample" and factor < 1:
        pytest.skip("Upsample only enlarges")
    model = resizing(name, opset, factor, attributes)
    session, module = session_of(model), from_onnx(model)
    for size in range(3, 22):
        x = np.arange(float(size), dtype=np.float32).reshape(1, 1, 1, size)
        wanted = session.run(None, {"x": x})[0]
        if wanted.shape == x.shape:
            continue  # ONNX Runtime copies, whatever the factor.
        np.testing.assert_array_equal(module(flow.tensor(x)).numpy(), wanted)


class Nearest(flow.nn.Module):
    """Resizes by a factor."""

    def __init__(self, factor, mode):
        super().__init__()
        self.options = {"scale_factor": factor, "mode": mode}

    def forward(self, x):
        return flow.nn.functional.interpolate(x, **self.options)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize(("factor", "opset"), [(1.8, 11), (1.3, 17), (0.6, 17), (1.1, 17)])
def test_exported_models_resize_every_size_as_torch_does(opset, factor, mode):
    module = Nearest(factor, mode)
    for sizes, axes in ((range(3, 30), {"x": {2: "n"}}), ((5,), {}), ((10,), {})):
        example = flow.arange(5.0 if axes else float(sizes[0])).reshape(1, 1, -1)
        model = flow.onnx.export(
            module, example, opset_version=opset, input_names=["x"], dynamic_axes=axes
        )
        session, back = session_of(model), from_onnx(model)
        for size in sizes:
            x = torch.arange(float(size)).reshape(1, 1, -1)
            wanted = torch.nn.functional.interpolate(x, **module.options).numpy()
            np.testing.assert_array_equal(session.run(None, {"x": x.numpy()})[0], wanted)
            np.testing.assert_array_equal(back(flow.tensor(x.numpy())).numpy(), wanted)


@pytest.mark.parametrize("dynamic", [{}, {"x": {0: "batch"}}])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(("source", "target"), [(3, 5), (6, 10), (3, 7), (7, 5), (5, 3), (3, 6)])
def test_exported_sizes_are_those_that_inference_finds(source, target, mode, dynamic):
    def resize(x):
        return flow.nn.functional.interpolate(x, size=target, mode=mode)

    x = flow.arange(2.0 * source).reshape(1, 2, source)
    model = flow.onnx.export(
        resize, (x,), input_names=["x"], dynamic_axes=dynamic, opset_version=13
    )
    inferred = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    assert inferred.graph.output[0].type.tensor_type.shape.dim[2].dim_value == target
    batch = x.repeat(3, 1, 1) if dynamic else x
    result = session_of(model).run(None, {"x": batch.numpy()})[0]
    np.testing.assert_allclose(result, resize(batch).numpy(), rtol=1e-5)
