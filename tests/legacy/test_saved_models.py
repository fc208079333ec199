"""Saved models end to end: a job, the folder, a session in another process."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import onnxruntime
import pytest

import oneflow as flow
import oneflow.typing as tp

X = np.float32([[1, 2, 3], [4, 5, 6]])


@pytest.fixture
def job():
    """A job with a layer, two arguments and a nested result; and the names of its blobs."""
    names = {}

    @flow.global_function()
    def classifier(
        images: tp.Numpy.Placeholder((2, 3)), shift: tp.Numpy.Placeholder((2,), dtype=flow.int32)
    ) -> dict[str, tp.Bundle[tp.Numpy]]:
        logits = flow.layers.dense(
            images, 4, kernel_initializer=flow.random_normal_initializer(), name="dense"
        )
        names["images"], names["logits"] = images.logical_blob_name, logits.logical_blob_name
        return {"a": [logits, shift + 1]}

    classifier.names = names
    return classifier


def _named(job, folder, version=1):
    job(X, np.int32([0, 0]))
    builder = flow.saved_model.ModelBuilder(folder).ModelName("model").Version(version)
    signature = builder.AddFunction(job).AddSignature("predict").AsDefault()
    signature.Input("pixels", job.names["images"]).Input("offset", "Input_1/out")
    signature.Output("scores", job.names["logits"])
    signature.OwnerGraphBuilder().OwnerModelBuilder().Save()
    return folder


def test_session_gives_what_the_job_gives(job, tmp_path):
    expected = job(X, np.int32([1, 2]))["a"]
    _named(job, tmp_path)
    flow.clear_default_session()
    with flow.saved_model.InferenceSession(flow.saved_model.SessionOption()) as session:
        session.load_saved_model(tmp_path)
        assert session.list_jobs() == ["classifier"]
        assert session.list_inputs() == ("pixels", "offset")
        assert session.list_outputs() == ("scores",)
        assert session.input_info("offset") == {"shape": (2,), "dtype": np.int32}
        assert session.output_info("scores", "classifier") == {"shape": (2, 4), "dtype": np.float32}
        result = session.run("classifier", pixels=X, offset=np.int32([1, 2]))
        np.testing.assert_allclose(result["scores"], expected[0], rtol=1e-6)
        assert session.status is session.SessionStatus.RUNNING
    with pytest.raises(RuntimeError, match="closed"):
        session.run("classifier", pixels=X, offset=np.int32([1, 2]))


def test_signature_without_names(job, tmp_path, capsys):
    expected = job(X, np.int32([1, 2]))["a"]
    flow.saved_model.ModelBuilder(tmp_path).AddFunction(job).AsDefault().Finish().Save()
    session = flow.saved_model.InferenceSession()
    session.load_saved_model(tmp_path, graph_name="classifier", signature_name="default")
    result = session.run("classifier", images=X, shift=np.int32([1, 2]))
    np.testing.assert_allclose(result["output_0"], expected[0], rtol=1e-6)
    assert result["output_1"].tolist() == [2, 3]
    session.print_job_set()
    assert capsys.readouterr().out == "classifier: images, shift -> output_0, output_1\n"


def test_another_process_runs_the_model(job, tmp_path):
    _named(job, tmp_path)
    expected = job(X, np.int32([0, 0]))["a"][0]
    code = f"""
import json
import numpy as np
import onnxruntime
import oneflow as flow
session = flow.saved_model.InferenceSession()
session.load_saved_model({str(tmp_path)!r})
x = np.float32({X.tolist()})
print(json.dumps(session.run("classifier", pixels=x, offset=np.int32([0, 0]))["scores"].tolist()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    np.testing.assert_allclose(json.loads(done.stdout), expected, rtol=1e-6)


def test_versions(job, tmp_path):
    for version in (2, 10):
        flow.load_variables({"dense-bias": np.full(4, version, np.float32)})
        _named(job, tmp_path, version)
    scores = []
    for version in (2, flow.saved_model.ModelVersionPolicy.LATEST):
        session = flow.saved_model.InferenceSession()
        session.load_saved_model(tmp_path, version)
        scores.append(session.run("classifier", pixels=X, offset=np.int32([0, 0]))["scores"])
    np.testing.assert_allclose(scores[1] - scores[0], 8, rtol=1e-5)
    with pytest.raises(FileNotFoundError, match=r"has the versions \[2, 10\], and not 3"):
        session.load_saved_model(tmp_path, 3)


def test_what_cannot_be_saved(job, tmp_path):
    @flow.global_function(type="train")
    def trains(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        return x

    builder = flow.saved_model.ModelBuilder(tmp_path)
    with pytest.raises(ValueError, match="`trains` trains"):
        builder.AddFunction(trains)
    with pytest.raises(TypeError, match="got function"):
        builder.AddFunction(lambda x: x)
    with pytest.raises(ValueError, match="a positive integer"):
        builder.Version(0)
    with pytest.raises(ValueError, match="add a job"):
        builder.Save()
    signature = builder.AddFunction(job).AddSignature("s").Output("scores", "Input_9/out")
    with pytest.raises(ValueError, match="`Input_9/out` is no result of job `classifier`"):
        builder.Save()
    with pytest.raises(ValueError, match="already"):
        signature.OwnerGraphBuilder().AddSignature("s")
    with pytest.raises(ValueError, match="already"):
        builder.AddFunction(job)


def test_what_cannot_be_run(job, tmp_path):
    session = flow.saved_model.InferenceSession()
    with pytest.raises(RuntimeError, match="has no jobs"):
        session.run("classifier")
    with pytest.raises(FileNotFoundError, match="is no folder"):
        session.load_saved_model(tmp_path / "missing")
    session.load_saved_model(_named(job, tmp_path))
    zeros = np.zeros(2, np.int32)
    for kwargs, error, message in (
        ({"pixels": X}, TypeError, "takes the inputs pixels, offset, got pixels"),
        ({"pixels": X, "offset": X}, TypeError, "`offset` must be an array of int32"),
        ({"pixels": X[:1], "offset": zeros}, ValueError, r"`pixels` must have the shape \(2, 3\)"),
    ):
        with pytest.raises(error, match=message):
            session.run("classifier", **kwargs)
    with pytest.raises(ValueError, match="no job `other`; there are classifier"):
        session.run("other")
    with pytest.raises(ValueError, match="no signature `other`"):
        session.set_job_signature("classifier", "other")
    with pytest.raises(ValueError, match="no `other` among the inputs of classifier"):
        session.input_info("other")
    session.set_job_batch_size("classifier", 2)
    with pytest.raises(NotImplementedError, match="fixed shapes"):
        session.set_job_batch_size("classifier", 3)
    with pytest.raises(NotImplementedError, match="one device"):
        flow.saved_model.InferenceSession(flow.saved_model.SessionOption(device_num=2))
    (tmp_path / "1" / "saved_model.json").write_text("{")
    with pytest.raises(RuntimeError, match="damaged"):
        session.load_saved_model(tmp_path)


def test_blobs_outside_of_jobs_have_no_names():
    with pytest.raises(RuntimeError, match="belongs into the body of a job"):
        _ = flow.ones(2).op_name


def test_export_of_a_job_by_the_earlier_arguments(tmp_path):
    flow.clear_default_session()

    @flow.global_function()
    def predict(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        initializer = flow.random_normal_initializer()
        return flow.layers.dense(x, 4, kernel_initializer=initializer, name="dense")

    x = np.float32([[1, 2, 3], [4, 5, 6]])
    expected = predict(x)
    flow.checkpoint.save(tmp_path / "snapshot")
    flow.onnx.export(
        job_func=predict,
        model_save_dir=str(tmp_path / "snapshot"),
        onnx_filename=str(tmp_path / "model.onnx"),
        external_data=False,
    )
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (result,) = session.run(None, {session.get_inputs()[0].name: x})
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    with pytest.raises(TypeError, match="needs a model"):
        flow.onnx.export()
    flow.clear_default_session()
