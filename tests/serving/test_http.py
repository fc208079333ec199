"""The protocol over HTTP: inference, health, metadata, statistics, errors."""

import gzip
import json
import struct

import numpy as np
import pytest

from tests.serving.helpers import save_affine, serving

# One process sets up what they share.
pytestmark = pytest.mark.xdist_group("serving_http")

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(save_affine(tmp_path_factory.mktemp("models") / "affine")) as running:
        yield running


def binary_body(arrays, **fields):
    """A request with binary tensors, and the length of its JSON."""
    inputs = [
        {
            "name": name,
            "datatype": "FP32",
            "shape": list(array.shape),
            "parameters": {"binary_data_size": array.nbytes},
        }
        for name, array in arrays.items()
    ]
    text = json.dumps({"inputs": inputs, **fields}).encode()
    return text + b"".join(array.tobytes() for array in arrays.values()), str(len(text))


def test_json_in_json_out(server):
    status, data = server.infer("affine", {"x": X}, id="seven")
    assert status == 200
    assert data == {
        "model_name": "affine",
        "model_version": "1",
        "id": "seven",
        "outputs": [
            {
                "name": "output",
                "datatype": "FP32",
                "shape": [2, 3],
                "data": [3.0, 5.0, 7.0, 9.0, 11.0, 13.0],
            }
        ],
    }


@pytest.mark.parametrize("path", ["affine", "affine/versions/1"])
@pytest.mark.parametrize(
    "fields",
    [
        {"parameters": {"binary_data_output": True}},
        {"outputs": [{"name": "output", "parameters": {"binary_data": True}}]},
    ],
)
def test_binary_in_binary_out(server, path, fields):
    body, length = binary_body({"x": X}, **fields)
    header = {"Inference-Header-Content-Length": length}
    status, headers, content = server.request("POST", f"/v2/models/{path}/infer", body, header)
    assert status == 200, content
    length = int(headers["Inference-Header-Content-Length"])
    (output,) = json.loads(content[:length])["outputs"]
    assert output["parameters"] == {"binary_data_size": 24}
    np.testing.assert_array_equal(np.frombuffer(content[length:], np.float32), X.ravel() * 2 + 1)


def test_compressed_requests(server):
    body, length = binary_body({"x": X})
    header = {"Inference-Header-Content-Length": length, "Content-Encoding": "gzip"}
    status, _, content = server.request(
        "POST", "/v2/models/affine/infer", gzip.compress(body), header
    )
    assert status == 200, content


def test_health_metadata_and_configuration(server):
    for path in ("health/live", "health/ready", "models/affine/ready"):
        assert server.request("GET", f"/v2/{path}")[0] == 200
    assert server.get("/v2")["name"] == "oneflow"
    assert "binary_tensor_data" in server.get("/v2")["extensions"]
    expected = {
        "name": "affine",
        "versions": ["1"],
        "platform": "oneflow",
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}],
        "outputs": [{"name": "output", "datatype": "FP32", "shape": [-1, 3]}],
    }
    assert server.get("/v2/models/affine") == expected
    config = server.get("/v2/models/affine/config")
    assert (config["name"], config["max_batch_size"]) == ("affine", 8)
    assert config["input"] == [{"name": "x", "data_type": "TYPE_FP32", "dims": [3]}]
    assert config["instance_group"][0]["count"] == 1
    status, _, body = server.request("POST", "/v2/repository/index", "{}")
    entry = {"name": "affine", "version": "1", "state": "READY", "reason": ""}
    assert (status, json.loads(body)) == (200, [entry])


def test_statistics_metrics_and_status_page_count_the_same(server):
    def counts():
        (stats,) = server.get("/v2/models/affine/stats")["model_stats"]
        return stats["inference_count"], stats["inference_stats"]

    rows, before = counts()
    server.values("affine", {"x": X})
    server.infer("affine", {"x": X[:, :2]})
    rows_after, after = counts()
    assert rows_after == rows + 2
    assert after["success"]["count"] == before["success"]["count"] + 1
    assert after["fail"]["count"] == before["fail"]["count"] + 1
    for part in ("queue", "compute_input", "compute_infer", "compute_output"):
        assert after[part]["count"] == after["success"]["count"]
    text = server.request("GET", "/metrics")[2].decode()
    answered = after["success"]["count"]
    labels = 'model="affine",outcome="OK",version="1"'
    assert f"oneflow_requests_total{{{labels}}} {answered}.0" in text
    assert f'oneflow_latency_seconds_count{{model="affine",version="1"}} {answered}.0' in text
    page = server.request("GET", "/")[2].decode()
    assert f"<tr><td>affine 1</td><td>{answered}</td>" in page
    assert page.count("<rect") > 3


def tensor(**changes):
    """A request of JSON with one input, changed."""
    entry = {"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3], **changes}
    return json.dumps({"inputs": [{k: v for k, v in entry.items() if v is not None}]})


BAD = {
    "no JSON": ("{", 400, "no valid JSON"),
    "deep JSON": ("[" * 100_000, 400, "no valid JSON"),
    "no UTF-8": (b"\xff\xfe{}", 400, "no valid JSON"),
    "a list": ("[]", 400, "must be an object"),
    "inputs of another type": ('{"inputs": 3}', 400, "`inputs` must be a list"),
    "an input of another type": ('{"inputs": [3]}', 400, "an input must be an object"),
    "no input": ('{"inputs": []}', 400, "input `x` is missing"),
    "no name": (tensor(name=None), 400, "`name` of an input"),
    "an unknown name": (tensor(name="y"), 400, "there is no input `y`"),
    "twice": (
        json.dumps({"inputs": json.loads(tensor())["inputs"] * 2}),
        400,
        "`x` occurs twice",
    ),
    "an unknown datatype": (tensor(datatype="FP128"), 400, "datatype 'FP128'"),
    "text": (tensor(datatype="BYTES"), 400, "datatype 'BYTES'"),
    "another datatype": (tensor(datatype="FP64"), 400, "must have datatype FP32"),
    "no shape": (tensor(shape=None), 400, "`shape` of input `x`"),
    "a negative size": (tensor(shape=[-1, 3]), 400, "`shape` of input `x`"),
    "a fraction as size": (tensor(shape=[1.0, 3]), 400, "`shape` of input `x`"),
    "another shape": (tensor(shape=[3, 1]), 400, "must have the shapes"),
    "another rank": (tensor(shape=[3]), 400, "must have the shapes"),
    "a scalar": (tensor(shape=[], data=[1]), 400, "same first dimension"),
    "too many rows": (tensor(shape=[9, 3], data=[0] * 27), 400, "1 to 8 rows, got 9"),
    "no rows": (tensor(shape=[0, 3], data=[]), 400, "1 to 8 rows, got 0"),
    "a huge size": (tensor(shape=[2**60, 3]), 413, "elements"),
    "a huge size of nothing": (tensor(shape=[2**62, 0], data=[]), 413, "elements"),
    "a huge rank": (tensor(shape=[1] * 40), 413, "40 dimensions"),
    "too few values": (tensor(data=[1, 2]), 400, "has 2 values"),
    "too many values": (tensor(data=[1, 2, 3, 4]), 400, "has 4 values"),
    "no values": (tensor(data=None), 400, "must be a list of numbers"),
    "text as value": (tensor(data=[1, 2, "3"]), 400, "'3' is none of it"),
    "truth as value": (tensor(data=[1, 2, True]), 400, "True is none of it"),
    "a deep list": (
        tensor(data=None).replace('"FP32"', '"FP32", "data": ' + "[" * 50 + "]" * 50),
        400,
        "nested too deep",
    ),
    "an unknown output": (
        json.dumps({**json.loads(tensor()), "outputs": [{"name": "z"}]}),
        400,
        "there is no output `z`",
    ),
    "shared memory": (tensor(parameters={"shared_memory_region": "r"}), 501, "shared_memory"),
    "bytes that are not there": (tensor(parameters={"binary_data_size": 12}), 400, "0 bytes"),
    "a negative size of bytes": (tensor(parameters={"binary_data_size": -4}), 400, "-4"),
    "NaN as size of bytes": (
        tensor(parameters={"binary_data_size": 0}).replace(": 0}", ": NaN}"),
        400,
        "nan",
    ),
    "a timeout of text": (
        json.dumps({**json.loads(tensor()), "parameters": {"timeout": "soon"}}),
        400,
        "microseconds",
    ),
    "a timeout of centuries": (
        json.dumps({**json.loads(tensor()), "parameters": {"timeout": 10**400}}),
        400,
        "microseconds",
    ),
    "no number of classes": (
        json.dumps(
            {
                **json.loads(tensor()),
                "outputs": [{"name": "output", "parameters": {"classification": -1}}],
            }
        ),
        400,
        "`classification` of output `output`",
    ),
}
# Each has a text of a megabyte in another place.
LONG = "a" * 2**20
LONG_REQUESTS = {
    "a name": tensor(name=LONG),
    "a datatype": tensor(datatype=LONG),
    "a shape": tensor(shape=LONG),
    "a size": tensor(shape=[LONG]),
    "sizes": tensor(shape=[1.5] * 2**18),
    "values": tensor(data=LONG),
    "a value": tensor(data=[1, 2, LONG]),
    "an output": json.dumps({**json.loads(tensor()), "outputs": [{"name": LONG}]}),
    "an id": json.dumps({**json.loads(tensor()), "id": [LONG]}),
    "a timeout": json.dumps({**json.loads(tensor()), "parameters": {"timeout": LONG}}),
    "text": LONG,
}


@pytest.mark.parametrize("name", BAD)
def test_bad_requests(server, name):
    body, expected, message = BAD[name]
    status, _, content = server.request("POST", "/v2/models/affine/infer", body)
    error = json.loads(content)["error"]
    assert (status, message in error) == (expected, True), error


@pytest.mark.parametrize("name", LONG_REQUESTS)
def test_errors_do_not_repeat_a_long_request(server, name):
    status, _, content = server.request("POST", "/v2/models/affine/infer", LONG_REQUESTS[name])
    assert status in (400, 413)
    assert len(content) < 2000


@pytest.mark.parametrize(
    ("length", "message"), [("99999", "has"), ("-1", "number"), ("x", "number"), ("²", "number")]
)
def test_bad_lengths_of_json(server, length, message):
    header = {"Inference-Header-Content-Length": length.encode("utf8")}
    status, _, content = server.request("POST", "/v2/models/affine/infer", tensor(), header)
    assert status == 400
    assert message in json.loads(content)["error"]


def test_truncated_and_additional_bytes(server):
    body, length = binary_body({"x": X})
    header = {"Inference-Header-Content-Length": length}
    for sent, message in ((body[:-1], "bytes are left"), (body + b"1", "belong to no input")):
        status, _, content = server.request("POST", "/v2/models/affine/infer", sent, header)
        assert status == 400
        assert message in json.loads(content)["error"]
    status, _, content = server.request(
        "POST",
        "/v2/models/affine/infer",
        body.replace(b": 24", b": 20")[:-4],
        {"Inference-Header-Content-Length": length},
    )
    assert status == 400
    assert "need 24" in json.loads(content)["error"]


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/v2/models/none", 404),
        ("GET", "/v2/models/affine/versions/2", 404),
        ("GET", "/v2/models/affine/versions/x", 404),
        ("GET", f"/v2/models/affine/versions/{'9' * 5000}", 404),
        ("GET", "/v2/models/..%2f..%2fetc", 404),
        ("POST", "/v2/models/none/infer", 404),
        ("GET", "/v2/models/affine/infer", 405),
        ("GET", "/nothing", 404),
        ("POST", "/v2/repository/models/none/load", 404),
        ("POST", "/v2/repository/models/none/unload", 404),
    ],
)
def test_paths_of_nothing(server, method, path, expected):
    body = tensor() if path.endswith("infer") else None
    status, _, content = server.request(method, path, body)
    assert status == expected
    assert json.loads(content)["error"]


def test_nan_is_a_value_of_binary_tensors_only(server):
    nan = np.full((1, 3), np.nan, np.float32)
    body, length = binary_body({"x": nan}, parameters={"binary_data_output": True})
    header = {"Inference-Header-Content-Length": length}
    status, headers, content = server.request("POST", "/v2/models/affine/infer", body, header)
    assert status == 200
    rest = content[int(headers["Inference-Header-Content-Length"]) :]
    assert np.isnan(struct.unpack("<3f", rest)).all()
    body, length = binary_body({"x": nan})
    header = {"Inference-Header-Content-Length": length}
    status, _, content = server.request("POST", "/v2/models/affine/infer", body, header)
    assert status == 501
    assert "binary_data_output" in json.loads(content)["error"]
