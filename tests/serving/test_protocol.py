"""The messages are those of the protocol, and its own clients work unchanged."""

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.serving.datatypes import DATATYPES, datatype_of
from oneflow.serving.protocol.messages import messages
from tests.serving.helpers import save, save_affine, serving

pytest.importorskip("tritonclient", reason="pip install 'tritonclient[grpc,http]'")
import tritonclient.grpc as client_grpc
import tritonclient.http as client_http
from tritonclient.grpc import model_config_pb2, service_pb2
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

# One process sets up what they share.
pytestmark = pytest.mark.xdist_group("serving_protocol")

CLIENTS = {"http": client_http, "grpc": client_grpc}
# It has this name of its own for an enum that the protocol has inside a message.
ENUMS = {"InstanceKind": "ModelInstanceGroup.Kind"}


class Same(nn.Graph):
    """Returns its argument, and with it a scalar of the type."""

    def build(self, x):
        return {"same": x, "turned": x.flip(0)}


class Sum(nn.Graph):
    """Two inputs, a keyword among them."""

    def build(self, x, *, table):
        return (x + table[0], x - table[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    models = tmp_path_factory.mktemp("models")
    save_affine(models / "affine" / "1")
    save_affine(models / "classes" / "1")
    (models / "classes" / "labels.txt").write_text("cat\na dog\n")
    (models / "classes" / "config.pbtxt").write_text(
        "max_batch_size: 8 "
        'input { name: "x" data_type: TYPE_FP32 dims: 3 } '
        'output { name: "output" data_type: TYPE_FP32 dims: 3 label_filename: "labels.txt" }'
    )
    for name, dtype in DATATYPES.items():
        save(Same(), models / name.lower(), (np.zeros((2, 3), dtype.numpy),))
    graph = Sum()
    graph(flow.ones(2), table=[flow.ones(2), flow.ones(2)])
    graph.save(models / "sum" / "1")
    with serving(models) as running:
        yield running


@pytest.fixture(params=CLIENTS)
def client(request, server):
    """The protocol's client over HTTP or gRPC, with its module."""
    module = CLIENTS[request.param]
    client = module.InferenceServerClient(f"127.0.0.1:{getattr(server, request.param)}")
    yield client, module
    client.close()


def tensor_of(module, name, array):
    """A tensor of a request."""
    datatype = "BF16" if array.dtype.kind == "V" else np_to_triton_dtype(array.dtype)
    tensor = module.InferInput(name, list(array.shape), datatype)
    tensor.set_data_from_numpy(array)
    return tensor


def fields(descriptor):
    """The fields of a message: name, number, type, whether it is repeated, its choice."""
    found = {}
    for field in descriptor.fields:
        kind = field.message_type or field.enum_type
        choice = field.containing_oneof
        is_entry = field.message_type is not None and field.message_type.GetOptions().map_entry
        name = kind.full_name.removeprefix("inference.") if kind and not is_entry else None
        found[field.name] = (
            field.number,
            field.type,
            field.is_repeated,
            choice and choice.name,
            ENUMS.get(name, name),
            is_entry and fields(field.message_type),
        )
    return found


def official(name):
    """The protocol's own descriptor of a message."""
    outer, *inner = name.split(".")
    file = model_config_pb2 if hasattr(model_config_pb2, outer) else service_pb2
    descriptor = getattr(file, outer).DESCRIPTOR
    for type_name in inner:
        descriptor = descriptor.nested_types_by_name[type_name]
    return descriptor


@pytest.mark.parametrize("name", messages)
def test_messages_are_the_protocols(name):
    known = fields(official(name))
    ours = fields(messages[name].DESCRIPTOR)
    assert bool(ours) == bool(known)
    for field, description in ours.items():
        if description[3] == "scheduling_choice":
            continue
        expected = list(known[field])
        if expected[3] == "scheduling_choice":  # of which this server has one
            expected[3] = None
        assert list(description) == expected


def test_enums_are_the_protocols():
    ours = messages["ModelInput"].DESCRIPTOR.fields_by_name["data_type"].enum_type
    assert dict(model_config_pb2.DataType.items()) == {
        value.name: value.number for value in ours.values
    }
    kinds = messages["ModelInstanceGroup"].DESCRIPTOR.fields_by_name["kind"].enum_type
    assert dict(model_config_pb2.ModelInstanceGroup.Kind.items()) == {
        value.name: value.number for value in kinds.values
    }


@pytest.mark.parametrize("datatype", DATATYPES)
def test_every_datatype_there_and_back(client, datatype):
    client, module = client
    dtype = DATATYPES[datatype].numpy
    values = np.random.default_rng(0).integers(0, 2 if datatype == "BOOL" else 100, (2, 3))
    array = values.astype(dtype)
    result = client.infer(datatype.lower(), [tensor_of(module, "x", array)])
    for name, expected in (("same", array), ("turned", array[::-1])):
        got = result.as_numpy(name)
        np.testing.assert_array_equal(got.astype(np.float64), expected.astype(np.float64))
    assert result.get_output("same") is not None


def test_several_inputs_and_one_output(client):
    client, module = client
    arrays = {"x": [1, 2], "table.0": [3, 4], "table.1": [5, 6]}
    tensors = [
        tensor_of(module, name, np.array(array, np.float32)) for name, array in arrays.items()
    ]
    wanted = [module.InferRequestedOutput("output_1")]
    result = client.infer("sum", tensors, outputs=wanted, request_id="nine")
    np.testing.assert_array_equal(result.as_numpy("output_1"), [-4, -4])
    assert result.as_numpy("output_0") is None
    assert "nine" in str(result.get_response())


def test_classes_in_place_of_scores(client):
    client, module = client
    array = np.array([[0.25, 7.0, -1.0], [2.0, 2.0, np.nan]], np.float32)
    options = [{}, {"binary_data": False}] if module is client_http else [{}]
    for option in options:
        wanted = [module.InferRequestedOutput("output", class_count=2, **option)]
        result = client.infer("classes", [tensor_of(module, "x", array)], outputs=wanted)
        assert result.as_numpy("output").astype(str).tolist() == [
            ["15.000000:1:a dog", "1.500000:0:cat"],
            ["5.000000:0:cat", "5.000000:1:a dog"],
        ]
    wanted = [module.InferRequestedOutput("output", class_count=9)]
    found = client.infer("classes", [tensor_of(module, "x", array)], outputs=wanted)
    assert found.as_numpy("output").astype(str)[0].tolist()[2] == "-1.000000:2"
    # A model without batches: all of its output is one row, and numbers stay whole.
    wanted = [module.InferRequestedOutput("same", class_count=1)]
    array = np.array([[3, 9, 2], [1, 9, 4]])
    found = client.infer("int64", [tensor_of(module, "x", array)], outputs=wanted)
    assert found.as_numpy("same").astype(str).tolist() == ["9:1"]


def test_health_metadata_configuration_and_statistics(client):
    client, module = client
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("affine")
    assert client.is_model_ready("affine", "1")
    as_json = {} if module is client_http else {"as_json": True}
    assert client.get_server_metadata(**as_json)["name"] == "oneflow"
    metadata = client.get_model_metadata("affine", **as_json)
    assert metadata["inputs"][0]["name"] == "x"
    assert list(map(int, metadata["inputs"][0]["shape"])) == [-1, 3]
    config = client.get_model_config("affine", **as_json)
    assert config.get("config", config)["max_batch_size"] == 8
    client.infer("affine", [tensor_of(module, "x", np.ones((1, 3), np.float32))])
    stats = client.get_inference_statistics("affine", **as_json)["model_stats"][0]
    assert int(stats["inference_stats"]["success"]["count"]) >= 1
    index = client.get_model_repository_index(**as_json)
    names = {entry["name"] for entry in (index["models"] if as_json else index)}
    assert {"affine", "sum", "fp32"} <= names


def test_models_are_unloaded_and_loaded(client):
    client, module = client
    client.unload_model("uint8")
    assert not client.is_model_ready("uint8")
    assert client.is_server_ready()
    with pytest.raises(InferenceServerException, match="unloaded"):
        client.infer("uint8", [tensor_of(module, "x", np.ones((2, 3), np.uint8))])
    client.load_model("uint8")
    assert client.is_model_ready("uint8")
    with pytest.raises(InferenceServerException, match="no model `none`"):
        client.load_model("none")


BAD = {
    "name": ("y", (1, 3), "FP32", "no input `y`"),
    "shape": ("x", (3, 1), "FP32", "must have the shapes"),
    "datatype": ("x", (1, 3), "FP64", "must have datatype FP32"),
    "rows": ("x", (9, 3), "FP32", "1 to 8 rows"),
}


@pytest.mark.parametrize("kind", BAD)
def test_errors_reach_the_client(client, kind):
    client, module = client
    name, shape, datatype, message = BAD[kind]
    array = np.zeros(shape, DATATYPES[datatype].numpy)
    with pytest.raises(InferenceServerException, match=message) as caught:
        client.infer("affine", [tensor_of(module, name, array)])
    assert caught.value.status() in ("400", "StatusCode.INVALID_ARGUMENT")


def test_timeouts_of_requests(client):
    client, module = client
    array = np.ones((1, 3), np.float32)
    result = client.infer("affine", [tensor_of(module, "x", array)], timeout=10_000_000)
    np.testing.assert_array_equal(result.as_numpy("output"), array * 2 + 1)


def test_streams_answer_in_order_and_go_on_after_errors(server):
    results = []
    with client_grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}") as client:
        client.start_stream(lambda result, error: results.append((result, error)))
        for index in range(6):
            array = np.full((1, 2 if index == 3 else 3), index, np.float32)
            tensors = [tensor_of(client_grpc, "x", array)]
            client.async_stream_infer("affine", tensors, request_id=str(index))
        client.stop_stream()
    assert len(results) == 6
    for index, (result, error) in enumerate(results):
        if index == 3:
            assert "must have the shapes" in str(error)
        else:
            np.testing.assert_array_equal(result.as_numpy("output"), [[2 * index + 1] * 3])


@pytest.mark.parametrize("datatype", [d for d in DATATYPES if d not in ("FP16", "BF16")])
def test_typed_contents(server, datatype):
    request = service_pb2.ModelInferRequest(model_name=datatype.lower())
    tensor = request.inputs.add(name="x", datatype=datatype, shape=[2, 3])
    field = {"BOOL": "bool", "FP32": "fp32", "FP64": "fp64", "INT64": "int64", "UINT64": "uint64"}
    prefix = field.get(datatype, "uint" if datatype.startswith("U") else "int")
    values = [0, 1, 1, 0, 0, 1]
    getattr(tensor.contents, f"{prefix}_contents").extend(values)
    client = client_grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}")
    response = client._client_stub.ModelInfer(request)
    raw = np.frombuffer(response.raw_output_contents[0], DATATYPES[datatype].numpy)
    assert raw.astype(int).tolist() == values
    tensor.contents.bytes_contents.append(b"1")
    with pytest.raises(Exception, match="comes in"):
        client._client_stub.ModelInfer(request)
    client.close()


def test_complex_numbers_have_no_datatype():
    with pytest.raises(ValueError, match="no data type"):
        datatype_of(flow.complex64)
