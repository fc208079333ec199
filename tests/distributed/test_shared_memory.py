"""Tensors in memory that processes share."""

from __future__ import annotations

import gc
import os
from typing import Any

import pytest

import oneflow as flow
from oneflow import multiprocessing, nn


def _add_three(tensor: Any) -> None:
    tensor.add_(3)


def _answer(received: Any, answers: Any) -> None:
    tensor, column = received.get()
    column.fill_(4)
    answers.put(tensor.tolist())
    received.get()
    answers.put(tensor[0].tolist())


def _train(number: int, model: Any) -> None:
    optimizer = flow.optim.SGD(model.parameters(), lr=0.5)
    model(flow.ones(1, 2)).sum().backward()
    optimizer.step()


def _count(number: int, tensor: Any) -> None:
    for _ in range(100):
        tensor[number] += 1
        tensor.view(2, 2)[:, 0][number] += 1


@pytest.mark.multiprocess
def test_writes_to_different_elements_are_kept() -> None:
    tensor = flow.zeros(4).share_memory_()
    multiprocessing.spawn(_count, (tensor,), nprocs=2)
    assert tensor.tolist() == [200, 100, 100, 0]


@pytest.mark.multiprocess
def test_a_process_writes_to_the_tensor_that_it_gets() -> None:
    context = multiprocessing.get_context("spawn")
    tensor = flow.zeros(5, 5).share_memory_()
    view = tensor[1:, 2]
    process = context.Process(target=_add_three, args=(view,))
    process.start()
    process.join()
    assert view.tolist() == [3] * 4
    assert tensor.sum().item() == 12


@pytest.mark.multiprocess
def test_queues_send_the_memory() -> None:
    context = multiprocessing.get_context("spawn")
    to_process, answers = context.Queue(), context.Queue()
    tensor = flow.zeros(2, 2).share_memory_()
    process = context.Process(target=_answer, args=(to_process, answers))
    process.start()
    to_process.put((tensor, tensor[:, 1]))
    assert answers.get() == [[0, 4], [0, 4]] == tensor.tolist()
    tensor[0] = 7
    to_process.put(None)
    assert answers.get() == [7, 7]
    process.join()


@pytest.mark.multiprocess
def test_processes_train_one_module() -> None:
    model = nn.Linear(2, 1)
    nn.init.zeros_(model.weight)
    assert model.share_memory() is model
    assert model.weight.is_shared()
    multiprocessing.spawn(_train, (model,), nprocs=2)
    assert model.weight.tolist() == [[-1, -1]]


def test_views_and_storages_say_that_they_are_shared() -> None:
    tensor = flow.arange(6).reshape(2, 3)
    row = tensor[1]
    assert not row.is_shared()
    assert not tensor.untyped_storage().is_shared()
    tensor.storage().share_memory_()
    assert row.is_shared()
    assert tensor.untyped_storage().is_shared()
    row += 1
    assert tensor.tolist() == [[0, 1, 2], [4, 5, 6]]
    assert flow.zeros(0).share_memory_().tolist() == []


def test_the_file_is_closed_with_the_last_tensor() -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("files of a process are counted in /proc")
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    tensor = flow.zeros(4).share_memory_()
    assert len(os.listdir("/proc/self/fd")) == before + 2  # the file, and that of its map
    del tensor
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_only_memory_of_the_cpu_is_shared() -> None:
    with pytest.raises(RuntimeError, match="only values on the CPU"):
        flow.zeros(2, device="meta").share_memory_()
