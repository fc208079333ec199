"""Settings of the process while programs are compiled in the background."""

import os
import sys

import pytest

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


def test_products_leave_cores_to_the_compiler():
    before = blas_threads()
    with limit_blas_threads():
        assert blas_threads() == min(before, max(os.cpu_count() // 2, 1))
    assert blas_threads() == before


def test_products_use_all_cores_if_the_user_wants_it(monkeypatch):
    monkeypatch.setenv("ONEFLOW_TUNING_OFF", "blas_threads")
    before = blas_threads()
    with limit_blas_threads():
        assert blas_threads() == before
