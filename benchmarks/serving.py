"""Requests per second and latency of servers with the same network, in turns.

    python -m benchmarks.serving                                 # the network of examples/mnist.py
    python -m benchmarks.serving --network mobilenet_v2 --clients 1 8

`oneflow` is `python -m oneflow.serving`; `openvino` is the same with a graph that asks for it.
`torch` and `onnxruntime` are what one writes by hand: FastAPI with a handler that calls the network
in a thread (needs fastapi, uvicorn, torch). With `TRITON_DIST`, the folder of the wheel
`nvidia-pytriton`, the genuine Triton with our backend takes part; with `MLSERVER`, a Python that
has mlserver and onnxruntime, MLServer with ONNX Runtime. That one is asked over gRPC, as its HTTP
knows JSON only. Every server is a process; in a round each is asked for the same time, one after
the other. A request has one row as bytes; clients keep their connections. The last column is the
time that processors work for a request, which other work on the machine changes least.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import statistics
import tempfile
import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import aiohttp
import numpy as np

import oneflow as flow
from benchmarks.rival_servers import NETWORKS, Address, Served, make_network, rivals, running

BATCH_SIZES = {"mnist": (1, 2, 4, 8, 16, 32), "bert": (1, 2, 4)}
DEFAULT_SIZES = (1, 2, 4, 8)


class Predict(flow.nn.Graph):
    """The network."""

    def __init__(self, model, in_openvino=False):
        super().__init__()
        self.model = model
        self.config.enable_openvino(in_openvino)

    def build(self, x):
        """Return what the network computes."""
        return self.model(x)


def save(name: str, folder: Path, in_openvino: bool = False) -> None:
    """Save the network for all batch sizes."""
    graph = Predict(make_network(name, flow), in_openvino)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for size in BATCH_SIZES.get(name, DEFAULT_SIZES):
            graph(flow.from_numpy(NETWORKS[name].rows(size)))
    graph.save(folder)


def save_onnx(name: str, file: Path) -> None:
    """Write the network for any batch size as ONNX."""
    x = flow.from_numpy(NETWORKS[name].rows(2))
    axes = {"x": {0: "batch"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_network(name, flow)
        flow.onnx.export(model, (x,), str(file), input_names=["x"], dynamic_axes=axes)


def bare_seconds(name: str, folder: Path, calls: int = 100) -> float:
    """The median time of a call of the saved graph with one row, from array to array."""
    graph = flow.nn.Graph.load(folder)
    row = NETWORKS[name].rows(1)
    times = []
    end = time.perf_counter() + 20
    while len(times) < calls and (not times or time.perf_counter() < end):
        start = time.perf_counter()
        graph(flow.from_numpy(row)).numpy()
        times.append(time.perf_counter() - start)
    return statistics.median(times[len(times) // 4 :])


def request_of(name: str) -> tuple[bytes, dict[str, str]]:
    """The body and the headers of a request of the protocol."""
    row = NETWORKS[name].rows(1)
    datatype = {"float32": "FP32", "int64": "INT64"}[row.dtype.name]
    entry = {"name": "x", "datatype": datatype, "shape": row.shape}
    entry["parameters"] = {"binary_data_size": row.nbytes}
    data = {"inputs": [entry], "parameters": {"binary_data_output": True}}
    text = json.dumps(data).encode()
    return text + row.tobytes(), {"Inference-Header-Content-Length": str(len(text))}


async def load(url: str, message: tuple, clients: int, seconds: float) -> list[float]:
    """The latencies of the requests of some clients, each of which asks again when answered."""
    body, headers = message
    latencies: list[float] = []
    end = time.perf_counter() + seconds

    async def client(session: aiohttp.ClientSession) -> None:
        while (start := time.perf_counter()) < end:
            async with session.post(url, data=body, headers=headers) as response:
                content = await response.read()
                assert response.status == 200, content
            latencies.append(time.perf_counter() - start)

    connector = aiohttp.TCPConnector(limit=clients)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        await asyncio.gather(*(client(session) for _ in range(clients)))
    return latencies


async def load_grpc(address: str, row: np.ndarray, clients: int, seconds: float) -> list[float]:
    """The latencies of requests over gRPC, see `load`."""
    module = importlib.import_module("tritonclient.grpc.aio")
    tensor = module.InferInput("x", list(row.shape), {"f": "FP32", "i": "INT64"}[row.dtype.kind])
    tensor.set_data_from_numpy(row)
    latencies: list[float] = []
    end = time.perf_counter() + seconds

    async def client() -> None:
        async with module.InferenceServerClient(address) as connection:
            while (start := time.perf_counter()) < end:
                await connection.infer("model", [tensor])
                latencies.append(time.perf_counter() - start)

    await asyncio.gather(*(client() for _ in range(clients)))
    return latencies


class Turn(NamedTuple):
    """A turn of a server.

    Attributes:
        latencies: of the requests, ascending.
        rate: requests per second until the last one was answered.
        processor: the seconds that processors have worked for each of them.
    """

    latencies: list[float]
    rate: float
    processor: float


def ask(address: Address, name: str, clients: int, seconds: float) -> Turn:
    """Give a server its turn."""
    row = NETWORKS[name].rows(1)
    start, worked = time.perf_counter(), address.processor_seconds()
    if address.is_grpc:
        latencies = asyncio.run(load_grpc(address.text, row, clients, seconds))
    else:
        message = (row.tobytes(), {}) if address.is_plain else request_of(name)
        latencies = asyncio.run(load(address.text, message, clients, seconds))
    seconds = time.perf_counter() - start
    worked = address.processor_seconds() - worked
    return Turn(sorted(latencies), len(latencies) / seconds, worked / len(latencies))


def compare(servers: list[str], options: argparse.Namespace, served: Served) -> None:
    """Print a line for each server and number of clients."""
    with ExitStack() as stack:
        addresses = {
            server: stack.enter_context(running(server, served, options.port + 5 * index))
            for index, server in enumerate(servers)
        }
        for address in addresses.values():  # warms up
            ask(address, served.network, 2, options.seconds / 4)
        for clients in options.clients:
            found: dict[str, list[Turn]] = {server: [] for server in servers}
            for _ in range(options.rounds):
                for server, address in addresses.items():
                    found[server].append(ask(address, served.network, clients, options.seconds))
            for server, turns in found.items():
                rate = statistics.median(turn.rate for turn in turns)
                processor = statistics.median(turn.processor for turn in turns) * 1e3
                p50, p99 = (
                    statistics.median(t.latencies[int(len(t.latencies) * share)] for t in turns)
                    * 1e3
                    for share in (0.5, 0.99)
                )
                figures = (
                    f"{clients} | {server} | {rate:.1f} | {p50:.2f} | {p99:.2f} | {processor:.2f}"
                )
                print(f"| {served.network} | {figures} |", flush=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", choices=NETWORKS, default="mnist")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--seconds", type=float, default=2.0, help="time of a turn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--port", type=int, default=8200)
    parser.add_argument("--servers", nargs="+", default=rivals(), help="(%(default)s)")
    options = parser.parse_args()
    name = options.network
    with tempfile.TemporaryDirectory() as temporary:
        served = Served(name, Path(temporary))
        save(name, served.graph)
        if "openvino" in options.servers:
            save(name, served.openvino_graph, in_openvino=True)
        save_onnx(name, served.onnx)
        seconds = bare_seconds(name, served.graph)
        print(f"bare call of the saved graph: {seconds * 1e3:.3f} ms\n")
        print("| network | clients | server | requests/s | p50 ms | p99 ms | processor ms |")
        print("|---|---|---|---|---|---|---|", flush=True)
        compare(options.servers, options, served)


if __name__ == "__main__":
    main()
