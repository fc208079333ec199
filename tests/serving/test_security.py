"""Tokens, TLS, limits and clients that are slow, gone or hostile."""

import gzip
import http.client
import json
import socket
import ssl
import subprocess

import pytest

pytest.importorskip("grpc", reason="pip install 'oneflow-xla[serving]'")
import grpc

from oneflow.serving.protocol.messages import SERVICE, messages
from oneflow.serving.tensors import Limits
from tests.serving.helpers import save_affine, serving

# One process sets up what they share.
pytestmark = pytest.mark.xdist_group("serving_security")

INFER = "/v2/models/m/infer"
REQUEST = json.dumps(
    {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]}]}
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_affine(tmp_path_factory.mktemp("models") / "m", sizes=(1, 2))


def call(channel, method, metadata=None, **fields):
    """The answer to a request over gRPC."""
    name = method if method != "ModelStreamInfer" else "ModelInfer"
    stub = channel.unary_unary(
        f"/{SERVICE}/{method}",
        messages[f"{name}Request"].SerializeToString,
        messages[f"{name}Response"].FromString,
    )
    return stub(messages[f"{name}Request"](**fields), metadata=metadata, timeout=30)


def test_requests_need_the_token(model):
    with serving(model, token="käse") as server:
        right = {"Authorization": "Bearer käse".encode()}
        for headers in ({}, {"Authorization": "Bearer kase"}, {"Authorization": "käse".encode()}):
            assert server.request("POST", INFER, REQUEST, headers)[0] == 401
            assert server.request("GET", "/metrics", headers=headers)[0] == 401
            assert server.request("GET", "/", headers=headers)[0] == 401
        assert server.request("POST", INFER, REQUEST, right)[0] == 200
        assert server.request("GET", "/v2/health/ready")[0] == 200


def test_requests_over_grpc_need_the_token(model):
    fields = {"model_name": "m", "inputs": [], "raw_input_contents": []}
    with (
        serving(model, token="secret") as server,
        grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel,
    ):
        assert call(channel, "ServerReady").ready
        for metadata in (None, [("authorization", "Bearer other")]):
            for method in ("ModelInfer", "RepositoryIndex", "ModelMetadata"):
                with pytest.raises(grpc.RpcError) as caught:
                    call(channel, method, metadata, **(fields if "Infer" in method else {}))
                assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        right = [("authorization", "Bearer secret")]
        assert call(channel, "RepositoryIndex", right).models[0].name == "m"
        with pytest.raises(grpc.RpcError) as caught:
            call(channel, "ModelInfer", right, **fields)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for localhost with its key, made by OpenSSL."""
    folder = tmp_path_factory.mktemp("tls")
    files = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -out {files[0]} "
        f"-keyout {files[1]} -addext subjectAltName=DNS:localhost",
        shell=True,
        check=True,
        capture_output=True,
    )
    return files


def test_both_protocols_over_tls(model, certificate):
    with serving(model, certificate=certificate[0], private_key=certificate[1]) as server:
        context = ssl.create_default_context(cafile=certificate[0])
        connection = http.client.HTTPSConnection("localhost", server.http, context=context)
        connection.request("POST", INFER, REQUEST)
        assert connection.getresponse().status == 200
        connection.close()
        credentials = grpc.ssl_channel_credentials(certificate[0].read_bytes())
        with grpc.secure_channel(f"localhost:{server.grpc}", credentials) as channel:
            assert call(channel, "ModelReady", name="m").ready


LIMITS = Limits(request_bytes=10_000, json_bytes=1000, rank=4, elements=100, read_seconds=0.3)


@pytest.fixture(scope="module")
def limited(model):
    with serving(model, limits=LIMITS) as server:
        yield server


def is_alive(server):
    return server.request("POST", INFER, REQUEST)[0] == 200


def test_long_requests_are_refused_unread(limited):
    with socket.create_connection(("127.0.0.1", limited.http)) as connection:
        connection.sendall(f"POST {INFER} HTTP/1.1\r\nHost: a\r\nContent-Length: 9".encode())
        connection.sendall(b"9999999999\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 413")
    body = b" " * 20_000
    for content, header in (
        (gzip.compress(body), {"Content-Encoding": "gzip"}),
        (iter([body]), {}),
    ):
        status, _, answer = limited.request("POST", INFER, content, header)
        assert status == 413
        assert "10000 bytes" in json.loads(answer)["error"]
    status, _, answer = limited.request("POST", INFER, b" " * 1001)
    assert status == 413
    assert "send binary tensors" in json.loads(answer)["error"]
    assert is_alive(limited)


def test_damaged_compression_is_an_error(limited):
    status, _, _ = limited.request("POST", INFER, b"no gzip", {"Content-Encoding": "gzip"})
    assert status == 400
    assert is_alive(limited)


def test_long_messages_of_grpc_are_refused(limited):
    with grpc.insecure_channel(f"127.0.0.1:{limited.grpc}") as channel:
        with pytest.raises(grpc.RpcError) as caught:
            call(channel, "ModelInfer", raw_input_contents=[b" " * 20_000])
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert call(channel, "ModelReady", name="m").ready


def test_slow_clients_are_cut_off(limited):
    with socket.create_connection(("127.0.0.1", limited.http)) as connection:
        connection.sendall(
            f"POST {INFER} HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{{".encode()
        )
        connection.settimeout(20)
        assert is_alive(limited)
        answer = b""
        while part := connection.recv(1000):
            answer += part
    assert not answer or b"too slowly" in answer
    assert is_alive(limited)


def test_no_memory_is_taken_for_sizes_alone(limited):
    for shape in ([101], [2**62, 2**62], [1] * 5):
        body = json.dumps(
            {"inputs": [{"name": "x", "datatype": "FP64", "shape": shape, "data": []}]}
        )
        assert limited.request("POST", INFER, body)[0] == 413


def test_other_addresses_are_not_listened_at_unless_told(model):
    with serving(model) as server, pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", server.http), timeout=5)
    with serving(model, host="0.0.0.0") as server:
        socket.create_connection(("127.0.0.2", server.http), timeout=5).close()
