"""A server that is stopped answers what it has, and leaves no connection open."""

import asyncio
import gc
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException

import numpy as np
import pytest

from oneflow import nn
from oneflow.serving import batching
from oneflow.serving.model_graph import ModelGraph
from oneflow.serving.server import Server, ServerOptions
from tests.serving.helpers import blocked_loads, save, save_affine, serving

X = np.ones((1, 3), np.float32)


def test_a_stopped_server_answers_what_it_has(tmp_path, monkeypatch):
    save_affine(tmp_path / "m", sizes=(1,))
    entered, gate = threading.Event(), threading.Event()
    run = ModelGraph.run

    def gated(*arguments):
        entered.set()
        assert gate.wait(30)
        return run(*arguments)

    with ThreadPoolExecutor(1) as pool:
        with serving(tmp_path / "m") as server:
            monkeypatch.setattr(ModelGraph, "run", gated)
            answer = pool.submit(server.infer, "m", {"x": X})
            assert entered.wait(30)
            threading.Timer(0.3, gate.set).start()
        assert answer.result()[0] == 200
    with pytest.raises(ConnectionRefusedError):
        server.request("GET", "/v2")


def test_requests_have_the_time_to_drain_and_no_more(tmp_path, monkeypatch):
    save_affine(tmp_path / "m", sizes=(1,))
    started, gate = threading.Event(), threading.Event()

    def endless(*arguments):
        started.set()
        gate.wait(60)

    monkeypatch.setattr(batching, "_MAX_INLINE_SECONDS", 0.0)
    with ThreadPoolExecutor(4) as pool:
        with serving(tmp_path / "m", shutdown_timeout=0.5) as server:
            monkeypatch.setattr(ModelGraph, "run", endless)
            answers = [pool.submit(server.infer, "m", {"x": X}) for _ in range(4)]
            assert started.wait(30)
            begin = time.monotonic()
        assert time.monotonic() - begin < 5
        gate.set()
        assert all(isinstance(answer.exception(), OSError | HTTPException) for answer in answers)


def test_a_server_that_is_stopped_does_not_wait_for_what_it_loads(tmp_path, monkeypatch):
    save_affine(tmp_path / "slow", sizes=(1,))
    gate = threading.Event()
    blocked_loads(monkeypatch, gate)

    async def main():
        stop = asyncio.Event()
        server = Server(tmp_path, ServerOptions(http=0, grpc=0))
        asyncio.get_running_loop().call_later(0.3, stop.set)
        await asyncio.wait_for(server.run(stop), 20)

    begin = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - begin < 10
    gate.set()


class Repeated(nn.Graph):
    """An answer that no buffer of a socket holds."""

    def build(self, x):
        return x.repeat(1, 400_000)


def is_closed(client):
    """Read what the other end has sent; tell if it has closed the connection then."""
    client.settimeout(5)
    try:
        while client.recv(1 << 20):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize("turns", range(6))
def test_a_server_that_is_stopped_closes_a_connection_that_has_just_come(tmp_path, turns):
    """The connection comes some turns of the event loop before the end."""
    save_affine(tmp_path / "m", sizes=(1,))
    clients = []

    async def main():
        stop, started = asyncio.Event(), asyncio.Event()
        server = Server(tmp_path, ServerOptions(http=0, grpc=None))
        running = asyncio.create_task(server.run(stop, started))
        await started.wait()
        clients.append(socket.create_connection(("127.0.0.1", server.http_port)))
        for _ in range(turns):
            await asyncio.sleep(0)
        stop.set()
        await running

    gc.disable()
    try:
        asyncio.run(main())
        with clients[0] as client:
            assert is_closed(client)
    finally:
        gc.enable()


def test_a_server_that_is_stopped_closes_connections_whose_clients_read_nothing(tmp_path):
    save(Repeated(), tmp_path / "m", (X,))
    body = json.dumps(
        {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]}]}
    ).encode()
    head = f"POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n"
    gc.disable()
    try:
        with serving(tmp_path, shutdown_timeout=0.5) as server:
            client = socket.create_connection(("127.0.0.1", server.http))
            client.sendall(head.encode() + body)
            assert client.recv(15) == b"HTTP/1.1 200 OK"
        with client:
            assert is_closed(client)
    finally:
        gc.enable()
