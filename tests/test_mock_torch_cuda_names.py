"""Names of ``torch.cuda`` and of what goes with it: they act, or say what is missing."""

from __future__ import annotations

import importlib
import os
import sys
import types
import zipfile

import numpy as np
import pytest
import torch

from oneflow.mock_torch.pytorch.cuda import memory
from tests.in_place import in_place_of

OURS = in_place_of("torch")
MODULES = (
    "torch.accelerator",
    "torch.backends.cuda",
    "torch.cuda",
    "torch.cuda.graphs",
    "torch.cuda.memory",
    "torch.cuda.nccl",
    "torch.cuda.tunable",
    "torch.nn.attention",
    "torch.serialization",
)
#: Getters and setters of PyTorch's own C++ settings, and a profiler of CUDA's.
_ABSENT = {"cuFFTPlanCacheAttrContextProp", "profiler"}


@pytest.mark.parametrize("module", MODULES)
def test_public_names_exist(module):
    ours, theirs = in_place_of(module), importlib.import_module(module)
    missing = {name for name in theirs.__all__ if not hasattr(ours, name)}
    assert missing <= _ABSENT


#: Calls that answer without a GPU, too.
ANSWERS = {
    "get_gencode_flags": lambda torch: torch.cuda.get_gencode_flags(),
    "is_tf32_supported": lambda torch: torch.cuda.is_tf32_supported(),
    "list_gpu_processes": lambda torch: torch.cuda.list_gpu_processes(),
    "memory_stats_as_nested_dict": lambda torch: torch.cuda.memory_stats_as_nested_dict(),
    "host_memory_stats": lambda torch: dict(torch.cuda.host_memory_stats()),
    "has_half": lambda torch: torch.cuda.has_half,
    "is_ck_sdpa_available": lambda torch: torch.backends.cuda.is_ck_sdpa_available(),
    "validate_hpu_device": lambda torch: torch.serialization.validate_hpu_device("hpu:0"),
    "validate_cuda_device": lambda torch: torch.serialization.validate_cuda_device("cuda:0"),
    "tag": lambda torch: torch.serialization.location_tag(torch.ones(1).untyped_storage()),
    "tag of meta": lambda torch: torch.serialization.location_tag(
        torch.ones(1, device="meta").untyped_storage()
    ),
    "storage type": lambda torch: (
        torch.serialization.normalize_storage_type(torch.cuda.HalfStorage).__name__
    ),
    "class of a file": lambda torch: str(torch.serialization.StorageType("LongStorage").dtype)[-5:],
    "restored": lambda torch: torch.serialization.default_restore_location(
        torch.tensor([1, 2]).untyped_storage(), "cpu"
    ).tolist(),
    "restored elsewhere": lambda torch: torch.serialization.default_restore_location(
        torch.tensor([1, 2]).untyped_storage(), "nowhere"
    ),
    "restored on a GPU": lambda torch: torch.serialization.default_restore_location(
        torch.tensor([1, 2]).untyped_storage(), "cuda:3"
    ),
    "order of bytes": lambda torch: torch.serialization.set_default_load_endianness("big"),
    "flags": lambda torch: torch.serialization.set_default_mmap_options(99),
    "checksums": lambda torch: torch.serialization.get_crc32_options(),
    "version": lambda torch: torch.serialization.check_module_version_greater_or_equal(
        types.SimpleNamespace(__version__="1.10.2"), (1, 9, 5)
    ),
    "older version": lambda torch: torch.serialization.check_module_version_greater_or_equal(
        types.SimpleNamespace(__version__="1.8.2"), (1, 9, 5)
    ),
    "cufft plans": lambda torch: torch.backends.cuda.cufft_plan_cache[0],
    "fft plans of no GPU": lambda torch: torch.accelerator.current_stream(),
    "storages differ by device": lambda torch: isinstance(
        torch.ones(1).storage(), torch.cuda.FloatStorage
    ),
    "storages of the CPU": lambda torch: isinstance(torch.ones(1).storage(), torch.FloatStorage),
    "tensors differ by device": lambda torch: isinstance(
        torch.ones(1, dtype=torch.int16), torch.cuda.ShortTensor
    ),
}


def answer(function, library):
    try:
        return function(library)
    except (RuntimeError, ValueError, TypeError, AssertionError) as error:
        return type(error).__name__


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_pytorchs(name):
    assert answer(ANSWERS[name], OURS) == answer(ANSWERS[name], torch)


REFUSED = {
    "an allocator": lambda: OURS.cuda.CUDAPluggableAllocator("a.so", "malloc", "free"),
    "a pool": lambda: OURS.cuda.MemPool(),
    "memory of no tensor": lambda: OURS.cuda.caching_allocator_alloc(8),
    "no cache": lambda: OURS.cuda.caching_allocator_enable(False),
    "a stream of others": lambda: OURS.cuda.ExternalStream(0),
    "warnings of waits": lambda: OURS.cuda.set_sync_debug_mode("warn"),
    "a handle": lambda: OURS.cuda.current_blas_handle(),
    "kernels as texts": lambda: OURS.cuda.jiterator._create_jit_fn("template"),
    "tuning of products": lambda: OURS.cuda.tunable.enable(),
    "a kernel of attention": lambda: OURS.nn.attention.activate_flash_attention_impl("FA3"),
    "shared files": lambda: OURS.serialization.set_default_mmap_options(1),
    "a kind of device": lambda: OURS.serialization.register_package(0, len, len),
    "workspaces": lambda: OURS.backends.cuda.cublas_workspace_size(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_act_says_what_is_missing(name):
    with pytest.raises(NotImplementedError, match=r"`torch\.[^`]*`: "):
        REFUSED[name]()


def test_readings_come_from_nvidias_library(monkeypatch):
    asked = []
    library = types.ModuleType("pynvml")
    library.NVML_TEMPERATURE_GPU = library.NVML_CLOCK_SM = 1
    library.nvmlInit = lambda: None
    library.nvmlDeviceGetHandleByIndex = lambda index: asked.append(index) or "by index"
    library.nvmlDeviceGetHandleByUUID = lambda name: asked.append(name) or "by name"
    library.nvmlDeviceGetTemperature = lambda handle, sensor: 41
    library.nvmlDeviceGetPowerUsage = lambda handle: 90_000
    rates = types.SimpleNamespace(gpu=70, memory=20)
    library.nvmlDeviceGetUtilizationRates = lambda handle: rates
    process = types.SimpleNamespace(pid=12, usedGpuMemory=3 << 20)
    library.nvmlDeviceGetComputeRunningProcesses = lambda handle: [process]
    monkeypatch.setitem(sys.modules, "pynvml", library)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,GPU-ab")
    cuda = OURS.cuda
    readings = cuda.temperature(0), cuda.power_draw(1), cuda.utilization(0), cuda.memory_usage(0)
    assert readings == (41, 90_000, 70, 20)
    assert cuda.list_gpu_processes(0).splitlines() == [
        "GPU:0",
        "process         12 uses        3.000 MB GPU memory",
    ]
    assert asked == [3, "GPU-ab", 3, 3, 3]


def test_readings_without_the_library_name_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(ModuleNotFoundError, match="nvidia-ml-py"):
        OURS.cuda.temperature(0)


def test_what_needs_no_gpu():
    cuda = OURS.cuda
    assert cuda.make_graphed_callables(len, ()) is len
    cuda.check_error(cuda.cudaStatus.SUCCESS)
    with pytest.raises(cuda.CudaError, match="34"):
        cuda.check_error(cuda.cudaStatus.ERROR_NOT_READY)
    cuda.set_sync_debug_mode("default")
    assert cuda.get_sync_debug_mode() == 0
    with pytest.raises(RuntimeError, match="debug_mode"):
        cuda.set_sync_debug_mode("loud")


def test_share_of_memory_is_set_before_devices_are_used(monkeypatch):
    name = "XLA_PYTHON_CLIENT_MEM_FRACTION"
    monkeypatch.setenv(name, "0.5")
    assert memory.get_per_process_memory_fraction() == 0.5
    OURS.ones(1).tolist()
    with pytest.raises(RuntimeError, match="call this before"):
        memory.set_per_process_memory_fraction(0.25)
    monkeypatch.setattr(memory, "are_devices_in_use", lambda: False)
    memory.set_per_process_memory_fraction(0.25)
    assert os.environ[name] == "0.25"
    with pytest.raises(ValueError, match="0~1"):
        memory.set_per_process_memory_fraction(1.5)
    with pytest.raises(TypeError, match="`float`"):
        memory.set_per_process_memory_fraction(1)


def test_collectives_of_one_process():
    nccl = OURS.cuda.nccl
    assert not nccl.is_available([OURS.ones(1)])
    parts = [OURS.tensor([1.0, 2.0]), OURS.tensor([3.0, 5.0])]
    target = OURS.zeros(2)
    nccl.reduce(parts, target, op=1)
    assert target.tolist() == [3, 10]
    wholes = [OURS.zeros(4), OURS.zeros(2, 2)]
    nccl.all_gather(parts, wholes)
    assert [whole.flatten().tolist() for whole in wholes] == [[1, 2, 3, 5]] * 2
    halves = [OURS.zeros(1), OURS.zeros(1)]
    nccl.reduce_scatter(parts, halves)
    assert [half.tolist() for half in halves] == [[4], [7]]
    nccl.all_reduce(parts, op=2)
    assert [part.tolist() for part in parts] == [[3, 5]] * 2
    parts[1].fill_(9)
    nccl.broadcast(parts, root=1)
    assert parts[0].tolist() == [9, 9]


@pytest.mark.parametrize("dtype", ["int16", "float64", "complex64", "uint8"])
def test_files_of_machines_with_the_other_order_of_bytes(tmp_path, dtype):
    path, numbers = tmp_path / "numbers.pt", np.arange(3).astype(dtype)
    torch.save(torch.from_numpy(numbers), path)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            if name.endswith("byteorder"):
                content = b"big"
            elif name.endswith("data/0"):
                content = numbers.astype(numbers.dtype.newbyteorder(">")).tobytes()
            archive.writestr(name, content)
    assert torch.load(path).tolist() == OURS.load(path).tolist() == numbers.tolist()


def test_order_of_bytes_of_files_that_do_not_name_it(tmp_path):
    path, numbers = tmp_path / "numbers.pt", OURS.tensor([1, 256])
    OURS.save(numbers, path, _disable_byteorder_record=True)
    order = OURS.serialization.LoadEndianness
    try:
        OURS.serialization.set_default_load_endianness(order.BIG)
        assert OURS.load(path).tolist() == [1 << 56, 1 << 48]
    finally:
        OURS.serialization.set_default_load_endianness(None)
    assert OURS.load(path).tolist() == [1, 256]
