"""Import, training and saving need nothing that only Linux has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Other packages, which know what their systems lack, come first.
PREPARE = """
import asyncio, concurrent.futures.process, ctypes, importlib, io, multiprocessing.connection
import multiprocessing.shared_memory, os, platform, shutil, signal, socket, subprocess, sys
import tempfile, uuid
import aiohttp.web, cloudpickle, grpc, jax.experimental.multihost_utils, matplotlib, numpy, onnx
import onnxruntime, PIL.Image, prometheus_client, scipy.special, tensorboardX

# Modules and functions that Windows or macOS lack.
for module in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[module] = None
lacking = "MFD_CLOEXEC O_CLOEXEC O_DIRECTORY copy_file_range eventfd fork forkpty geteuid"
lacking += " getloadavg getpgid getuid killpg memfd_create mkfifo pipe2 posix_fadvise"
lacking += " posix_fallocate pread preadv pwrite register_at_fork sched_getaffinity"
lacking += " sched_setaffinity sendfile setsid statvfs sysconf uname waitid"
for name in lacking.split():
    delattr(os, name)
lacking = "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 SIGUSR2"
lacking += " pthread_kill pthread_sigmask setitimer"
for name in lacking.split():
    delattr(signal, name)
del socket.AF_UNIX

def refuse(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith("/proc"):
        raise FileNotFoundError(arguments[0])

def function_of_library(library, name):
    if name in ("malloc_trim", "malloc_usable_size", "mallopt", "prctl", "sbrk"):
        raise AttributeError(name)
    return find_function(library, name)

find_function, ctypes.CDLL.__getattr__ = ctypes.CDLL.__getattr__, function_of_library
sys.addaudithook(refuse)
"""
IMPORT = """
sys.argv = ["import_modules"]
from tests.architecture.import_modules import main
main()
"""
TRAIN = """
import oneflow as flow
model = flow.nn.Linear(2, 1)
optimizer = flow.optim.Adam(model.parameters())
for _ in range(4):
    optimizer.zero_grad()
    model(flow.ones(3, 2)).square().mean().backward()
    optimizer.step()
class Forward(flow.nn.Graph):
    def __init__(self):
        super().__init__()
        self.model = model
    def build(self, x):
        return self.model(x)
expected = model(flow.ones(3, 2)).numpy()
assert abs(Forward()(flow.ones(3, 2)).numpy() - expected).max() < 1e-6
flow.save(model.state_dict(), sys.argv[1])
model.load_state_dict(flow.load(sys.argv[1]))
loader = flow.utils.data.DataLoader(flow.utils.data.TensorDataset(flow.ones(4, 2)), batch_size=2)
print(len(list(loader)))
"""


def test_training_needs_nothing_of_linux(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PREPARE + TRAIN, str(tmp_path / "model")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("2\n", 0), done.stderr


def test_every_module_is_imported():
    done = subprocess.run(
        [sys.executable, "-c", PREPARE + IMPORT],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("{}", 0), done.stderr


@pytest.mark.parametrize(
    "use",
    ["os.fork()", "open('/proc/self/maps')", "ctypes.CDLL(None).mallopt", "import fcntl"],
)
def test_what_only_linux_has_is_missing(use):
    """The other tests would notice a use."""
    done = subprocess.run(
        [sys.executable, "-c", f"{PREPARE}\n{use}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "Error" in done.stderr.splitlines()[-1]
