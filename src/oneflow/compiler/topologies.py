"""Devices that are not here, for which XLA's compilers for GPUs and TPUs compile on this machine.

They need no device, only JAX's packages for it: `libtpu`, or JAX's two for CUDA with NVIDIA's
assembler and libraries.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import importlib.util
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jax.experimental import topologies

from oneflow.base.planning import planning_devices, set_planning_devices
from oneflow.compiler.persistent_cache import without_cache
from oneflow.primitives.cost.chips import Chip

_PACKAGES = {
    "cuda": ("jax-cuda12-plugin", "jax-cuda12-pjrt", "nvidia-cuda-nvcc-cu12", "nvidia-cudnn-cu12"),
    "tpu": ("libtpu",),
}
# Settings without which `libtpu` asks the machine that it is on, or the user who holds its lock.
_TPU_ENVIRONMENT = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}
_GPU_TARGET = """
gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {shared_memory}
  threads_per_core_limit: 2048
  core_count: {cores}
  fpus_per_core: {lanes}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: {bandwidth}
  l2_cache_size: {cache}
  clock_rate_ghz: {clock}
  device_memory_size: {memory}
  shared_memory_per_block_optin: {block_memory}
  cuda_compute_capability {{ major: {major} }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 }}
runtime_version {{ major: 12 minor: 9 }}
device_description_str: "{description}"
"""


def missing_packages(device_type: str) -> list[str]:
    """The packages that are missing to compile for devices of a type."""
    return [name for name in _PACKAGES.get(device_type, ()) if not _is_installed(name)]


def _is_installed(package: str) -> bool:
    try:
        importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@functools.cache
def missing_devices(chip: Chip, count: int) -> tuple[Any, ...]:
    """Devices of a kind, for which programs can be compiled and not run.

    Args:
        chip: the kind.
        count: number of devices.

    Raises:
        RuntimeError: a package is missing, or there are no slices so large.
    """
    missing = missing_packages(chip.type)
    if missing:
        raise RuntimeError(
            f"compiling for `{chip.name}` needs {'packages' if missing[1:] else 'the package'} "
            f"that {'are' if missing[1:] else 'is'} not installed: "
            f"pip install --no-deps {' '.join(missing)}"
        )
    topology = _gpus(chip, count) if chip.type == "cuda" else _tpus(chip, count)
    return tuple(topology.devices[:count])


def _gpus(chip: Chip, count: int) -> Any:
    _find_cuda_tools()
    nodes, per_node = -(-count // chip.node_size), min(count, chip.node_size)
    describe = functools.partial(
        topologies.get_topology_desc,
        platform="cuda",
        topology_name=chip.name,
        topology=f"1x{nodes}x{per_node}",
        target_config=_GPU_TARGET.format(
            bandwidth=int(chip.bandwidth), memory=chip.memory, **chip.target
        ),
    )
    try:
        return describe()
    except NotImplementedError:
        _register_cuda_plugin()
        return describe()


def _register_cuda_plugin() -> None:
    """Register JAX's plugin for GPUs, which JAX leaves out where no driver answers."""
    name = "JAX_SKIP_CUDA_CONSTRAINTS_CHECK"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        importlib.import_module("jax_plugins.xla_cuda12").initialize()
    finally:
        # Processes that are started later ask the driver.
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _tpus(chip: Chip, count: int) -> Any:
    accelerator, slices = chip.target["accelerator"], chip.target["slices"]
    for name, value in (_TPU_ENVIRONMENT | {"TPU_ACCELERATOR_TYPE": accelerator}).items():
        os.environ.setdefault(name, str(value))
    assert isinstance(slices, tuple)
    dims = next((topology for topology in slices if math.prod(topology) >= count), None)
    if dims is None:
        raise RuntimeError(
            f"compiling for `{chip.name}` is possible for at most {math.prod(slices[-1])} chips, "
            f"got {count}"
        )
    return topologies.get_topology_desc(f"{chip.name}:{'x'.join(map(str, dims))}", platform="tpu")


def _find_cuda_tools() -> None:
    """Let XLA find NVIDIA's assembler in its Python package; there is no GPU to tune for."""
    package = importlib.util.find_spec("nvidia")
    locations = (package.submodule_search_locations if package else None) or ()
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_gpu_autotune_level=0"
    for folder in (Path(location) / "cuda_nvcc" for location in locations):
        if folder.is_dir():
            os.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
            flags += f" --xla_gpu_cuda_data_dir={folder}"
            break
    os.environ["XLA_FLAGS"] = flags


@contextlib.contextmanager
def compiling_for(chip: Chip, count: int) -> Iterator[tuple[Any, ...]]:
    """Context manager: within `planning`, programs on placements are compiled for a chip."""
    before = planning_devices()
    devices = missing_devices(chip, count)
    set_planning_devices(devices)
    try:
        # Programs for absent devices cannot be read back from the cache: JAX would warn of each.
        with without_cache():
            yield devices
    finally:
        set_planning_devices(before)
