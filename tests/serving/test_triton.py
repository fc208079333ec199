"""The backend under the genuine Triton server: `make triton`."""

import contextlib
import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from tests.serving.helpers import save, save_affine, wait_until

pytest.importorskip("tritonclient", reason="pip install 'tritonclient[grpc,http]'")
import tritonclient.grpc as client_grpc
import tritonclient.http as client_http
from tritonclient.utils import InferenceServerException

from oneflow.serving.datatypes import DATATYPES
from oneflow.serving.triton.export import export_model
from tests.serving.test_batching import Lookup
from tests.serving.test_protocol import tensor_of
from tests.serving.triton_server import triton

DIST = os.environ.get("TRITON_DIST")
pytestmark = [
    pytest.mark.skipif(DIST is None, reason="needs the Triton server: make triton"),
    pytest.mark.slow,
    pytest.mark.multiprocess,
]
CLIENTS = {"http": client_http, "grpc": client_grpc}
ENSEMBLE = """
name: "normalized"
platform: "ensemble"
max_batch_size: 8
input { name: "image" data_type: TYPE_UINT8 dims: [3] }
output { name: "score" data_type: TYPE_FP32 dims: [3] }
ensemble_scheduling {
  step { model_name: "preprocess" model_version: -1
         input_map { key: "image" value: "image" } output_map { key: "output" value: "scaled" } }
  step { model_name: "affine" model_version: -1
         input_map { key: "x" value: "scaled" } output_map { key: "output" value: "score" } }
}
"""


def arrays_of_all_types():
    """An array of each data type, by its name."""
    values = np.random.default_rng(0).integers(0, 100, (2, 3))
    return {
        name.lower(): (values % 2 if name == "BOOL" else values).astype(dtype.numpy)
        for name, dtype in DATATYPES.items()
    }


class Turned(nn.Graph):
    """Returns its arguments, each with its rows in the other order."""

    def build(self, **arrays):
        return {f"turned_{name}": array.flip(0) for name, array in arrays.items()}


class Preprocess(nn.Graph):
    """Pixels from 0 to 255 as numbers from 0 to 1."""

    def build(self, image):
        return image.float() / 255


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A repository with a model for each datatype, one that may fail, and an ensemble."""
    folder = tmp_path_factory.mktemp("triton")
    repository = folder / "repository"
    graph = Turned()
    graph(**{name: flow.tensor(array) for name, array in arrays_of_all_types().items()})
    graph.save(folder / "types")
    export_model(folder / "types", repository / "types")
    rows = (1, 2, 4, 8)
    export_model(save_affine(folder / "affine", sizes=rows), repository / "affine")
    calls = [(np.zeros((number, 1), np.int64),) for number in (1, 8)]
    export_model(save(Lookup(), folder / "lookup", *calls), repository / "lookup")
    calls = [(np.zeros((row, 3), np.uint8),) for row in rows]
    export_model(save(Preprocess(), folder / "preprocess", *calls), repository / "preprocess")
    (repository / "normalized" / "1").mkdir(parents=True)
    (repository / "normalized" / "config.pbtxt").write_text(ENSEMBLE)
    config = repository / "affine" / "config.pbtxt"
    text = config.read_text().replace("count: 1", "count: 2 kind: KIND_CPU")
    queue = "dynamic_batching { max_queue_delay_microseconds: 20000 "
    config.write_text(text.replace("dynamic_batching {", queue, 1))
    assert "count: 2" in config.read_text()
    return repository


@pytest.fixture(scope="module")
def server(models, tmp_path_factory):
    options = ("--model-control-mode=explicit", "--load-model=*")
    with triton(
        Path(DIST).resolve(), models, tmp_path_factory.mktemp("server"), *options
    ) as running:
        yield running


@pytest.fixture(params=CLIENTS)
def client(request, server):
    module = CLIENTS[request.param]
    with module.InferenceServerClient(getattr(server, request.param)) as client:
        yield client, module


def check_all_types(client, module):
    """Make sure that an array of each data type goes there and back."""
    arrays = arrays_of_all_types()
    tensors = [tensor_of(module, name, array) for name, array in arrays.items()]
    result = client.infer("types", tensors)
    for name, array in arrays.items():
        got = result.as_numpy(f"turned_{name}")
        np.testing.assert_array_equal(got.astype(np.float64), array[::-1].astype(np.float64))


def test_every_datatype(client):
    check_all_types(*client)


def test_concurrent_clients_are_batched(server):
    def ask(index):
        rows = index % 3 + 1
        array = np.full((rows, 3), index, np.float32)
        tensors = [tensor_of(client_grpc, "x", array)]
        return client.infer("affine", tensors).as_numpy("output")

    with client_grpc.InferenceServerClient(server.grpc) as client, ThreadPoolExecutor(16) as pool:
        for index, answer in enumerate(pool.map(ask, range(96))):
            np.testing.assert_array_equal(answer, np.full((index % 3 + 1, 3), 2 * index + 1))
        stats = client.get_inference_statistics("affine", as_json=True)["model_stats"][0]
        assert int(stats["execution_count"]) < int(stats["inference_stats"]["success"]["count"])
        config = client.get_model_config("affine", as_json=True)["config"]
        assert config["instance_group"][0]["count"] == 2


def test_each_request_has_its_own_error(server):
    def ask(index):
        tensors = [tensor_of(client_grpc, "i", np.array([[index]]))]
        try:
            return client.infer("lookup", tensors).as_numpy("output").shape
        except InferenceServerException as error:
            return str(error)

    with client_grpc.InferenceServerClient(server.grpc) as client, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, [1, 2, 77, 3, 99, 4] * 4))
    for index, answer in enumerate(answers):
        bad = {2: "77", 4: "99"}.get(index % 6)
        assert answer == (1, 1, 2) if bad is None else bad in answer


@pytest.mark.parametrize(
    ("name", "shape", "datatype"),
    [("y", (1, 3), "FP32"), ("x", (3, 1), "FP32"), ("x", (1, 3), "FP64"), ("x", (9, 3), "FP32")],
)
def test_bad_requests(client, name, shape, datatype):
    client, module = client
    array = np.zeros(shape, DATATYPES[datatype].numpy)
    with pytest.raises(InferenceServerException):
        client.infer("affine", [tensor_of(module, name, array)])
    good = client.infer("affine", [tensor_of(module, "x", np.ones((1, 3), np.float32))])
    np.testing.assert_array_equal(good.as_numpy("output"), [[3, 3, 3]])


def test_an_ensemble_with_preprocessing(client):
    client, module = client
    image = np.array([[0, 51, 255]], np.uint8)
    result = client.infer("normalized", [tensor_of(module, "image", image)])
    np.testing.assert_allclose(result.as_numpy("score"), [[1, 1.4, 3]], rtol=1e-6)


def test_models_are_unloaded_loaded_and_exchanged(models, server, tmp_path):
    x = np.ones((1, 3), np.float32)
    with client_grpc.InferenceServerClient(server.grpc) as client:

        def answer():
            return client.infer("affine", [tensor_of(client_grpc, "x", x)]).as_numpy("output")[0, 0]

        client.unload_model("preprocess")
        wait_until(lambda: not client.is_model_ready("preprocess"))
        client.load_model("preprocess")
        assert client.is_model_ready("preprocess")
        export_model(save_affine(tmp_path / "new", scale=4.0), models / "affine")
        client.load_model("affine")
        assert answer() == 5
        broken = models / "affine" / "3"
        shutil.copytree(models / "affine" / "2", broken)
        (broken / "program.json").write_text("broken")
        with pytest.raises(InferenceServerException, match="damaged"):
            client.load_model("affine")
        assert answer() == 5
        shutil.rmtree(broken)


def workers_of(server, model):
    """The processes that serve a model."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            text = file.read_bytes().decode()
            if f"/{model}/" in text and os.getpgid(int(file.parent.name)) == server.process.pid:
                found.append(int(file.parent.name))
    return found


def test_a_model_whose_process_was_killed_answers_with_errors_until_it_is_loaded_again(server):
    """Triton 2.51 starts the process of a model again only then."""
    tensors = [tensor_of(client_grpc, "image", np.ones((1, 3), np.uint8))]
    with client_grpc.InferenceServerClient(server.grpc) as client:
        assert client.infer("preprocess", tensors).as_numpy("output").shape == (1, 3)
        for worker in workers_of(server, "preprocess"):
            os.kill(worker, signal.SIGKILL)
        with pytest.raises(InferenceServerException, match="not healthy"):
            client.infer("preprocess", tensors)
        client.unload_model("preprocess")
        wait_until(lambda: not client.is_model_ready("preprocess"))
        client.load_model("preprocess")
        answer = client.infer("preprocess", tensors).as_numpy("output")
        np.testing.assert_allclose(answer, np.full((1, 3), 1 / 255), rtol=1e-6)


def test_a_killed_server_starts_again(models, tmp_path):
    options = ("--model-control-mode=explicit", "--load-model=types")
    for number in (signal.SIGKILL, signal.SIGTERM):
        with triton(Path(DIST).resolve(), models, tmp_path, *options) as server:
            with client_http.InferenceServerClient(server.http) as client:
                check_all_types(client, client_http)
            server.process.send_signal(number)
            server.process.wait(60)
