"""Facts about the build: what XLA was built with, and what a build of OneFlow in C++ would have."""

from __future__ import annotations

import importlib.util
from typing import NoReturn

from oneflow.base.device import platform_devices


def with_cuda() -> bool:
    """Return whether XLA has CUDA devices here.

    Example:
        >>> import oneflow as flow
        >>> flow.sysconfig.with_cuda() == flow.cuda.is_available()
        True
    """
    return bool(platform_devices("cuda"))


def with_xla() -> bool:
    """Return True: XLA runs everything.

    Example:
        >>> import oneflow as flow
        >>> flow.sysconfig.with_xla()
        True
    """
    return True


def with_mlir() -> bool:
    """Return True: programs are compiled from StableHLO, a dialect of MLIR.

    Example:
        >>> import oneflow as flow
        >>> flow.sysconfig.with_mlir()
        True
    """
    return True


def with_mlir_cuda_codegen() -> bool:
    """Return whether MLIR becomes code for CUDA devices: where there are any.

    Example:
        >>> import oneflow as flow
        >>> flow.sysconfig.with_mlir_cuda_codegen() == flow.cuda.is_available()
        True
    """
    return with_cuda()


def with_rdma() -> bool:
    """Return False: collectives use Gloo and NCCL, which need nothing of the build.

    Example:
        >>> import oneflow as flow
        >>> flow.sysconfig.with_rdma()
        False
    """
    return False


def with_tensorrt() -> bool:
    """Return False: graphs do not run on TensorRT.

    Example:
        >>> import oneflow as flow
        >>> flow.sysconfig.with_tensorrt()
        False
    """
    return False


def with_openvino() -> bool:
    """Return whether OpenVINO is installed.

    Example:
        >>> import oneflow as flow
        >>> isinstance(flow.sysconfig.with_openvino(), bool)
        True
    """
    return importlib.util.find_spec("openvino") is not None


def has_rpc_backend_grpc() -> bool:
    """Return True: processes of a job find each other by XLA's coordination service, over gRPC.

    Example:
        >>> import oneflow as flow
        >>> flow.sysconfig.has_rpc_backend_grpc()
        True
    """
    return True


def has_rpc_backend_local() -> bool:
    """Return True: a process on its own needs no other.

    Example:
        >>> import oneflow as flow
        >>> flow.sysconfig.has_rpc_backend_local()
        True
    """
    return True


def get_cuda_version() -> int:
    """Return the version of CUDA that XLA uses, such as 12090 for 12.9; 0 without CUDA devices.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.is_available() == (flow.sysconfig.get_cuda_version() > 0)
        True
    """
    devices = platform_devices("cuda")
    return int(devices[0].client.platform_version.split()[-1]) if devices else 0


# Its name among the flags of upstream's C++ part.
cuda_version = get_cuda_version


def no_headers() -> NoReturn:
    """Refuse what a build in C++ would need.

    Raises:
        NotImplementedError: always.

    Example:
        >>> import oneflow as flow
        >>> flow.sysconfig.get_compile_flags()
        Traceback (most recent call last):
        ...
        NotImplementedError: there are no headers and libraries to build with: ...
    """
    raise NotImplementedError(
        "there are no headers and libraries to build with: operators are written in Python, see "
        "docs/add_an_operator.md"
    )
