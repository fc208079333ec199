"""Facts about the build."""

from oneflow.runtime.build import (
    get_cuda_version as get_cuda_version,
    has_rpc_backend_grpc as has_rpc_backend_grpc,
    has_rpc_backend_local as has_rpc_backend_local,
    no_headers as get_compile_flags,
    no_headers as get_include,
    no_headers as get_lib,
    no_headers as get_liboneflow_link_flags,
    no_headers as get_link_flags,
    with_cuda as with_cuda,
    with_mlir as with_mlir,
    with_mlir_cuda_codegen as with_mlir_cuda_codegen,
    with_openvino as with_openvino,
    with_rdma as with_rdma,
    with_tensorrt as with_tensorrt,
    with_xla as with_xla,
)

__all__ = [
    "get_compile_flags",
    "get_cuda_version",
    "get_include",
    "get_lib",
    "get_liboneflow_link_flags",
    "get_link_flags",
    "has_rpc_backend_grpc",
    "has_rpc_backend_local",
    "with_cuda",
    "with_mlir",
    "with_mlir_cuda_codegen",
    "with_openvino",
    "with_rdma",
    "with_tensorrt",
    "with_xla",
]
