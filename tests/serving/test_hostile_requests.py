"""Thousands of malformed requests: each is answered or refused, and nothing of them stays."""

import contextlib
import gc
import http.client
import json
import logging
import random
import socket

import numpy as np
import pytest

pytest.importorskip("grpc", reason="pip install 'oneflow-xla[serving]'")
import grpc

from oneflow.serving.protocol.messages import SERVICE, messages
from tests.serving.helpers import save_affine, serving

# One process sets up what they share.
pytestmark = pytest.mark.xdist_group("serving_hostile_requests")

X = np.arange(6, dtype=np.float32).reshape(2, 3)
INFER = "/v2/models/m/infer"
# Values that take the place of one in the JSON of a request.
STRANGE = [
    *(None, True, -1, 0, 1.5, 2**31, 2**63, 2**70, -(2**63), 10**400, float("nan"), float("inf")),
    *("", "x", "FP32", "BYTES", "\x00", "\ud800", "é" * 300, "A" * 5000),
    *([], [[]], [0] * 100, [[[]]] * 3, [None], {}, {"a": {}}, {"binary_data_size": 2**40}),
]
HEADERS = [
    *({"Inference-Header-Content-Length": name} for name in ("0", "5", "999", "-1", "1e3", "x")),
    *({"Content-Encoding": name} for name in ("gzip", "deflate", "br", "none")),
    {"Content-Type": "text/plain"},
]
# Beginnings of conversations that are no HTTP.
GARBAGE = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"POST /v2/models/m/infer HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    b"POST /v2/models/m/infer HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
    b"POST /v2/models/m/infer HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 2000 + b"\r\n",
    b"\x00" * 100,
]


@pytest.fixture(autouse=True)
def _short_logs(caplog):
    """Malformed messages of HTTP are not written down in full."""
    caplog.set_level(logging.CRITICAL, "aiohttp.server")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(save_affine(tmp_path_factory.mktemp("models") / "m", sizes=(2, 4))) as running:
        yield running


@pytest.fixture
def count(exhaustive):
    """The requests of each kind."""
    return 4000 if exhaustive else 250


def resident():
    """The resident memory of this process in bytes, garbage collected."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


@contextlib.contextmanager
def nothing_stays(server, count):
    """Fail if the server does not answer right afterwards, or has grown with the requests."""
    before = resident()
    yield
    assert resident() - before < 64 * 2**20 + 2**12 * count
    np.testing.assert_array_equal(server.values("m", {"x": X}), X * 2 + 1)
    assert "oneflow_queue" in server.request("GET", "/metrics")[2].decode()


def places(value, path=()):
    """The paths of all values in a JSON value."""
    yield path
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in items:
        yield from places(item, (*path, key))


def with_strange_value(random, value):
    """A JSON value with one part replaced, removed or doubled."""
    value = json.loads(json.dumps(value))
    *path, last = random.choice([place for place in places(value) if place])
    parent = value
    for key in path:
        parent = parent[key]
    kind = random.randrange(4)
    if kind == 0:
        del parent[last]
    elif kind == 1 and isinstance(parent, list):
        parent.append(parent[last])
    else:
        parent[last] = random.choice(STRANGE)
    return value


def with_strange_bytes(random, content):
    """Some bytes changed, removed, doubled or inserted."""
    content = bytearray(content)
    for _ in range(random.randrange(1, 6)):
        start = random.randrange(len(content) + 1)
        end = min(start + random.choice((1, 2, 8, 64)), len(content))
        part = bytes(content[start:end])
        noise = random.randbytes(len(part))
        content[start:end] = random.choice((noise, b"", part * 2, part + noise))
    return bytes(content)


def request_data():
    """A right request as JSON with its data in it, and with binary data behind it."""
    entry = {"name": "x", "datatype": "FP32", "shape": [2, 3]}
    asked = {"id": "1", "outputs": [{"name": "output", "parameters": {"binary_data": True}}]}
    size = {"parameters": {"binary_data_size": X.nbytes}}
    return (
        {"inputs": [{**entry, "data": X.ravel().tolist()}], **asked},
        {"inputs": [{**entry, **size}], **asked},
    )


def hostile_message(random):
    """The body and headers of a request that is malformed, most likely."""
    in_json, binary = request_data()
    kind = random.randrange(4)
    if kind == 0:
        return json.dumps(with_strange_value(random, in_json)).encode(), {}
    if kind == 1:
        return with_strange_bytes(random, json.dumps(in_json).encode()), {}
    changed = with_strange_value(random, binary) if kind == 2 else binary
    text = json.dumps(changed).encode()
    headers = {"Inference-Header-Content-Length": str(len(text))}
    body = text + X.tobytes()
    if kind == 3:
        body = with_strange_bytes(random, body)
        headers |= random.choice([{}, *HEADERS])
    return body, headers


def test_http_messages(server, count):
    source = random.Random(0)
    statuses, had_encoding = {}, False
    connection = http.client.HTTPConnection("127.0.0.1", server.http, timeout=30)
    with nothing_stays(server, count):
        for _ in range(count):
            body, headers = hostile_message(source)
            try:
                connection.request("POST", INFER, body, headers)
                response = connection.getresponse()
                content = response.read()
            except ConnectionError:  # the server gave the connection up after the last request
                connection.close()
                assert had_encoding
                continue
            had_encoding = "Content-Encoding" in headers
            statuses[response.status] = statuses.get(response.status, 0) + 1
            if response.status != 200:
                assert json.loads(content)["error"], (body, headers)
        connection.close()
    assert statuses.keys() <= {200, 400, 413, 501}
    assert statuses[400] > count / 2


def test_grpc_messages(server, count):
    source = random.Random(1)
    right = messages["ModelInferRequest"](model_name="m", id="1")
    right.inputs.add(name="x", datatype="FP32", shape=X.shape)
    right.raw_input_contents.append(X.tobytes())
    right.outputs.add(name="output")
    right.parameters["timeout"].int64_param = 10**9
    content = right.SerializeToString()
    codes = {}
    with (
        nothing_stays(server, count),
        grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel,
    ):
        infer = channel.unary_unary(f"/{SERVICE}/ModelInfer")
        for _ in range(count):
            try:
                infer(with_strange_bytes(source, content), timeout=30)
            except grpc.RpcError as error:
                code = error.code().name
                codes[code] = codes.get(code, 0) + 1
    known = {"INVALID_ARGUMENT", "NOT_FOUND", "RESOURCE_EXHAUSTED", "UNIMPLEMENTED"}
    assert codes.keys() <= {*known, "DEADLINE_EXCEEDED"}
    assert sum(codes.values()) > count / 2


def test_connections_that_are_no_http(server, count):
    source = random.Random(2)
    head = f"POST {INFER} HTTP/1.1\r\nHost: a\r\nContent-Length: 90\r\n\r\n".encode()
    with nothing_stays(server, count):
        for index in range(count // 2):
            address = "127.0.0.1", (server.http, server.grpc)[index % 5 == 4]
            with socket.create_connection(address, timeout=30) as connection:
                begin = source.choice([*GARBAGE, head])
                with contextlib.suppress(ConnectionError, TimeoutError):
                    connection.sendall(with_strange_bytes(source, begin))
                    if index % 3 == 0:
                        connection.settimeout(0.002)
                        connection.recv(1000)
