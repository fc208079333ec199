"""Further homes of the names of ``torch`` and ``torch._C``, in rows as `paths` has them."""

from __future__ import annotations

from oneflow.functional.creation.storages import STORAGE_KINDS

_FUNCTIONS = ("torch", "torch.nn.functional")
TOP_LEVEL_ROWS = (
    *(
        (
            home,
            "oneflow.mock_torch.pytorch.script_types",
            "AnyType AwaitType BoolType ComplexType DictType FloatType FutureType IntType ListType "
            "NoneType NumberType OptionalType RRefType StreamObjType StringType SymBoolType "
            "SymIntType TensorType TupleType Type UnionType unify_type_list",
        )
        for home in ("torch", "torch._C")
    ),
    (
        "torch",
        "oneflow.mock_torch.pytorch._C.function_schema",
        "Argument=SchemaArgument FunctionSchema parse_schema",
    ),
    (
        "torch",
        "oneflow.mock_torch.pytorch.script_internals",
        "AVG AggregationType AliasDb ArgumentSpec Block BufferDict CallStack Capsule ClassType "
        "Code CompleteArgumentSpec ConcreteModuleType ConcreteModuleTypeBuilder "
        "DeepCopyMemoTable DeserializationStorageContext EnumType ErrorReport "
        "ExcludeDispatchKeyGuard ExecutionPlan FatalError Gradient GraphExecutorState "
        "IODescriptor InferredType InterfaceType JITException LiteScriptModule LockingLogger "
        "ModuleDict Node NoopLogger OperatorInfo ParameterDict PyObjectType SUM ScriptClass "
        "ScriptClassFunction ScriptDict ScriptDictIterator ScriptDictKeyIterator ScriptList "
        "ScriptListIterator ScriptMethod ScriptModuleSerializer "
        "ScriptObjectProperty SerializationStorageContext StaticModule TracingState Use "
        "import_ir_module import_ir_module_from_buffer merge_type_from_type_comment parse_ir "
        "parse_type_comment",
    ),
    (
        "torch",
        "oneflow.mock_torch.pytorch.batch_norm_parts",
        "batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_gather_stats "
        "batch_norm_gather_stats_with_counts batch_norm_update_stats",
    ),
    (
        "torch",
        "oneflow.mock_torch.pytorch.library_kernels",
        "cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution "
        "cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose "
        "cudnn_grid_sampler cudnn_is_acceptable fbgemm_linear_fp16_weight "
        "fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight "
        "fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight "
        "fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix is_vulkan_available "
        "miopen_batch_norm miopen_convolution miopen_convolution_add_relu "
        "miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss "
        "miopen_depthwise_convolution miopen_rnn mkldnn_adaptive_avg_pool2d mkldnn_convolution "
        "mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d",
    ),
    ("torch", "oneflow.mock_torch.pytorch.moving_ranges", "fused_moving_avg_obs_fake_quant"),
    (
        "torch",
        "oneflow.mock_torch.pytorch.process_settings",
        "as_strided_ ccol_indices_copy col_indices_copy crow_indices_copy dequantize "
        "get_autocast_ipu_dtype get_autocast_xla_dtype get_num_interop_threads indices_copy "
        "init_num_threads is_autocast_ipu_enabled is_autocast_xla_enabled row_indices_copy "
        "set_anomaly_enabled set_autocast_ipu_dtype set_autocast_ipu_enabled "
        "set_autocast_xla_dtype set_autocast_xla_enabled set_num_interop_threads sym_fresh_size "
        "sym_sqrt",
    ),
    (
        "torch",
        "oneflow.mock_torch.pytorch.utils.benchmark.throughput",
        "BenchmarkConfig BenchmarkExecutionStats ThroughputBenchmark=ModuleBenchmark",
    ),
    ("torch", "oneflow.mock_torch.pytorch.jit", "CompilationUnit fork"),
    ("torch", "oneflow.mock_torch.pytorch._C.names", "DispatchKey DispatchKeySet Value"),
    ("torch", "oneflow.tensor.function_modes", "DisableTorchFunction"),
    ("torch", "oneflow.tensor.subclasses", "DisableTorchFunctionSubclass"),
    ("torch", "oneflow.mock_torch.pytorch.file_check", "FileCheck"),
    ("torch", "oneflow.mock_torch.pytorch.random", "thread_safe_generator"),
    ("torch", "oneflow.amp", "GradScaler"),
    ("torch", "oneflow.cuda", "Event"),
    ("torch", "oneflow.mock_torch.device_modules", "get_device_module"),
    (
        "torch",
        "oneflow.mock_torch.pytorch.settings",
        "get_deterministic_debug_mode is_deterministic_algorithms_warn_only_enabled "
        "is_inference is_storage is_warn_always_enabled set_deterministic_debug_mode "
        "set_warn_always sym_float sym_int sym_ite sym_max sym_min sym_not sym_sum",
    ),
    *(
        (
            module,
            "oneflow.mock_torch.pytorch.autocast_mode",
            "autocast_decrement_nesting autocast_increment_nesting is_autocast_cpu_enabled "
            "set_autocast_cpu_enabled",
        )
        for module in ("torch", "torch._C")
    ),
    (
        "torch._C",
        "oneflow.amp.autocast",
        "clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype "
        "is_autocast_cache_enabled is_autocast_enabled set_autocast_cache_enabled "
        "set_autocast_cpu_dtype set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype "
        "_is_autocast_available=is_autocast_available",
    ),
    (
        "torch",
        "oneflow.mock_torch.pytorch.sparse_indices",
        "_convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo "
        "_validate_sparse_compressed_tensor_args _validate_sparse_coo_tensor_args "
        "_validate_sparse_csc_tensor_args _validate_sparse_csr_tensor_args",
    ),
    (
        "torch",
        "oneflow.mock_torch.pytorch.storage",
        " ".join(
            [
                "_storage_classes Storage=FloatStorage",
                *(f"{kind}Storage" for kind in STORAGE_KINDS.values()),
            ]
        ),
    ),
    (
        "torch",
        "oneflow.mock_torch.pytorch.checks",
        "_check _check_index _check_is_size _check_not_implemented _check_tensor_all "
        "_check_tensor_all_with _check_type _check_value _check_with",
    ),
    (
        "torch",
        "oneflow.mock_torch.pytorch.shallow_copies",
        "_has_compatible_shallow_copy_type",
    ),
    ("torch", "oneflow.functional.linalg.lapack", "lu=packed_lu"),
    ("torch", "oneflow.sparse.operators", "_sparse_broadcast_to=broadcast_to"),
    *((home, "oneflow.mock_torch.pytorch.conv", "conv_tbc") for home in _FUNCTIONS),
    *((home, "oneflow", "native_channel_shuffle=channel_shuffle") for home in _FUNCTIONS),
    (
        "torch",
        "oneflow.mock_torch.pytorch.kernels",
        "AcceleratorError _addmm_activation _aminmax _compute_linear_combination _cast_Byte "
        "_cast_Char _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long _cast_Short "
        "_sample_dirichlet _efficientzerotensor _int_mm _log_softmax _masked_softmax _neg_view "
        "_softmax _unique _unique2 _weight_norm affine_grid_generator alias_copy convolution "
        "detach_copy=alias_copy eig embedding_renorm_ frobenius_norm from_file get_device "
        "grid_sampler grid_sampler_2d=grid_sampler grid_sampler_3d=grid_sampler has_lapack "
        "has_mkl has_openmp has_spectral is_distributed lstsq matrix_rank native_batch_norm "
        "native_dropout native_group_norm native_layer_norm nuclear_norm set_flush_denormal "
        "slice_copy solve symeig view_as_complex_copy view_as_real_copy",
    ),
    (
        "torch",
        "oneflow.mock_torch.pytorch.amp.scaling",
        "_amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_",
    ),
    ("torch", "oneflow.mock_torch.pytorch._higher_order_ops.control_flow", "while_loop"),
    (
        "torch",
        "oneflow.mock_torch.pytorch.nested_conversions",
        "_nested_from_padded _nested_from_padded_and_nested_example _nested_tensor_from_mask "
        "_nested_tensor_from_mask_left_aligned",
    ),
    (
        "torch",
        "oneflow.mock_torch.pytorch.native_attention",
        "_native_multi_head_attention _transform_bias_rescale_qkv",
    ),
    ("torch._C", "oneflow.mock_torch.pytorch.file_check", "FileCheck"),
    (
        "torch._C",
        "oneflow.mock_torch.pytorch.kernels",
        "_get_privateuse1_backend_name _jit_can_fuse_on_cpu=_jit_can_fuse "
        "_jit_can_fuse_on_gpu=_jit_can_fuse",
    ),
    (
        "torch._C",
        "oneflow.mock_torch.pytorch.kernels",
        "has_lapack has_mkl has_openmp has_spectral",
    ),
    ("torch", "oneflow.mock_torch.pytorch.recurrent", "gru lstm rnn_relu rnn_tanh"),
    ("torch", "oneflow._C", "gru_cell lstm_cell rnn_relu_cell rnn_tanh_cell"),
    ("torch", "oneflow.distributions.gamma", "_standard_gamma=standard_gamma"),
    (
        "torch",
        "oneflow.base.dtype",
        "float4_e2m1fn_x2 qint8 qint32 quint8 quint4x2 quint2x4 int1 int2 int3 int4 int5 int6 int7 "
        "uint1 uint2 uint3 uint4 uint5 uint6 uint7",
    ),
    *((home, "oneflow.mock_torch.pytorch.tags", "Tag") for home in ("torch", "torch._C")),
    (
        "torch",
        "oneflow.mock_torch.pytorch.ao.quantization.schemes",
        "per_channel_affine per_channel_symmetric per_tensor_affine per_tensor_symmetric qscheme",
    ),
    ("torch", "oneflow.mock_torch.pytorch._higher_order_ops.control_flow", "cond"),
    ("torch", "oneflow", "dsmm=mm spmm=mm"),
    ("torch", "oneflow.sparse", "hspmm hsmm=hspmm saddmm=sspaddmm smm sspaddmm"),
    (
        "torch._C",
        "oneflow.mock_torch.pytorch._C.names",
        "_jit_set_profiling_mode=_jit_set_ignored "
        "_jit_set_profiling_executor=_jit_set_ignored "
        "_jit_set_nvfuser_guard_mode=_jit_set_ignored "
        "_jit_set_nvfuser_enabled=_jit_set_ignored "
        "_jit_override_can_fuse_on_gpu=_jit_set_ignored "
        "_jit_override_can_fuse_on_cpu=_jit_set_ignored "
        "_jit_set_texpr_fuser_enabled=_jit_set_ignored",
    ),
    *(
        (home, "oneflow.mock_torch.pytorch.top_level", "ScriptObject")
        for home in ("torch", "torch._C")
    ),
)
