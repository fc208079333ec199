"""Environment variables of OneFlow 0.9 that are not read here, with what takes their place."""

from __future__ import annotations

import os

_BUFFERS = "nothing: each value of a tensor buffer is an array of its own size"

REPLACED = {
    "AUTO_PARALLEL_TRANSFER_COST": "`AutoParallelConfig.set_transfer_cost` of a graph",
    "GLOG_log_dir": "ONEFLOW_LOG_DIR",
    "GLOG_logbuflevel": "Python's `logging`, which buffers nothing",
    "GLOG_logtostderr": "Python's `logging`, of which warnings go to standard error",
    "ONEFLOW_ACTOR_ENABLE_LIGHT_ACTOR": "XLA, which has no actors",
    "ONEFLOW_BENCHMARK": "`python benchmarks/...` of the repository",
    "ONEFLOW_BOXING_DISABLE_MIDDLE_NODE_AND_CHECK": (
        "nothing: conversions always take the cheapest path"
    ),
    "ONEFLOW_COMM_NET_IB_GID_INDEX": "NCCL_IB_GID_INDEX, which NCCL reads",
    "ONEFLOW_COMM_NET_IB_HCA": "NCCL_IB_HCA, which NCCL reads",
    "ONEFLOW_COMM_NET_IB_MEM_BLOCK_SIZE": "NCCL_BUFFSIZE, which NCCL reads",
    "ONEFLOW_COMM_NET_IB_QUEUE_DEPTH": "NCCL, which chooses it",
    "ONEFLOW_DEBUG": "ONEFLOW_EAGER=immediate, which runs every operator at once",
    "ONEFLOW_DEBUG_KERNEL_SYNC_CHECK": "ONEFLOW_EAGER=immediate, which runs every operator at once",
    "ONEFLOW_DEBUG_KERNEL_SYNC_CHECK_NUMERICS": (
        "`oneflow.autograd.detect_anomaly`, which finds NaN in backward passes"
    ),
    "ONEFLOW_DEBUG_KERNEL_SYNC_CHECK_NUMERICS_DUMP": (
        "`oneflow.autograd.detect_anomaly`, which names the line"
    ),
    "ONEFLOW_DEBUG_MODE": (
        "ONEFLOW_DEBUG_PASS=ALL, which shows programs before and after every pass"
    ),
    "ONEFLOW_DECODER_ENABLE_NVJPEG_HARDWARE_ACCELERATION": (
        "Pillow, which decodes images on the CPU"
    ),
    "ONEFLOW_DISABLE_VIEW": "nothing: views always write through",
    "ONEFLOW_DRY_RUN": "`python -m oneflow.plan`, which runs nothing and needs no devices",
    "ONEFLOW_EP_CUDA_CONST_BUFFER_ELEMENT_COUNT": "XLA, which keeps constants",
    "ONEFLOW_EP_CUDA_ENABLE_TF32_EXECUTION": "`oneflow.set_float32_matmul_precision`",
    "ONEFLOW_FUNCTOR_DISABLE_FUSED_MLP": "nothing: XLA fuses what follows a product",
    "ONEFLOW_GRPC_MAX_MESSAGE_BYTE_SIZE": "nothing: tensors never pass through the control plane",
    "ONEFLOW_KERNEL_DISABLE_BLOB_ACCESS_CHECKER": "nothing: values are immutable",
    "ONEFLOW_KERNEL_ENABLE_CUDA_GRAPH": (
        "XLA_FLAGS=--xla_gpu_enable_command_buffer=..., which XLA reads"
    ),
    "ONEFLOW_KERNEL_REDUCE_SUM_USE_MATMUL": "XLA, which chooses how to sum",
    "ONEFLOW_LIBIBVERBS_PATH": "NCCL, which finds it",
    "ONEFLOW_MLIR_DUMP_IR": "XLA_FLAGS=--xla_dump_to=FOLDER, which XLA reads",
    "ONEFLOW_MLIR_ENABLE_IR_PRINTING": "ONEFLOW_DEBUG_PASS=ALL",
    "ONEFLOW_MLIR_ENABLE_ROUND_TRIP": "nothing: every program is compiled from StableHLO",
    "ONEFLOW_MLIR_STDOUT": "ONEFLOW_DEBUG_PASS=ALL, which writes to standard error",
    "ONEFLOW_ONE_EMBEDDING_DISABLE_NUMA_AWARE_ALLOCATION": "`numactl`, which places a process",
    "ONEFLOW_ONE_EMBEDDING_EMBEDDING_SHUFFLE_INDEPENTENT_STREAM": (
        "nothing: rows are exchanged on the host"
    ),
    "ONEFLOW_ONE_EMBEDDING_ENABLE_QUANTIZED_COMM": "nothing: rows are exchanged in float32",
    "ONEFLOW_ONE_EMBEDDING_GRADIENT_SHUFFLE_USE_FP16": "nothing: gradients are sent in float32",
    "ONEFLOW_ONE_EMBEDDING_NOT_FUSE_CAST_TO_UPDATE": "nothing: rows and updates are in float32",
    "ONEFLOW_ONE_EMBEDDING_PERSISTENT_TABLE_CAPACITY_HINT": (
        "nothing: tables of keys grow; `capacity` of the store is their limit"
    ),
    "ONEFLOW_ONE_EMBEDDING_PERSISTENT_TABLE_NUM_WORKERS": (
        "the operating system's file cache, which reads and writes mapped files"
    ),
    "ONEFLOW_PERSISTENT_IN_STREAM_BUFFER_SIZE_BYTES": "the operating system's file cache",
    "ONEFLOW_PROFILER_KERNEL_PROFILE_CUDA_MEMORY_BANDWIDTH": (
        "`oneflow.profiler.profiler_start`, XLA's trace"
    ),
    "ONEFLOW_PROFILER_KERNEL_PROFILE_KERNEL_FORWARD_RANGE": (
        "`oneflow.profiler.profiler_start`, XLA's trace"
    ),
    "ONEFLOW_PYTHON_STACK_GETTER": "nothing: errors always name the user's line",
    "ONEFLOW_SERVING_DEBUG": "Python's `logging`: the level of `oneflow.serving`",
    "ONEFLOW_STREAM_CUDA_EVENT_FLAG_BLOCKING_SYNC": "XLA, which waits without computing",
    "ONEFLOW_TENSOR_BUFFER_ALIGNED_SIZE": _BUFFERS,
    "ONEFLOW_TENSOR_BUFFER_GROWTH_FACTOR": _BUFFERS,
    "ONEFLOW_TENSOR_BUFFER_POOL_SIZE_FACTOR": _BUFFERS,
    "ONEFLOW_TENSOR_BUFFER_POOL_THREAD_LOCAL_CACHE_SIZE": _BUFFERS,
    "ONEFLOW_TENSOR_BUFFER_SHRINK_FACTOR": _BUFFERS,
    "ONEFLOW_TEST_CPU_ONLY": "pytest's option `-m 'not gpu'`",
    "ONEFLOW_TEST_DEVICE_NUM": "ONEFLOW_CPU_DEVICES",
    "ONEFLOW_TEST_NODE_NUM": "`--nnodes` of `python -m oneflow.distributed.launch`",
    "ONEFLOW_THREAD_ENABLE_LOCAL_MESSAGE_QUEUE": "XLA, which has no actors",
    "ONEFLOW_TIMEOUT_SECONDS": "ONEFLOW_COLLECTIVE_TIMEOUT and ONEFLOW_JOIN_TIMEOUT",
    "SBP_INFER_RULE_TAG": "nothing: the cheapest signature is inferred for every operation",
}


def replaced_variables() -> dict[str, str]:
    """Return the replaced variables that are set in this process, with their replacements."""
    return {name: place for name, place in REPLACED.items() if name in os.environ}
