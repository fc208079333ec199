"""Every second process of `make test` leaves optimizations out, but where they matter."""

import os
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import scheduling
from tests.scheduling import CHANGED, FileScheduling, choose_compilation, set_compilation

TESTS = Path(__file__).parent
SCOPES = {
    "tests/nn/test_a.py": ["tests/nn/test_a.py::test_1"],
    "tests/graph/test_b.py": ["tests/graph/test_b.py::test_1"],
    "processes": ["tests/distributed/test_c.py::test_1[2]@processes"],
    "together": ["tests/nn/test_d.py::test_1@together"],
    f"{CHANGED}tests/nn/test_a.py": [f"tests/nn/test_a.py::test_2@{CHANGED}tests/nn/test_a.py"],
}


def process(number: int) -> SimpleNamespace:
    """A process as pytest-xdist describes it."""
    node = SimpleNamespace(gateway=SimpleNamespace(id=f"gw{number}"), workerinput={})
    choose_compilation(node)
    return node


def scopes_in_order(node: SimpleNamespace) -> list[str]:
    """The tests that a process would run if it were alone."""
    scheduling = FileScheduling.__new__(FileScheduling)
    scheduling.workqueue = OrderedDict((k, dict.fromkeys(v, False)) for k, v in SCOPES.items())
    scheduling._optimized = {}
    order = []
    while (scope := scheduling._next_scope(node)) is not None:
        order.append(scope)
        del scheduling.workqueue[scope]
    return order


def test_which_tests_a_process_runs():
    optimized = ["tests/graph/test_b.py", "processes", f"{CHANGED}tests/nn/test_a.py"]
    others = ["tests/nn/test_a.py", "together"]
    assert scopes_in_order(process(0)) == scopes_in_order(process(2)) == optimized + others
    assert scopes_in_order(process(1)) == others


@pytest.mark.parametrize(("number", "leaves_out"), [(0, False), (1, True)])
def test_flags_of_a_process(monkeypatch, number, leaves_out):
    monkeypatch.setenv("XLA_FLAGS", "--some=1")
    set_compilation(SimpleNamespace(workerinput=process(number).workerinput))
    flags = os.environ["XLA_FLAGS"].split()
    assert flags[0] == "--some=1"
    assert flags[1:] == (list(scheduling._FLAGS) if leaves_out else [])


def test_a_process_that_is_alone_optimizes(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    set_compilation(SimpleNamespace())
    assert "XLA_FLAGS" not in os.environ


def test_optimized_tests_exist():
    assert all(list(TESTS.glob(f"{path}*")) for path in scheduling.OPTIMIZED)


def test_xla_takes_the_flags():
    # XLA ends a process that has a flag that it does not know.
    code = "import jax; print(jax.jit(lambda x: x + 1)(1))"
    environment = os.environ | {"XLA_FLAGS": " ".join(scheduling._FLAGS)}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert result.stdout.strip() == b"2", result.stderr.decode()
