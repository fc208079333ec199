"""The genuine Triton server, from the wheel `nvidia-pytriton`, for as long as a test needs it.

`make triton` installs the wheel and sets `TRITON_DIST` to its folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

from oneflow.serving.triton.export import write_backend


def free_ports(count):
    """Ports that nobody uses."""
    with contextlib.ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [listener.getsockname()[1] for listener in sockets]


def make_backends(dist, folder):
    """Triton's backend for Python, copied, with the one for saved graphs beside it.

    The server refuses files that are links, and each version of Python has a program of its own.
    """
    triton = dist / "pytriton" / "tritonserver"
    python = folder / "python"
    python.mkdir(parents=True)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for file in (
        triton / "backends" / "python" / "libtriton_python.so",
        triton / "backends" / "python" / "triton_python_backend_utils.py",
        triton / "python_backend_stubs" / version / "triton_python_backend_stub",
    ):
        shutil.copy(file, python)
    write_backend(folder)


class Triton:
    """A server on free ports.

    Attributes:
        process: the process.
        http: the address of HTTP.
        grpc: the address of gRPC.
    """

    def __init__(self, dist, repository, folder, *options):
        backends = folder / "backends"
        if not backends.exists():
            make_backends(dist, backends)
        http, grpc, metrics = free_ports(3)
        self.http, self.grpc = f"127.0.0.1:{http}", f"127.0.0.1:{grpc}"
        self.log = folder / "triton.log"
        self.memory = f"of{uuid.uuid4().hex[:8]}"
        libraries = [sysconfig.get_config_var("LIBDIR"), str(dist / "nvidia_pytriton.libs")]
        environment = {
            **os.environ,
            # Its processes find this interpreter's packages by the `python3` on the path.
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": ":".join(libraries),
        }
        command = [
            str(dist / "pytriton" / "tritonserver" / "bin" / "tritonserver"),
            f"--model-repository={repository}",
            f"--backend-directory={backends}",
            f"--http-port={http}",
            f"--grpc-port={grpc}",
            f"--metrics-port={metrics}",
            "--allow-gpu-metrics=false",
            "--exit-timeout-secs=5",
            f"--backend-config=python,shm-region-prefix-name={self.memory}",
            *options,
        ]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self, seconds=120):
        """Wait until it is ready."""
        end = time.monotonic() + seconds
        while True:
            with contextlib.suppress(urllib.error.URLError, OSError):
                url = f"http://{self.http}/v2/health/ready"
                with urllib.request.urlopen(url, timeout=2) as answer:
                    if answer.status == 200:
                        return
            lines = self.log.read_text(errors="replace").splitlines()
            # Tables of settings come behind the line that says what is wrong.
            text = "\n".join(line for line in lines if not line.startswith(("|", "+")))[-4000:]
            assert self.process.poll() is None, text
            assert time.monotonic() < end, text
            time.sleep(0.1)

    def stop(self):
        """End it; its Python processes and its shared memory go too, if it was killed."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for path in Path("/dev/shm").glob(f"{self.memory}*"):
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def triton(dist, repository, folder, *options):
    """A server that is ready."""
    server = Triton(dist, repository, folder, *options)
    try:
        server.wait()
        yield server
    finally:
        server.stop()
