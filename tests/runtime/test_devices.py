"""Devices: their names, and a clear word when one is not there."""

import time

import pytest

import oneflow as flow
from oneflow.cuda import accelerator_memory

without_gpu = pytest.mark.skipif(flow.cuda.is_available(), reason="this machine has a GPU")


def test_a_number_is_a_cuda_device():
    assert flow.device(1) is flow.device("cuda", 1)
    for wrong in (-1, True):
        with pytest.raises(RuntimeError, match=r"-1|True"):
            flow.device(wrong)


def test_equal_devices_are_one_object():
    assert flow.device("cpu:0") is flow.device("cpu") is flow.device("cpu", 0)
    assert flow.device(flow.device("cpu")) is flow.device("cpu")
    assert repr(flow.device("cpu")) == "device(type='cpu', index=0)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("abacus",), "Expected one of cpu, cuda, tpu device type .*: abacus"),
        (("cpu:x",), "invalid device string `cpu:x`"),
        (("cuda:1", 2), "device index given twice"),
        (("cpu", -1), "must not be negative"),
    ],
)
def test_bad_devices_are_refused(arguments, message):
    with pytest.raises(RuntimeError, match=message):
        flow.device(*arguments)


@without_gpu
@pytest.mark.parametrize(
    "use",
    [
        lambda: flow.ones(2).cuda(),
        lambda: flow.ones(2, device="cuda"),
        lambda: flow.ones(2).to("cuda:0"),
        lambda: flow.nn.Linear(2, 2).cuda(),
        lambda: flow.cuda.set_device(0),
        lambda: flow.cuda.synchronize(),
        lambda: flow.cuda.get_device_name(),
    ],
)
def test_a_missing_gpu_is_one_clear_error(use):
    with pytest.raises(RuntimeError, match=r"`cuda:0` is not available.*oneflow-xla\[cuda\]"):
        use()


@without_gpu
def test_asking_about_gpus_without_one():
    assert flow.cuda.device_count() == 0
    assert flow.cuda.memory_allocated() == 0
    flow.cuda.manual_seed_all(3)
    assert flow.initial_seed() == 3
    flow.cuda.empty_cache()


def test_events_measure_what_runs_between_them():
    first, last = flow.cuda.Event(enable_timing=True), flow.cuda.Event(enable_timing=True)
    with flow.cuda.stream(flow.cuda.Stream("cpu")) as stream:
        stream.record_event(first)
        time.sleep(0.02)
        flow.cuda.current_stream("cpu").record_event(last)
    assert first.elapsed_time(last) >= 20
    assert last.elapsed_time(first) <= -20
    assert stream == flow.cuda.default_stream("cpu")
    with pytest.raises(ValueError, match="must be recorded"):
        first.elapsed_time(flow.cuda.Event(enable_timing=True))
    with pytest.raises(ValueError, match="enable_timing"):
        first.elapsed_time(flow.cuda.Event())


@without_gpu
def test_without_an_accelerator():
    assert not flow.accelerator.is_available()
    assert flow.accelerator.current_accelerator() is None
    assert flow.accelerator.device_count() == 0
    accelerator = flow.accelerator
    with accelerator.device_index(None):
        assert accelerator.current_accelerator() is None
    for call in (
        *(accelerator.current_device_index, accelerator.current_device_idx),
        *(accelerator.synchronize, accelerator.memory_stats, accelerator.memory_allocated),
        *(accelerator.memory_reserved, accelerator.get_memory_info),
        *(accelerator.reset_peak_memory_stats, accelerator.device_index(0).__enter__),
    ):
        with pytest.raises(RuntimeError, match="there is no accelerator"):
            call()
    accelerator.empty_cache()
    assert flow.cuda.memory_stats() == {}
    assert flow.cuda.memory_reserved() == flow.cuda.max_memory_reserved() == 0


def test_the_memory_of_an_accelerator_is_xlas_account(monkeypatch):
    account = {"bytes_in_use": 3, "peak_bytes_in_use": 5, "bytes_limit": 10, "pool_bytes": 7}
    monkeypatch.setattr(accelerator_memory, "named_accelerator", lambda index: flow.device("cpu"))
    monkeypatch.setattr(accelerator_memory, "memory_statistics", lambda device: account)
    assert flow.accelerator.memory_stats() == account
    assert flow.accelerator.memory_allocated(0) == 3
    assert flow.accelerator.max_memory_allocated() == 5
    assert flow.accelerator.memory_reserved() == 7
    assert flow.accelerator.max_memory_reserved() == 5
    assert flow.accelerator.get_memory_info() == (7, 10)


@pytest.mark.parametrize(
    "move",
    [
        lambda layer: layer.to(1),
        lambda layer: layer.to(device=1),
        lambda layer: layer.to_empty(device=1),
        lambda layer: layer.cuda(1),
    ],
)
def test_numbers_are_cuda_devices(move) -> None:
    """As for tensors; where there is none, the error names it."""
    layer = flow.nn.Linear(2, 2)
    if flow.cuda.device_count() > 1:
        assert move(layer).weight.device == flow.device("cuda", 1)
    else:
        with pytest.raises(RuntimeError, match="cuda:1"):
            move(layer)
