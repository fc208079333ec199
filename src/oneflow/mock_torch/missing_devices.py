"""Names of PyTorch's modules of devices that are not here."""

_XPU_MEMORY = (
    "empty_cache get_per_process_memory_fraction max_memory_allocated max_memory_reserved "
    "mem_get_info memory_allocated memory_reserved memory_snapshot memory_stats "
    "memory_stats_as_nested_dict reset_accumulated_memory_stats reset_peak_memory_stats "
    "set_per_process_memory_fraction"
)
_XPU_RANDOM = (
    "get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed seed_all "
    "set_rng_state set_rng_state_all"
)
#: Modules of devices that are not here, and the names of each.
MISSING_DEVICES = {
    "torch.xpu": f"{_XPU_MEMORY} {_XPU_RANDOM} Event Stream StreamContext can_device_access_peer "
    "clock_rate current_device current_stream default_generators device device_count "
    "device_memory_used device_of get_arch_list get_device_capability get_device_name "
    "get_device_properties get_gencode_flags get_stream_from_external init is_available "
    "is_bf16_supported is_initialized is_tf32_supported memory_usage power_draw set_device "
    "set_stream stream synchronize temperature utilization XPUGraph=Graph MemPool "
    "XPUPluggableAllocator=PluggableAllocator change_current_allocator graph graph_pool_handle "
    "is_current_stream_capturing make_graphed_callables use_mem_pool",
    "torch.xpu.memory": _XPU_MEMORY,
    "torch.xpu.random": _XPU_RANDOM,
    "torch.xpu.streams": "Event Stream",
    "torch.mtia": f"{_XPU_RANDOM} attach_out_of_memory_observer current_device current_stream "
    "default_stream device device_count empty_cache=synchronize get_device_capability "
    "get_device_properties init is_available is_bf16_supported is_initialized "
    "max_memory_allocated memory_allocated memory_stats record_memory_history "
    "reset_peak_memory_stats=empty_cache set_device set_stream snapshot stream synchronize "
    "MTIAGraph=Graph graph graph_pool_handle",
    "torch.mtia.memory": "max_memory_allocated memory_allocated memory_stats "
    "reset_peak_memory_stats=empty_cache",
    "torch.mps": "Event compile_shader current_allocated_memory device_count "
    "driver_allocated_memory empty_cache=synchronize get_rng_state is_available load_metallib "
    "manual_seed=set_device recommended_max_memory seed=initial_seed "
    "set_per_process_memory_fraction set_rng_state synchronize",
    "torch.mps.event": "Event",
    "torch.mps.profiler": "is_capturing_metal is_metal_capture_enabled metal_capture profile "
    "start stop",
    "torch.backends.mps": "get_core_count get_name is_available is_built is_macos13_or_newer "
    "is_macos_or_newer",
    "torch.backends.cusparselt": "get_max_alg_id=empty_cache is_available version=empty_cache",
    "torch.backends.kleidiai": "is_available",
}
