"""Settings of the process while programs are compiled in the background."""

import sys

import pytest

import oneflow as flow
from oneflow.runtime import cold
from oneflow.runtime.background import BackgroundCompiler
from oneflow.tuning import while_compiling
from oneflow.tuning.while_compiling import limit_blas_threads


@pytest.fixture(autouse=True)
def fresh_switches():
    while_compiling.blas_thread_functions.cache_clear()
    yield
    while_compiling.blas_thread_functions.cache_clear()


def interval_while_compiling():
    compiler, seen = BackgroundCompiler(), []
    before = sys.getswitchinterval()
    compiler.submit(lambda: seen.append(sys.getswitchinterval()))
    compiler.wait()
    compiler.close()
    assert sys.getswitchinterval() == before
    return seen[0] / before


def test_the_switch_interval_is_short_meanwhile():
    assert interval_while_compiling() < 1


def test_the_switch_interval_stays_if_the_user_wants_it_to(monkeypatch):
    monkeypatch.setenv("ONEFLOW_TUNING_OFF", "switch_interval")
    assert interval_while_compiling() == 1


def blas_threads():
    functions = while_compiling.blas_thread_functions()
    if functions is None:
        pytest.skip("NumPy computes its products with another library than OpenBLAS")
    return functions[0]()


@pytest.fixture
def two_blas_threads():
    """The number of threads that products use is 2."""
    before = blas_threads()
    set_threads = while_compiling.blas_thread_functions()[1]
    set_threads(2)
    yield
    set_threads(before)


def threads_in_products(monkeypatch, rows):
    """The numbers of threads that a new program's operators may use, those of products last."""
    seen, interpret = [], cold.interpret

    def note(operation, function, operands):
        seen.append(blas_threads())
        return interpret(operation, function, operands)

    x = flow.ones(rows, 512)
    x.numpy()
    with monkeypatch.context() as patch:
        patch.setattr(cold, "interpret", note)
        assert ((x + 1.0) @ flow.ones(512, 64))[0, 0].item() == 1024
    return seen


@pytest.mark.usefixtures("two_blas_threads")
def test_one_core_computes_small_products(monkeypatch):
    seen = threads_in_products(monkeypatch, 33)
    assert set(seen) == {1, 2}
    assert blas_threads() == 2


@pytest.mark.usefixtures("two_blas_threads")
def test_all_cores_compute_large_products(monkeypatch):
    flow.eager.synchronize()
    assert set(threads_in_products(monkeypatch, 2063)) == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_large_products_leave_cores_to_the_compiler(monkeypatch):
    monkeypatch.setattr(BackgroundCompiler, "is_compiling", True)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert set(threads_in_products(monkeypatch, 2065)) == {1, 2}


@pytest.mark.usefixtures("two_blas_threads")
def test_products_use_no_more_cores_than_they_may():
    with limit_blas_threads(64):
        assert blas_threads() == 2


def test_products_use_all_cores_if_the_user_wants_it(monkeypatch):
    monkeypatch.setenv("ONEFLOW_TUNING_OFF", "blas_threads")
    before = blas_threads()
    with limit_blas_threads(1):
        assert blas_threads() == before
