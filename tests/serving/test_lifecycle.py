"""Versions come and go while requests are answered; the server ends when they are."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from tests.serving.helpers import (
    Affine,
    Running,
    blocked_loads,
    save,
    save_affine,
    serving,
    wait_until,
)

SOURCE = Path(flow.__file__).parents[1]
X = np.ones((1, 3), np.float32)


def index_of(server):
    status, _, body = server.request("POST", "/v2/repository/index", "")
    assert status == 200
    return [(e["name"], e["version"], e["state"]) for e in json.loads(body)]


def value(server, model="m"):
    return server.values(model, {"x": X})[0, 0]


def publish(folder, target, **options):
    """Save a graph beside the repository, then move it in at once."""
    save_affine(folder, sizes=(1, 2), **options)
    target.parent.mkdir(parents=True, exist_ok=True)
    folder.rename(target)


def test_a_folder_without_models_is_said_to_have_none(tmp_path, caplog):
    with caplog.at_level("WARNING", "oneflow.serving"), serving(tmp_path):
        pass
    assert f"there is no model in `{tmp_path}`" in caplog.text


def test_newer_versions_replace_older_ones_and_broken_ones_do_not(tmp_path):
    models = tmp_path / "models"
    publish(tmp_path / "new", models / "m" / "1", scale=1.0)
    with serving(models) as server:
        assert value(server) == 2
        publish(tmp_path / "new", models / "m" / "2", scale=2.0)
        wait_until(lambda: index_of(server) == [("m", "2", "READY")])
        assert value(server) == 3
        shutil.copytree(models / "m" / "2", tmp_path / "new")
        next((tmp_path / "new").glob("files-*/weights.safetensors")).write_bytes(b"broken")
        next((tmp_path / "new").glob("files-*/step0.stablehlo")).write_bytes(b"broken")
        (tmp_path / "new").rename(models / "m" / "3")
        wait_until(lambda: ("m", "3", "UNAVAILABLE") in index_of(server))
        assert ("m", "2", "READY") in index_of(server)
        assert value(server) == 3
        assert server.request("GET", "/v2/health/ready")[0] == 200
        assert "LoadError" in server.request("GET", "/")[2].decode()
        status, _, body = server.request("POST", "/v2/repository/models/m/load", "{}")
        assert (status, "failed to load" in body.decode()) == (400, True)
        # Mended, it takes over.
        shutil.rmtree(models / "m" / "3")
        publish(tmp_path / "new", models / "m" / "3", scale=3.0)
        wait_until(lambda: index_of(server) == [("m", "3", "READY")])
        assert value(server) == 4


def test_a_graph_that_is_saved_again_is_loaded_again(tmp_path):
    save_affine(tmp_path / "m", scale=1.0, sizes=(1,))
    with serving(tmp_path / "m") as server:
        assert value(server) == 2
        save_affine(tmp_path / "m", scale=5.0, sizes=(1,))
        wait_until(lambda: value(server) == 6)


def test_models_come_and_go(tmp_path):
    save_affine(tmp_path / "a", sizes=(1,))
    with serving(tmp_path) as server:
        publish(tmp_path / ".b", tmp_path / "b")
        wait_until(lambda: ("b", "1", "READY") in index_of(server))
        assert value(server, "b") == 3
        shutil.rmtree(tmp_path / "b")
        wait_until(lambda: len(index_of(server)) == 1)
        assert server.infer("b", {"x": X})[0] == 404


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("", [3]),
        ("version_policy { latest { num_versions: 2 } }", [2, 3]),
        ("version_policy { all {} }", [1, 2, 3]),
        ("version_policy { specific { versions: [1, 3] } }", [1, 3]),
    ],
)
def test_version_policies(tmp_path, policy, expected):
    for number in (1, 2, 3):
        save_affine(tmp_path / "m" / str(number), scale=number, sizes=(1,))
    (tmp_path / "m" / "config.pbtxt").write_text(policy)
    with serving(tmp_path) as server:
        assert server.get("/v2/models/m")["versions"] == list(map(str, expected))
        for number in expected:
            status, _, body = server.request(
                "POST",
                f"/v2/models/m/versions/{number}/infer",
                json.dumps(
                    {
                        "inputs": [
                            {"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1] * 3}
                        ]
                    }
                ),
            )
            assert (status, json.loads(body)["outputs"][0]["data"][0]) == (200, number + 1)
        assert value(server) == 4


def test_reloads_under_load_lose_nothing(tmp_path):
    models = tmp_path / "models"
    publish(tmp_path / "new", models / "m" / "1", scale=1.0)
    answers, end = [], threading.Event()
    with serving(models) as server, ThreadPoolExecutor(4) as pool:

        def load():
            while not end.is_set():
                answers.append(server.infer("m", {"x": X}))

        clients = [pool.submit(load) for _ in range(4)]
        for number in (2, 3, 4):
            publish(tmp_path / "new", models / "m" / str(number), scale=float(number))
            wait_until(lambda number=number: index_of(server) == [("m", str(number), "READY")])
        end.set()
        for client in clients:
            client.result()
    assert {status for status, _ in answers} == {200}
    for _, data in answers:
        assert data["outputs"][0]["data"] == [int(data["model_version"]) + 1] * 3
    assert {data["model_version"] for _, data in answers} >= {"1", "4"}


def test_models_do_not_wait_for_each_other(tmp_path, monkeypatch):
    models, gate = tmp_path / "models", threading.Event()
    publish(tmp_path / "new", models / "m" / "1", scale=1.0)
    blocked_loads(monkeypatch, gate)
    with serving(models) as server:
        publish(tmp_path / "new", models / "slow" / "1")
        wait_until(lambda: "slow" in [name for name, *_ in index_of(server)])
        publish(tmp_path / "new", models / "m" / "2", scale=2.0)
        wait_until(lambda: ("m", "2", "READY") in index_of(server))
        assert value(server) == 3
        status, body = server.infer("slow", {"x": X})
        assert (status, "being loaded" in body["error"]) == (503, True)
        # A model that somebody unloads while it is loaded does not come back.
        publish(tmp_path / "new", models / "slow" / "2")
        assert server.request("POST", "/v2/repository/models/slow/unload", "{}")[0] == 200
        gate.set()
        time.sleep(0.5)
        assert ("slow", "", "UNAVAILABLE") in index_of(server)
        assert server.request("POST", "/v2/repository/models/slow/load", "{}")[0] == 200
        assert value(server, "slow") == 3


class Counting(nn.Graph):
    """Changes a buffer."""

    def __init__(self):
        super().__init__()
        self.module = nn.Module()
        self.module.register_buffer("calls", flow.zeros(1))

    def build(self, x):
        self.module.calls += 1
        return x + self.module.calls


class Total(nn.Graph):
    """Its output has no rows."""

    def build(self, x):
        return x.sum()


CANNOT = {
    "a graph that changes": (Counting(), [1, 2], "", "changes `module.calls`"),
    "more rows than saved": (Affine(), [1, 2], "max_batch_size: 9", "at most 2 rows"),
    "rows where there are none": (Total(), [1, 2], "max_batch_size: 2", "first dimension"),
    "another backend": (Affine(), [1], 'backend: "onnxruntime"', "`onnxruntime` is not `oneflow`"),
    "another name": (Affine(), [1], 'name: "n"', "is called `n`"),
    "other tensors": (
        Affine(),
        [1],
        'input { name: "y" data_type: TYPE_FP32 dims: [1, 3] }',
        "the configuration of `m`",
    ),
    "an unknown setting": (Affine(), [1], "sequence_batching {}", "sequence_batching"),
    "a damaged configuration": (Affine(), [1], "max_batch_size: {", "config.pbtxt"),
    "labels of another folder": (
        Affine(),
        [1, 2],
        'output { name: "output" data_type: TYPE_FP32 dims: 3 label_filename: "../labels" }',
        "`label_filename` of output `output`",
    ),
}


@pytest.mark.parametrize("name", CANNOT)
def test_models_that_cannot_be_served_say_why(tmp_path, name):
    graph, sizes, text, message = CANNOT[name]
    save(graph, tmp_path / "m" / "1", *[(np.zeros((rows, 3), np.float32),) for rows in sizes])
    (tmp_path / "m" / "config.pbtxt").write_text(text)
    with serving(tmp_path) as server:
        status, _, body = server.request("GET", "/v2/models/m/ready")
        assert (status, message in body.decode()) == (503, True), body
        assert server.request("GET", "/v2/health/ready")[0] == 503
        assert server.request("GET", "/v2/health/live")[0] == 200


@pytest.mark.parametrize(("text", "expected"), [("", 0), ("max_batch_size: 2", 2)])
def test_one_saved_size_is_a_batch_if_the_configuration_says_so(tmp_path, text, expected):
    save_affine(tmp_path / "m" / "1", sizes=(2,))
    (tmp_path / "m" / "config.pbtxt").write_text(text)
    with serving(tmp_path) as server:
        assert server.get("/v2/models/m/config")["max_batch_size"] == expected
        assert server.infer("m", {"x": np.ones((2, 3), np.float32)})[0] == 200
        assert server.infer("m", {"x": X})[0] == (200 if expected else 400)


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"), serving(tmp_path / "none"):
        pass


def start_command(*arguments, descriptors=None):
    """The command, with its logs in a pipe, and at most that many open files."""
    command = [sys.executable, "-m", "oneflow.serving", *map(str, arguments), "--http", "0"]
    if descriptors is not None:
        command = ["sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh", *command]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def read_lines(process):
    """The lines of the log up to the one that says that the server is ready."""
    lines = []
    while not lines or "http" not in lines[-1]:
        lines.append(json.loads(process.stderr.readline()))
    return lines


@pytest.mark.multiprocess
def test_the_command_serves_until_it_is_told_to_end(tmp_path):
    save_affine(tmp_path / "m", sizes=(1, 2))
    process = start_command(tmp_path / "m", "--grpc", "0")
    try:
        lines = read_lines(process)
        server = Running(lines[-1]["http"], lines[-1]["grpc"])
        assert lines[0] | {"time": 0} == {
            "time": 0,
            "level": "INFO",
            "message": "model loaded",
            "model": "m",
            "version": 1,
        }
        assert value(server) == 3
        # A connection that is kept open does not hold up the end.
        idle = http.client.HTTPConnection("127.0.0.1", server.http)
        idle.request("GET", "/v2")
        idle.getresponse().read()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        idle.close()
    finally:
        process.kill()
        process.wait()
        rest = process.stderr.read()
        process.stderr.close()
    assert "server stopped" in rest


@pytest.mark.multiprocess
def test_the_command_ends_though_a_file_never_does(tmp_path):
    save_affine(tmp_path / "m", sizes=(1, 2))
    save_affine(tmp_path / "configured" / "1", sizes=(1, 2))
    os.mkfifo(tmp_path / "configured" / "config.pbtxt")
    weights = next((tmp_path / "m").glob("files-*/*.stablehlo"))
    weights.unlink()
    os.mkfifo(weights)
    process = start_command(tmp_path, "--grpc", "0", "--drain", "1")
    try:
        line = json.loads(process.stderr.readline())
        assert "is no regular file" in line["reason"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.multiprocess
def test_a_server_ends_with_its_supervisor(tmp_path):
    save_affine(tmp_path / "m", sizes=(1,))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = start_command(tmp_path / "m", "--grpc", port, "--restart")
    try:
        server = read_lines(process)[-1]["pid"]
        process.kill()
        process.wait()
        assert "server stopped" in process.stderr.read()  # to the end: nobody holds the log open
        wait_until(lambda: not Path(f"/proc/{server}").exists())
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.multiprocess
@pytest.mark.parametrize("is_stopped", [False, True], ids=["until_some_close", "when_it_stops"])
def test_connections_without_a_descriptor_are_logged_once(tmp_path, is_stopped):
    save_affine(tmp_path / "m", sizes=(1,))
    process = start_command(tmp_path / "m", "--grpc", "0", descriptors=120)
    try:
        port = read_lines(process)[-1]["http"]
        with contextlib.ExitStack() as stack:
            for _ in range(200):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
            time.sleep(3)
            if is_stopped:
                process.send_signal(signal.SIGTERM)
                process.wait(60)
        if not is_stopped:
            server = Running(port, 0)
            wait_until(lambda: value(server) == 3)
            process.send_signal(signal.SIGTERM)
        lines = process.stderr.read().splitlines()
        assert process.wait(30) == 0
        assert sum("connections wait" in line for line in lines) == 1
        assert len(lines) < 10
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.multiprocess
def test_a_killed_server_is_started_again_and_loses_only_what_it_was_doing(tmp_path):
    save_affine(tmp_path / "m", sizes=(1, 2))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = start_command(tmp_path / "m", "--grpc", port, "--restart")
    clients, stop = 4, threading.Event()
    answers, errors = [], []

    def ask(server):
        while not stop.is_set():
            try:
                answers.append(value(server))
            except OSError as error:  # the connection is gone with the process
                errors.append(error)

    try:
        first = read_lines(process)[-1]
        server = Running(first["http"], first["grpc"])
        with ThreadPoolExecutor(clients) as pool:
            try:
                for _ in range(clients):
                    pool.submit(ask, server)
                wait_until(lambda: len(answers) > 20)
                os.kill(first["pid"], signal.SIGKILL)
                killed, *_, second = read_lines(process)
                assert killed["signal"] == signal.SIGKILL
                assert second["http"] == first["http"]
                assert second["pid"] != first["pid"]
                before = len(answers)
                wait_until(lambda: len(answers) > before + 20)
            finally:
                stop.set()
        assert len(errors) <= clients
        assert set(answers) == {3.0}
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()


def test_the_command_says_what_is_wrong(tmp_path, capsys, monkeypatch):
    from oneflow.serving.command_line import main

    monkeypatch.setattr("logging.basicConfig", lambda **_: None)
    (tmp_path / "token").write_text("\n")
    save_affine(tmp_path / "m", sizes=(1,))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        cases = {
            "no folder": [str(tmp_path / "none"), "--http", "0", "--grpc", "0"],
            "no token": [str(tmp_path / "m"), "--token-file", str(tmp_path / "token")],
            "both a certificate": [str(tmp_path / "m"), "--certificate", "c.pem"],
            "address already in use": [str(tmp_path / "m"), "--http", port, "--grpc", "0"],
            "gRPC cannot listen": [str(tmp_path / "m"), "--http", "0", "--grpc", port],
            "fixed port": [str(tmp_path / "m"), "--http", "0", "--grpc", "0", "--restart"],
        }
        for message, arguments in cases.items():
            with pytest.raises(SystemExit, match=message):
                main(arguments)
