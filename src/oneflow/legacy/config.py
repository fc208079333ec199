"""Settings of the session: `oneflow.config`.

The settings in `ACCEPTED` change nothing, for the reasons given there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.legacy.function_config import Accepted
from oneflow.legacy.session import default_session

ACCEPTED = {
    "collect_act_event": "see oneflow.profiler",
    "comm_net_worker_num": "XLA connects processes",
    "compute_thread_pool_size": "XLA starts as many threads as there are cores",
    "disable_group_boxing_by_dst_parallel": "XLA groups collectives",
    "enable_debug_mode": "see nn.Graph.debug",
    "enable_legacy_model_io": "there is one format of variables, and the old ones are read",
    "enable_mem_chain_merge": "XLA plans memory",
    "enable_model_io_v2": "there is one format of variables, and the old ones are read",
    "enable_numa_aware_cuda_malloc_host": "XLA allocates memory",
    "enable_tensor_float_32_compute": "products of float32 are exact",
    "max_mdsave_worker_num": "variables are saved one after the other",
    "nccl_use_compute_stream": "XLA schedules kernels",
    "persistence_buf_byte": "files are read and written whole",
    "rdma_mem_block_mbyte": "XLA connects processes",
    "rdma_recv_msg_buf_mbyte": "XLA connects processes",
    "reserved_device_mem_mbyte": "XLA plans memory",
    "reserved_host_mem_mbyte": "XLA plans memory",
    "save_downloaded_file_to_local_fs": "files are read where they are",
    "thread_enable_local_message_queue": "there is no such queue",
    "use_rdma": "XLA connects processes",
}
# Groups of such settings.
ACCEPTED_GROUPS = {"collective_boxing": "XLA groups and runs collectives"}


def gpu_device_num(val: int) -> None:
    """Run jobs on this many GPUs of the machine; without a GPU, devices of the CPU stand for them.

    Raises:
        ValueError: `val` is not a positive integer.
        RuntimeError: a job was called already.

    Example:
        >>> import oneflow as flow
        >>> flow.config.gpu_device_num(1)
    """
    default_session().use_devices("cuda", val)


def cpu_device_num(val: int) -> None:
    """Run jobs on this many devices of the CPU.

    Raises:
        ValueError: `val` is not a positive integer.
        RuntimeError: a job was called already.

    Example:
        >>> import oneflow as flow
        >>> flow.config.cpu_device_num(1)
    """
    default_session().use_devices("cpu", val)


def machine_num(val: int) -> None:
    """State that the job runs on one machine; several are started by the launcher.

    Raises:
        NotImplementedError: `val` is not 1.

    Example:
        >>> import oneflow as flow
        >>> flow.config.machine_num(1)
    """
    if val != 1:
        raise NotImplementedError(
            "a job function runs on one machine; start programs of several machines with "
            "`python -m oneflow.distributed.launch --nnodes ...` and write them with nn.Graph"
        )


def ctrl_port(val: int | Sequence[int]) -> None:
    """Accept a port; a program on one machine needs none, and the launcher chooses its own.

    Raises:
        ValueError: it is not a port.

    Example:
        >>> import oneflow as flow
        >>> flow.config.ctrl_port(50051)
    """
    for port in [val] if isinstance(val, int) else val:
        if not 0 < port < 65536:
            raise ValueError(f"a port is a number from 1 to 65535, got {port}")


def load_library(val: str) -> None:
    """Load a library of OneFlow's operators in C++.

    Raises:
        NotImplementedError: always; operators are written in Python, see `oneflow.user_op_builder`.

    Example:
        >>> import oneflow as flow
        >>> flow.config.load_library("operators.so")
        Traceback (most recent call last):
            ...
        NotImplementedError: cannot load operators.so: operators of OneFlow's C++ runt...
    """
    raise NotImplementedError(
        f"cannot load {val}: operators of OneFlow's C++ runtime do not run on XLA; register a "
        "Python function with flow.experimental.register_user_op"
    )


def legacy_model_io_enabled() -> bool:
    """Return False: variables are saved in one format.

    Example:
        >>> import oneflow as flow
        >>> flow.config.legacy_model_io_enabled()
        False
    """
    return False


def __getattr__(name: str) -> Any:
    if name in ACCEPTED_GROUPS:
        return Accepted()
    if name in ACCEPTED:
        return lambda *values, **named: None
    raise AttributeError(f"oneflow.config has no setting `{name}`")
