"""Importing the package does nothing to the process; the first program prepares it."""

import sys

import pytest

from tests.data.scripts import run

# The state of a process: everything that an import could leave behind.
STATE = """
    import atexit, gc, os, signal, sys, threading

    def state():
        return {
            "environment": dict(os.environ),
            "descriptors": {n: os.path.realpath(f"/proc/self/fd/{n}") for n in range(32)},
            "signals": {n: signal.getsignal(n) for n in signal.valid_signals()},
            "threads": threading.enumerate(),
            "native threads": len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 0,
            "collector": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()),
            "exit handlers": atexit._ncallbacks(),
            "hooks": (sys.excepthook, threading.excepthook, sys.unraisablehook, sys.displayhook),
        }

    QUIET = ("socket.", "subprocess.", "os.fork", "os.posix_spawn", "os.mkdir", "os.rename",
             "os.remove", "os.putenv", "os.chmod", "tempfile.", "shutil.", "ctypes.dlsym",
             "signal.", "_thread.start")
    events = []

    def note(event, arguments):
        writes = event == "open" and str(arguments[1]) > "r" and set(arguments[1]) & set("wax+")
        if writes or event.startswith(QUIET):
            events.append((event, str(arguments)))
"""
IMPORT = """
    # The packages below may change it.
    import jax, jax.export, jax.experimental.multihost_utils
    import multiprocessing.util, multiprocessing.connection, xml.etree.ElementTree

    before = state()
    sys.addaudithook(note)
    import oneflow
    import oneflow.distributed, oneflow.plan, oneflow.utils.data

    after = state()
    for name in before:
        if before[name] != after[name]:
            print(name, before[name], after[name])
    print(*events, sep="\\n", end="")
    from jax._src import xla_bridge

    assert not xla_bridge.backends_are_initialized()
    assert not os.path.exists(os.environ["ONEFLOW_CACHE_DIR"])
"""


FIRST_PROGRAM = """
    import oneflow as flow
    from oneflow.tuning.linux import FREE_LISTS
    from jax._src import xla_bridge

    assert not xla_bridge.backends_are_initialized() and not FREE_LISTS._is_enabled
    order = []

    def note(event, arguments):
        if event == "ctypes.dlsym" and arguments[1] == "mallopt":
            order.append("allocator")
        if event == "os.mkdir" and str(arguments[0]).endswith("cores"):
            order.append("cache")
            assert not xla_bridge.backends_are_initialized()

    sys.addaudithook(note)
    x = flow.ones(3) * 2 + flow.zeros(3, 3)
    assert x.sum().item() == 18
    assert (x + 1).sum().item() == 27
    print(*dict.fromkeys(order))
    import jax

    assert jax.config.jax_compilation_cache_dir.startswith(os.environ["ONEFLOW_CACHE_DIR"])
    assert os.listdir(jax.config.jax_compilation_cache_dir)
"""
AFTER_JAX = """
    import os

    os.environ["ONEFLOW_EAGER"] = "compiled"
    import oneflow as flow, jax

    jax.jit(lambda x: x + 1)(1.0).block_until_ready()
    assert (flow.ones(7) * 3).sum().item() == 21
    folder = jax.config.jax_compilation_cache_dir
    assert any(name.startswith("jit") for name in os.listdir(folder)), os.listdir(folder)
"""


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    """A cache folder that does not exist yet."""
    monkeypatch.setenv("ONEFLOW_CACHE_DIR", str(tmp_path / "cache"))


def test_importing_the_package_does_nothing_to_the_process(tmp_path, monkeypatch):
    # Whoever imports a module first writes its bytecode.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    result = run(STATE + IMPORT, tmp_path)
    assert not result.returncode, result.stderr
    assert not result.stdout


def test_the_first_program_prepares_the_process(tmp_path):
    result = run(STATE + FIRST_PROGRAM, tmp_path)
    assert not result.returncode, result.stderr
    assert result.stdout.split() == ["allocator"] * sys.platform.startswith("linux") + ["cache"]


def test_programs_are_cached_although_jax_compiled_before(tmp_path):
    result = run(AFTER_JAX, tmp_path)
    assert not result.returncode, result.stderr


def test_other_code_on_jax_keeps_its_settings(tmp_path):
    """JAX's results beside tensors of 64 bits have the dtypes that they have without them."""
    code = """
        import os, jax, jax.numpy as jnp
        del os.environ["ONEFLOW_CPU_DEVICES"]  # JAX starts before the package
        x = jnp.ones(3)
        plus_one = jax.jit(lambda x: x + 1)
        before = [x.dtype, plus_one(2.0).dtype, jnp.arange(2).dtype]
        import oneflow as flow
        y = flow.ones(4, dtype=flow.float64, requires_grad=True)
        for _ in range(4):
            (y @ y).backward()
            assert y.grad.dtype is flow.float64 and flow.arange(3).sum().item() == 3
        after = [jnp.ones(3).dtype, plus_one(2.0).dtype, jnp.arange(2).dtype]
        assert before == after == ["float32", "float32", "int32"], (before, after)
        assert flow.tensor(x).dtype is flow.float32
        with jax.enable_x64(True):
            wide = jnp.ones(3)
        assert flow.tensor(wide).dtype is flow.as_tensor(wide).dtype is flow.float64
        assert flow.tensor([wide[0], wide[1]]).dtype is flow.float64
    """
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
