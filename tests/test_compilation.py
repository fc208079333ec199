"""Programs of tests are compiled as for users, or sooner."""

import os
from pathlib import Path

from jax._src import compiler

from tests import compilation
from tests.compilation import OPTIMIZED_ONE_IN, Compilation, is_optimized
from tests.sampling import Sample

TESTS = Path(__file__).parent
EXTRA_OPTION = b"xla_cpu_disable_new_fusion_emitters"


def serialized_options() -> bytes:
    return compiler.get_compile_options(1, 1).SerializeAsString()


def test_options_of_programs_and_processes(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "")
    monkeypatch.setattr(Compilation, "is_optimized", True)
    monkeypatch.setattr(compilation, "release_compiled", lambda: None)
    plain = serialized_options()
    assert EXTRA_OPTION not in plain
    Compilation.choose(is_optimized=False)
    assert EXTRA_OPTION in serialized_options()
    assert EXTRA_OPTION.decode() in os.environ["XLA_FLAGS"]
    Compilation.choose(is_optimized=True)
    assert serialized_options() == plain
    assert EXTRA_OPTION.decode() not in os.environ["XLA_FLAGS"]


def test_some_files_are_optimized_and_laws_always():
    files = sorted(TESTS.glob("graph/test_*.py")) + sorted(TESTS.glob("onnx/test_*.py"))
    chosen = [{file for file in files if is_optimized(file, Sample(n))} for n in range(100)]
    assert set().union(*chosen) == set(files)
    mean = sum(map(len, chosen)) / len(chosen) / len(files)
    assert 0.5 < mean * OPTIMIZED_ONE_IN < 2
    assert is_optimized(TESTS / "laws/test_operators.py", Sample(0))
    assert all(is_optimized(file, Sample(None)) for file in files)
