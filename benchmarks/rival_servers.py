"""The servers that `benchmarks/serving.py` compares, and the networks that they serve."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import mlserver_settings

ROOT = Path(__file__).resolve().parents[1]


class Network(NamedTuple):
    """A network.

    Attributes:
        module: the file in `benchmarks/models` that makes it in either library.
        shape: of a row of its input.
        tokens: the number of tokens in a row, which are numbers below it; 0 for images.
    """

    module: str
    shape: tuple[int, ...]
    tokens: int = 0

    def rows(self, count: int) -> np.ndarray:
        """Return an input with some rows, always the same."""
        random = np.random.default_rng(0)
        if self.tokens:
            return random.integers(0, self.tokens, (count, *self.shape))
        return random.random((count, *self.shape), np.float32)


NETWORKS = {
    "mnist": Network("mnist_cnn", (1, 28, 28)),
    "mobilenet_v2": Network("mobilenet_v2", (3, 224, 224)),
    "resnet50": Network("resnet50", (3, 224, 224)),
    "bert": Network("bert", (128,), tokens=30522),
}


def make_network(name: str, library):
    """The network in `oneflow` or `torch`, in evaluation mode."""
    module = importlib.import_module(f"benchmarks.models.{NETWORKS[name].module}")
    return module.make(library).eval()


class Served(NamedTuple):
    """A model that is served.

    Attributes:
        network: its name.
        folder: where it is saved.
    """

    network: str
    folder: Path

    @property
    def graph(self) -> Path:
        """The saved graph."""
        return self.folder / "models" / "model" / "1"

    @property
    def openvino_graph(self) -> Path:
        """The saved graph that asks for OpenVINO."""
        return self.folder / "openvino" / "model" / "1"

    @property
    def onnx(self) -> Path:
        """The network as ONNX."""
        return self.folder / "model.onnx"


@dataclass(frozen=True)
class Address:
    """The address of a server.

    Attributes:
        process: its process.
        text: its address.
        is_grpc: it is asked over gRPC.
        is_plain: over HTTP it takes nothing but the bytes of a row.
    """

    process: int
    text: str
    is_grpc: bool = False
    is_plain: bool = False

    def processor_seconds(self) -> float:
        """The time that processors have worked for the server and the processes it started."""
        found: dict[int, tuple[int, int]] = {}
        for file in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = file.read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            found[int(file.parent.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
        family = {self.process}
        for number in sorted(found):  # children have higher numbers than their parents
            if found[number][0] in family:
                family.add(number)
        return sum(found[process][1] for process in family) / os.sysconf("SC_CLK_TCK")


def rivals() -> list[str]:
    """The servers that can run here."""
    found = ["oneflow", "openvino", "torch", "onnxruntime"]
    found += ["triton"] * ("TRITON_DIST" in os.environ)
    return found + ["mlserver"] * ("MLSERVER" in os.environ)


@contextmanager
def running(server: str, served: Served, port: int) -> Iterator[Address]:
    """A server that is ready."""
    if server == "triton":
        triton = importlib.import_module("tests.serving.triton_server").triton
        export = importlib.import_module("oneflow.serving.triton.export").export_model
        export(served.graph, served.folder / "exported" / "model")
        dist = Path(os.environ["TRITON_DIST"])
        with triton(dist, served.folder / "exported", served.folder) as found:
            yield Address(found.process.pid, f"http://{found.http}/v2/models/model/infer")
        return
    command, folder = _command(server, served, port), ROOT
    if server == "mlserver":
        folder = served.folder / "mlserver"
        rows = 32 if served.network == "mnist" else 8
        mlserver_settings.write(folder, served.onnx, (port, port + 1, port + 2), rows)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    if server == "mlserver":
        environment["PYTHONPATH"] = str(ROOT / "benchmarks")
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(process, f"http://127.0.0.1:{port}/v2/health/ready")
        if server == "mlserver":
            yield Address(process.pid, f"127.0.0.1:{port + 1}", is_grpc=True)
        else:
            url = f"http://127.0.0.1:{port}/v2/models/model/infer"
            yield Address(process.pid, url, is_plain=server in ("torch", "onnxruntime"))
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _command(server: str, served: Served, port: int) -> list[str]:
    """The command of a server."""
    if server == "mlserver":
        return [os.environ["MLSERVER"], "-m", "mlserver.cli.main", "start", "."]
    if server in ("oneflow", "openvino"):
        graph = served.graph if server == "oneflow" else served.openvino_graph
        ports = ["--http", str(port), "--grpc", "0"]
        return [sys.executable, "-m", "oneflow.serving", str(graph.parents[1]), *ports]
    options = ["--network", served.network, "--onnx", str(served.onnx), "--port", str(port)]
    return [sys.executable, "-m", "benchmarks.rival_servers", server, *options]


def _wait(process: subprocess.Popen, url: str, seconds: float = 300) -> None:
    """Wait until a server says that it is ready."""
    end = time.monotonic() + seconds
    while True:
        assert process.poll() is None, f"{process.args} ended with {process.returncode}"
        assert time.monotonic() < end, f"{process.args} is not ready"
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)


def serve_by_hand(library: str, name: str, onnx: Path, port: int) -> None:
    """Serve the network with FastAPI, as one writes it oneself."""
    fastapi, uvicorn = map(importlib.import_module, ("fastapi", "uvicorn"))
    example = NETWORKS[name].rows(1)
    if library == "onnxruntime":
        runtime = importlib.import_module("onnxruntime")
        session = runtime.InferenceSession(str(onnx), providers=["CPUExecutionProvider"])
    else:
        torch = importlib.import_module("torch")
        model = make_network(name, torch)

    def run(content: bytes) -> bytes:
        row = np.frombuffer(content, example.dtype).reshape(example.shape)
        if library == "onnxruntime":
            return session.run(None, {"x": row})[0].tobytes()
        with torch.inference_mode():
            return model(torch.from_numpy(row.copy())).numpy().tobytes()

    app = fastapi.FastAPI()

    @app.get("/v2/health/ready")
    def ready():
        return {}

    async def infer(request):
        return fastapi.Response(await asyncio.to_thread(run, await request.body()))

    app.add_route("/v2/models/model/infer", infer, methods=["POST"])
    uvicorn.run(app, port=port, log_level="error", access_log=False)


def main() -> None:
    """Run one of the servers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", choices=("torch", "onnxruntime"))
    parser.add_argument("--network", choices=NETWORKS, required=True)
    parser.add_argument("--onnx", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    serve_by_hand(options.library, options.network, options.onnx, options.port)


if __name__ == "__main__":
    main()
