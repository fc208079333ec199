"""Requests per second and latency of servers with the same network, in turns.

    python benchmarks/serving.py                                 # the network of examples/mnist.py
    python benchmarks/serving.py --network mobilenet_v2 --clients 1 8

Ours is `python -m oneflow.serving`. The others are what one writes by hand: FastAPI with a handler
that calls the network in PyTorch, or in ONNX Runtime, in a thread (needs fastapi, uvicorn, torch).
With `TRITON_DIST`, the folder of the wheel `nvidia-pytriton`, the genuine Triton with our backend
takes part. Every server is a process; in a round each is asked for the same time, one after the
other. A request has one image as bytes; clients keep their connections.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import io
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import aiohttp
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]
BATCH_SIZES = (1, 2, 4, 8, 16, 32)
SHAPES = {"mnist": (1, 28, 28), "mobilenet_v2": (3, 224, 224), "resnet50": (3, 224, 224)}


def network(name: str, library: str):
    """The network in `oneflow` or `torch`, in evaluation mode."""
    if name != "mnist":
        vision = "flowvision.models" if library == "oneflow" else "torchvision.models"
        return getattr(importlib.import_module(vision), name)().eval()
    if library == "oneflow":
        return importlib.import_module("mnist").Net().eval()
    nn = importlib.import_module("torch").nn
    return nn.Sequential(
        *(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, 10)),
    ).eval()


def save(name: str, folder: Path) -> None:
    """Save the network for all batch sizes."""
    import oneflow as flow

    class Predict(flow.nn.Graph):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def build(self, x):
            return self.model(x)

    graph = Predict(network(name, "oneflow"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for size in BATCH_SIZES:
            graph(flow.zeros(size, *SHAPES[name]))
    graph.save(folder)


def bare_seconds(name: str, folder: Path, calls: int = 200) -> float:
    """The median time of a call of the saved graph with one image, from array to array."""
    import oneflow as flow

    graph = flow.nn.Graph.load(folder)
    image = np.zeros((1, *SHAPES[name]), np.float32)
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        graph(flow.from_numpy(image)).numpy()
        times.append(time.perf_counter() - start)
    return statistics.median(times[calls // 4 :])


def serve_by_hand(library: str, name: str, port: int) -> None:
    """Serve the network with FastAPI."""
    import fastapi
    import torch
    import uvicorn

    model = network(name, "torch")
    shape = (1, *SHAPES[name])
    if library == "onnxruntime":
        import onnxruntime

        file = io.BytesIO()
        torch.onnx.export(model, (torch.zeros(shape),), file, input_names=["x"], dynamo=False)
        session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])

    def run(content: bytes) -> bytes:
        image = np.frombuffer(content, np.float32).reshape(shape)
        if library == "onnxruntime":
            return session.run(None, {"x": image})[0].tobytes()
        with torch.inference_mode():
            return model(torch.from_numpy(image.copy())).numpy().tobytes()

    app = fastapi.FastAPI()

    @app.get("/v2/health/ready")
    def ready():
        return {}

    async def infer(request):
        content = await asyncio.to_thread(run, await request.body())
        return fastapi.Response(content)

    app.add_route("/v2/models/model/infer", infer, methods=["POST"])
    uvicorn.run(app, port=port, log_level="error", access_log=False)


def request_of(server: str, name: str) -> tuple[bytes, dict[str, str]]:
    """The body and the headers of a request."""
    image = np.zeros((1, *SHAPES[name]), np.float32)
    if server not in ("oneflow", "triton"):
        return image.tobytes(), {}
    entry = {"name": "x", "datatype": "FP32", "shape": image.shape}
    entry["parameters"] = {"binary_data_size": image.nbytes}
    data = {"inputs": [entry], "parameters": {"binary_data_output": True}}
    text = json.dumps(data).encode()
    return text + image.tobytes(), {"Inference-Header-Content-Length": str(len(text))}


@contextmanager
def running(server: str, name: str, folder: Path, port: int) -> Iterator[str]:
    """A server that is ready; the address of its model."""
    if server == "triton":
        from tests.serving.triton_server import triton

        with triton(Path(os.environ["TRITON_DIST"]), folder, folder.parent) as found:
            yield f"http://{found.http}/v2/models/model/infer"
        return
    command = [sys.executable, __file__, "--serve", server, "--network", name, "--port", str(port)]
    if server == "oneflow":
        command = [sys.executable, "-m", "oneflow.serving", str(folder), "--http", str(port)]
        command += ["--grpc", "0"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        for _ in range(1200):
            ready = ["curl", "-sf", f"127.0.0.1:{port}/v2/health/ready"]
            if subprocess.run(ready, check=False, stdout=subprocess.DEVNULL).returncode == 0:
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v2/models/model/infer"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


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
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(client(session) for _ in range(clients)))
    return latencies


def compare(servers: list[str], options: argparse.Namespace, folder: Path) -> None:
    """Print a line for each server and number of clients."""
    name = options.network
    with ExitStack() as stack:
        urls = {
            server: stack.enter_context(running(server, name, folder, options.port + index))
            for index, server in enumerate(servers)
        }
        for clients in options.clients:
            found: dict[str, list[list[float]]] = {server: [] for server in servers}
            for _ in range(options.rounds + 1):  # the first one warms up
                for server, url in urls.items():
                    message = request_of(server, name)
                    found[server].append(asyncio.run(load(url, message, clients, options.seconds)))
            for server, rounds in found.items():
                latencies = [sorted(each) for each in rounds[1:]]
                rate = statistics.median(len(each) / options.seconds for each in latencies)
                p50, p99 = (
                    statistics.median(each[int(len(each) * share)] for each in latencies) * 1e3
                    for share in (0.5, 0.99)
                )
                print(f"| {name} | {clients} | {server} | {rate:.0f} | {p50:.2f} | {p99:.2f} |")
            sys.stdout.flush()


def main() -> None:
    """Run the benchmark, or one of the servers in it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", choices=SHAPES, default="mnist")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--seconds", type=float, default=2.0, help="time of a turn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--port", type=int, default=8200)
    parser.add_argument("--serve", choices=("torch", "onnxruntime"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve_by_hand(options.serve, options.network, options.port)
        return
    servers = ["oneflow", "torch", "onnxruntime"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "models"
        save(options.network, folder / "model" / "1")
        seconds = bare_seconds(options.network, folder / "model" / "1")
        print(f"bare call of the saved graph: {seconds * 1e3:.3f} ms\n")
        if "TRITON_DIST" in os.environ:
            from oneflow.serving.triton.export import export_model

            export_model(folder / "model" / "1", Path(temporary) / "exported" / "model")
            folder = Path(temporary) / "exported"
            servers.append("triton")
        print("| network | clients | server | requests/s | p50 ms | p99 ms |")
        print("|---|---|---|---|---|---|", flush=True)
        compare(servers, options, folder)


if __name__ == "__main__":
    main()
