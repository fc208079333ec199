"""Results of jobs without annotation, and their callbacks."""

from __future__ import annotations

import gc
import queue
import threading

import numpy as np
import pytest

import oneflow as flow
import oneflow.typing as tp

X = np.float32([[1, 2, 3], [4, 5, 6]])


def test_result_without_annotation():
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2, 3))):
        return x + 1

    assert job(X).get().numpy().tolist() == (X + 1).tolist()
    seen = []
    job(X).async_get(seen.append).wait()
    assert seen[0].shape == (2, 3)
    # The attributes of an array that programs read: `size` is a number.
    for result in (job(X).get(), seen[0]):
        assert (result.size, result.sum(), (result * 2).mean()) == (
            6,
            (X + 1).sum(),
            2 * (X + 1).mean(),
        )
        assert type(result.numpy()) is type(result + 1) is np.ndarray
        assert f"{result.max():.1f}" == f"{(X + 1).max():.1f}"
    with pytest.raises(ZeroDivisionError):
        job(X).async_get(lambda result: 1 // 0).wait()


def test_callbacks_run_in_the_order_of_the_calls():
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2, 3))):
        return x

    first_may_end, seen = threading.Event(), []

    def first(result):
        first_may_end.wait(60)
        job(X).async_get(lambda inner: seen.append("inside")).wait()
        seen.append("first")

    handles = [job(X).async_get(first)]
    handles += [job(X).async_get(lambda result, k=k: seen.append(k)) for k in range(4)]
    first_may_end.set()
    for handle in handles:
        handle.wait()
    assert seen == ["inside", "first", 0, 1, 2, 3]


def test_an_error_of_a_callback_that_nobody_waits_for_is_reported(monkeypatch):
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2, 3))):
        return x

    reported = queue.SimpleQueue()
    monkeypatch.setattr(threading, "excepthook", reported.put)
    job(X).async_get(lambda result: 1 // 0)
    assert reported.get(timeout=60).exc_type is ZeroDivisionError
    # Told once: to who waits.
    handle = job(X).async_get(lambda result: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        handle.wait()
    del handle
    gc.collect()
    assert reported.empty()
