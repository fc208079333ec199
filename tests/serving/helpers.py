"""Saved graphs to serve, and servers in a thread of the test's process."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import threading
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn

pytest.importorskip("aiohttp", reason="pip install 'oneflow-xla[serving]'")
pytest.importorskip("grpc", reason="pip install 'oneflow-xla[serving]'")
pytest.importorskip("prometheus_client", reason="pip install 'oneflow-xla[serving]'")
from aiohttp import web as web

from oneflow.serving import repository
from oneflow.serving.server import Server, ServerOptions


class Affine(nn.Graph):
    """``x * scale + shift`` by rows."""

    def __init__(self, scale=2.0):
        super().__init__()
        self.scale = scale

    def build(self, x):
        return x * self.scale + 1


def tensors_of(arrays):
    """Tensors in the place of arrays, in tuples and lists of them."""
    if isinstance(arrays, tuple | list):
        return type(arrays)(map(tensors_of, arrays))
    return flow.tensor(arrays)


def save(graph, folder, *calls):
    """Save a graph that was called with each of these tuples of arrays."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is compiled again", UserWarning)
        for call in calls:
            graph(*tensors_of(call))
    graph.save(folder)
    return folder


def save_affine(folder, scale=2.0, sizes=(1, 2, 4, 8), columns=3):
    """A graph for several sizes of the batch."""
    graph = Affine(scale)
    return save(graph, folder, *[(np.zeros((rows, columns), np.float32),) for rows in sizes])


class Running(NamedTuple):
    """A server that runs."""

    http: int
    grpc: int

    def request(self, method, path, body=None, headers=None):
        """The status, headers and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def get(self, path):
        """The JSON of an answer."""
        status, _, body = self.request("GET", path)
        assert status == 200, body
        return json.loads(body)

    def infer(self, model, inputs, **fields):
        """The status and the JSON of an answer to inputs in JSON."""
        data = {
            "inputs": [
                {
                    "name": name,
                    "datatype": {"f": "FP32", "i": "INT64"}[array.dtype.kind],
                    "shape": list(array.shape),
                    "data": array.ravel().tolist(),
                }
                for name, array in inputs.items()
            ],
            **fields,
        }
        status, _, body = self.request("POST", f"/v2/models/{model}/infer", json.dumps(data))
        return status, json.loads(body)

    def values(self, model, inputs, **fields):
        """The first output for inputs in JSON."""
        status, data = self.infer(model, inputs, **fields)
        assert status == 200, data
        output = data["outputs"][0]
        return np.array(output["data"]).reshape(output["shape"])


@contextlib.contextmanager
def serving(path, **options):
    """A server on free ports, for as long as the context is open; drained at its end."""
    options = ServerOptions(http=0, grpc=0, **{"poll_seconds": 0.05, **options})
    server = Server(Path(path), options)
    stop, started = asyncio.Event(), asyncio.Event()
    loops, errors = [], []
    ready = threading.Event()

    async def main():
        loops.append(asyncio.get_running_loop())
        run = asyncio.create_task(server.run(stop, started))
        waiter = asyncio.create_task(started.wait())
        await asyncio.wait([run, waiter], return_when=asyncio.FIRST_COMPLETED)
        ready.set()
        await run
        waiter.cancel()

    def target():
        try:
            asyncio.run(main())
        except Exception as error:
            errors.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=target)
    thread.start()
    ready.wait(60)
    try:
        if errors:
            raise errors[0]
        yield Running(server.http_port, server.grpc_port)
    finally:
        if not errors:
            loops[0].call_soon_threadsafe(stop.set)
        thread.join(60)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def wait_until(condition, seconds=30.0):
    """Wait until a condition holds; fails if it never does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)


def blocked_loads(monkeypatch, gate):
    """Loading the model `slow` takes until the gate is open."""
    load = repository.load_graph

    def load_graph(folder, name, config):
        if name == "slow":
            gate.wait(60)
        return load(folder, name, config)

    monkeypatch.setattr(repository, "load_graph", load_graph)
