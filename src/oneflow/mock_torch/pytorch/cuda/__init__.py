"""Names that ``torch.cuda`` has beside `oneflow.cuda`."""

from oneflow.mock_torch.pytorch.cuda import jiterator as jiterator, nccl as nccl, tunable as tunable
from oneflow.mock_torch.pytorch.cuda.device_queries import (
    clock_rate as clock_rate,
    device_memory_used as device_memory_used,
    list_gpu_processes as list_gpu_processes,
    memory_usage as memory_usage,
    power_draw as power_draw,
    temperature as temperature,
    utilization as utilization,
)
from oneflow.mock_torch.pytorch.cuda.graphs import (
    CUDAGraph as CUDAGraph,
    StreamContext as StreamContext,
    graph as graph,
    graph_pool_handle as graph_pool_handle,
    is_current_stream_capturing as is_current_stream_capturing,
    make_graphed_callables as make_graphed_callables,
)
from oneflow.mock_torch.pytorch.cuda.memory import (
    CUDAPluggableAllocator as CUDAPluggableAllocator,
    MemPool as MemPool,
    caching_allocator_alloc as caching_allocator_alloc,
    caching_allocator_delete as caching_allocator_delete,
    caching_allocator_disabled as caching_allocator_disabled,
    caching_allocator_enable as caching_allocator_enable,
    change_current_allocator as change_current_allocator,
    get_allocator_backend as get_allocator_backend,
    get_per_process_memory_fraction as get_per_process_memory_fraction,
    host_memory_stats as host_memory_stats,
    host_memory_stats_as_nested_dict as host_memory_stats_as_nested_dict,
    max_memory_cached as max_memory_cached,
    memory_cached as memory_cached,
    memory_snapshot as memory_snapshot,
    memory_stats_as_nested_dict as memory_stats_as_nested_dict,
    reset_accumulated_host_memory_stats as reset_accumulated_host_memory_stats,
    reset_accumulated_memory_stats as reset_accumulated_memory_stats,
    reset_peak_host_memory_stats as reset_peak_host_memory_stats,
    set_per_process_memory_fraction as set_per_process_memory_fraction,
    use_mem_pool as use_mem_pool,
)
from oneflow.mock_torch.pytorch.cuda.runtime import (
    CudaError as CudaError,
    DeferredCudaCallError as DeferredCudaCallError,
    check_error as check_error,
    cudart as cudart,
    cudaStatus as cudaStatus,
    get_gencode_flags as get_gencode_flags,
    has_half as has_half,
    is_tf32_supported as is_tf32_supported,
)
from oneflow.mock_torch.pytorch.cuda.selection import (
    __getattr__ as __getattr__,
    _lazy_call as _lazy_call,
    device as device,
    device_of as device_of,
    get_arch_list as get_arch_list,
    reset_max_memory_allocated as reset_max_memory_allocated,
    reset_max_memory_cached as reset_max_memory_cached,
)
from oneflow.mock_torch.pytorch.cuda.storage_types import *  # noqa: F403
from oneflow.mock_torch.pytorch.cuda.streams import (
    ExternalStream as ExternalStream,
    GreenContext as GreenContext,
    can_device_access_peer as can_device_access_peer,
    current_blas_handle as current_blas_handle,
    current_solver_handle as current_solver_handle,
    get_stream_from_external as get_stream_from_external,
    get_sync_debug_mode as get_sync_debug_mode,
    ipc_collect as ipc_collect,
    set_stream as set_stream,
    set_sync_debug_mode as set_sync_debug_mode,
)
