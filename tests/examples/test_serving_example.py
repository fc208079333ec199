"""The commands of `docs/serving.md`: from a trained network to answers."""

import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import oneflow as flow

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "serving.md"

pytest.importorskip("aiohttp", reason="pip install 'oneflow-xla[serving]'")
pytest.importorskip("tritonclient", reason="pip install 'tritonclient[grpc,http]'")


def commands():
    """The five commands of the page, and the requests with curl."""
    first, second, *_ = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return first.splitlines(), second


def test_the_commands_begin_with_the_demo():
    lines, _ = commands()
    assert len(lines) == 5
    assert lines[0] == "make demo"
    assert re.search(r"^demo:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert "pip install -e '.[serving]'" in lines[1]


def make_checkpoint(folder):
    """Write the checkpoint of a network; returns what it takes the images of the example for."""
    spec = importlib.util.spec_from_file_location("mnist", ROOT / "examples" / "mnist.py")
    mnist = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mnist)
    network = mnist.Net()
    for parameter in network.parameters():
        parameter.data *= 3  # so that it takes images for different digits
    folder.mkdir(exist_ok=True)
    flow.save({"model": network.state_dict()}, folder / "mnist.flow")
    _, (images, _) = mnist.load_digits()
    answers = mnist.predict(network, images[-8:]).tolist()
    assert len(set(answers)) > 1
    return [str(answer) for answer in answers]


def free_ports():
    """Two ports that nobody uses."""
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        return one.getsockname()[1], two.getsockname()[1]


@pytest.mark.multiprocess
@pytest.mark.slow
@pytest.mark.one_in(2)
def test_the_commands_lead_to_answers(tmp_path, monkeypatch):
    """The commands as they stand but for the ports, with a network that `make demo` might make."""
    shutil.copytree(
        ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("output")
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    lines, curl = commands()
    http, grpc = free_ports()

    def run(command, check=True):
        python = command.replace(".venv/bin/python", sys.executable)
        python = python.replace(":8000", f":{http}")
        return subprocess.run(
            python,
            shell=True,
            executable="/bin/bash",
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=300,
            check=check,
        ).stdout

    monkeypatch.syspath_prepend(ROOT / "examples")
    expected = make_checkpoint(tmp_path / "examples" / "output")
    assert "saved" in run(lines[2])
    command = lines[3].removesuffix(" &").replace(".venv/bin/python", sys.executable).split()
    command += ["--http", str(http), "--grpc", str(grpc)]
    server = subprocess.Popen(command, cwd=tmp_path, env=environment)
    try:
        end = time.monotonic() + 120
        while "200" not in run(
            "curl -so /dev/null -w '%{http_code}' 127.0.0.1:8000/v2/health/ready", check=False
        ):
            assert time.monotonic() < end
            time.sleep(0.2)
        for protocol, port in (("http", http), ("grpc", grpc)):
            text = run(f"{lines[4]} --protocol {protocol} --address 127.0.0.1:{port}")
            assert re.findall(r"^image \d: (\d) ", text, re.MULTILINE) == expected
        assert '"probability"' in run(curl)
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
