"""Further homes of PyTorch's names: modules that define names which others make public.

Each row gives a module of PyTorch, the one in which its names are found, and the names, or
``name=other`` where that module calls it otherwise.
"""

from __future__ import annotations

from oneflow.mock_torch.missing_devices import MISSING_DEVICES
from oneflow.mock_torch.top_level_paths import TOP_LEVEL_ROWS

_FUNCTIONAL_OPTIMIZERS = "adadelta adagrad adam adamw adamax asgd nadam radam rmsprop rprop sgd"
_ROWS = (
    ("torch.nn", "oneflow.mock_torch.pytorch.nn.earlier_layers", "Container NLLLoss2d"),
    ("torch.nn", "oneflow.mock_torch.pytorch.nn.factory_arguments", "factory_kwargs"),
    ("torch.nn.modules", "oneflow.mock_torch.pytorch.nn.earlier_layers", "Container NLLLoss2d"),
    ("torch.nn.modules.container", "oneflow.mock_torch.pytorch.nn.earlier_layers", "Container"),
    ("torch.nn.modules.loss", "oneflow.mock_torch.pytorch.nn.earlier_layers", "NLLLoss2d"),
    ("torch.profiler.itt", "oneflow.mock_torch.pytorch.cuda.nvtx", "mark range"),
    ("torch.profiler.itt", "oneflow.profiler", "range_pop range_push"),
    ("torch.profiler.itt", "oneflow.cuda.backends", "is_available=is_unavailable"),
    (
        "torch.distributions.constraints",
        "oneflow.distributions.constraints",
        " ".join(
            f"_{name}={name}"
            for name in (
                *("Boolean", "Cat", "CorrCholesky", "Dependent", "GreaterThan", "GreaterThanEq"),
                *("HalfOpenInterval", "IndependentConstraint", "IntegerGreaterThan"),
                *("IntegerInterval", "Interval", "LessThan", "LowerCholesky", "LowerTriangular"),
                *("OneHot", "PositiveDefinite", "PositiveSemidefinite", "Real", "Simplex"),
                *("Square", "Stack", "Symmetric"),
            )
        )
        + " _Multinomial=MultinomialCounts",
    ),
    (
        "torch._jit_internal",
        "torch.jit",
        "Final Future export ignore is_scripting unused _overload _overload_method "
        "_copy_to_script_wrapper=unused",
    ),
    (
        "torch._jit_internal",
        "torch.jit.annotations",
        "BroadcastingList1 BroadcastingList2 BroadcastingList3",
    ),
    ("torch._lobpcg", "torch", "lobpcg"),
    ("torch.cuda", "oneflow.mock_torch.pytorch.kernels", "has_magma"),
    (
        "torch._linalg_utils",
        "oneflow.mock_torch.pytorch.kernels",
        "_symeig=symeig eig lstsq matrix_rank solve",
    ),
    (
        "torch.nn.functional",
        "oneflow.mock_torch.pytorch.nn.scaled_products",
        "ScalingType SwizzleType scaled_grouped_mm scaled_mm",
    ),
    *(
        (home, "oneflow.mock_torch.pytorch.semi_structured", names)
        for home in ("torch.sparse", "torch.sparse.semi_structured")
        for names in (
            "SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT "
            "SparseSemiStructuredTensorCUTLASS to_sparse_semi_structured",
        )
    ),
    (
        "torch.sparse._triton_ops_meta",
        "oneflow.mock_torch.pytorch.kernel_parameters",
        "get_meta minimize update",
    ),
    (
        "torch.utils._triton",
        "oneflow.mock_torch.pytorch.utils._triton",
        "has_datacenter_blackwell_tma_device=has_triton "
        "has_triton_experimental_host_tma=has_triton "
        "has_triton_stable_tma_api=has_triton has_triton_tensor_descriptor_host_tma=has_triton "
        "has_triton_tma=has_triton has_triton_tma_device=has_triton",
    ),
    (
        "torch._utils",
        "oneflow.mock_torch.device_modules",
        "_get_available_device_type=available_device_type _get_device_module=get_device_module",
    ),
    ("torch._utils", "oneflow.mock_torch.pytorch.storage", "_element_size"),
    (
        "torch.accelerator.memory",
        "torch.accelerator",
        "empty_cache get_memory_info max_memory_allocated max_memory_reserved memory_allocated "
        "memory_reserved memory_stats reset_peak_memory_stats",
    ),
    ("torch._custom_ops", "oneflow.mock_torch.pytorch.library", "impl impl_abstract"),
    ("torch._dynamo", "oneflow.mock_torch.pytorch._dynamo.eval_frame", "OptimizedModule"),
    ("torch._tensor", "torch", "Tensor"),
    (
        "torch._tensor_str",
        "oneflow.tensor.printing",
        "PRINT_OPTS=OPTIONS set_printoptions _tensor_str=format_values _add_suffixes=add_suffixes "
        "_str_intern=format_tensor",
    ),
    ("torch.autograd.anomaly_mode", "torch.autograd", "detect_anomaly set_detect_anomaly"),
    (
        "torch.autograd.gradcheck",
        "oneflow.autograd.gradient_check",
        "GradcheckError gradcheck gradgradcheck",
    ),
    ("torch.autograd.profiler_util", "torch.autograd.profiler", "EventList"),
    # Libraries for which XLA has its own.
    *(
        (f"torch.backends.{library}", "oneflow.cuda.backends", "is_available=is_unavailable")
        for library in ("mkl", "nnpack", "openmp")
    ),
    ("torch.cuda.amp.autocast_mode", "torch.cuda.amp", "autocast custom_fwd custom_bwd"),
    ("torch.cuda.amp.grad_scaler", "torch.cuda.amp", "GradScaler"),
    ("torch.cuda.amp.grad_scaler", "torch.amp.grad_scaler", "OptState"),
    (
        "torch.distributed._composable.fsdp",
        "oneflow.mock_torch.pytorch.distributed.fsdp",
        "CPUOffloadPolicy FSDPModule MixedPrecisionPolicy fully_shard",
    ),
    (
        "torch.distributed._functional_collectives",
        "oneflow.mock_torch.missing",
        "all_gather_tensor=raise_sharding all_reduce=raise_sharding "
        "all_to_all_single=raise_sharding all_to_all_single_autograd=raise_sharding "
        "reduce_scatter_tensor=raise_sharding wait_tensor=raise_sharding",
    ),
    (
        "torch.distributed._tensor",
        "torch.distributed.tensor",
        "DTensor DeviceMesh Partial Placement Replicate Shard distribute_tensor init_device_mesh",
    ),
    (
        "torch.distributed._tensor.device_mesh",
        "torch.distributed.tensor",
        "DeviceMesh init_device_mesh",
    ),
    (
        "torch.distributed._tensor.placement_types",
        "torch.distributed.tensor",
        "Partial Placement Replicate Shard",
    ),
    (
        "torch.distributed.fsdp._common_utils",
        "oneflow.mock_torch.pytorch.distributed.wrapper_names",
        "FSDP_PREFIX FSDP_WRAPPED_MODULE clean_tensor_name",
    ),
    (
        "torch.distributed.algorithms.join",
        "oneflow.distributed.joining",
        "Join Joinable JoinHook",
    ),
    (
        "torch.distributed.tensor._utils",
        "oneflow.mock_torch.missing",
        "compute_local_shape_and_global_offset=raise_sharding",
    ),
    (
        "torch.distributed.tensor.device_mesh",
        "torch.distributed.tensor",
        "DeviceMesh init_device_mesh",
    ),
    (
        "torch.distributed",
        "oneflow.distributed",
        "_all_gather_base=all_gather_into_tensor _reduce_scatter_base=reduce_scatter_tensor "
        "all_gather_single=all_gather_into_tensor reduce_scatter_single=reduce_scatter_tensor",
    ),
    ("torch.distributed.constants", "torch.distributed", "default_pg_timeout"),
    (
        "torch.distributed._tensor.experimental",
        "torch.distributed.tensor.experimental",
        "implicit_replication",
    ),
    ("torch.distributions.kl", "oneflow.distributions.kl", "_KL_REGISTRY=_KL_FORMULA"),
    ("torch.distributions.multivariate_normal", "torch.distributions", "Distribution"),
    (
        "torch.distributions.transforms",
        "oneflow.distributions.transform",
        "_InverseTransform=InverseTransform",
    ),
    (
        "torch.distributions.utils",
        "oneflow.distributions.parameters",
        "_sum_rightmost=sum_rightmost",
    ),
    ("torch.fft", "torch", "Tensor"),
    (
        "torch.utils._pytree",
        "oneflow.mock_torch.pytorch.utils.data_class_nodes",
        "register_dataclass",
    ),
    (
        "torch.functional",
        "torch",
        "atleast_1d atleast_2d atleast_3d broadcast_shapes broadcast_tensors cartesian_prod "
        "block_diag cdist chain_matmul einsum istft norm meshgrid pca_lowrank split stft "
        "svd_lowrank tensordot unique unique_consecutive unravel_index",
    ),
    ("torch.functional", "torch.nn", "F=functional"),
    ("torch._vmap_internals", "torch.func", "vmap _vmap=vmap"),
    ("torch.fx.graph", "torch.fx", "Graph"),
    ("torch.fx.interpreter", "torch.fx", "Interpreter Transformer"),
    ("torch.multiprocessing.pool", "torch.multiprocessing", "Pool"),
    ("torch.multiprocessing.queue", "torch.multiprocessing", "Queue SimpleQueue"),
    ("torch.multiprocessing.reductions", "torch.multiprocessing", "init_reductions"),
    (
        "torch.multiprocessing",
        "multiprocessing",
        "AuthenticationError BoundedSemaphore BufferTooShort ProcessError RawArray RawValue "
        "TimeoutError allow_connection_pickling get_logger log_to_stderr parent_process reducer "
        "set_executable set_forkserver_preload",
    ),
    (
        "torch.multiprocessing.spawn",
        "torch.multiprocessing",
        "ProcessContext ProcessExitedException ProcessRaisedException spawn SpawnContext "
        "start_processes",
    ),
    *(
        (module, "oneflow.mock_torch.pytorch.xpu", names)
        for module, names in MISSING_DEVICES.items()
    ),
    ("torch.nn.modules", "torch.nn", "RMSNorm"),
    (
        "torch.nn.modules.activation",
        "torch.nn",
        "Threshold Hardtanh ReLU6 Hardsigmoid Hardswish GLU Hardshrink Softshrink "
        "MultiheadAttention Softmin Softmax Softmax2d LogSoftmax",
    ),
    ("torch.nn.modules.batchnorm", "oneflow.nn.modules.batchnorm", "_NormBase=_Normalization"),
    ("torch.nn.modules.batchnorm", "torch.nn", "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d"),
    ("torch.nn.modules.channelshuffle", "torch.nn", "ChannelShuffle"),
    ("torch.nn.modules.container", "torch.nn", "ParameterList ParameterDict"),
    (
        "torch.nn.modules.conv",
        "torch.nn",
        "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d "
        "LazyConvTranspose3d",
    ),
    (
        "torch.nn.modules.instancenorm",
        "torch.nn",
        "LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d",
    ),
    (
        "torch.nn.modules.conv",
        "oneflow.nn.modules.conv",
        "_ConvTransposeNd=_ConvTranspose _ConvTransposeMixin=_ConvTranspose",
    ),
    ("torch.nn.modules.dropout", "oneflow.nn.modules.dropout", "_DropoutNd=_Dropout"),
    ("torch.nn.modules.linear", "torch.nn", "LazyLinear"),
    (
        "torch.nn.modules.linear",
        "oneflow.nn.modules.linear",
        "NonDynamicallyQuantizableLinear=_NonDynamicallyQuantizableLinear",
    ),
    (
        "torch.nn.modules.linear_cross_entropy_options",
        "torch.nn",
        "LinearCrossEntropyOptions",
    ),
    (
        "torch.nn.modules.loss",
        "torch.nn",
        "L1Loss PoissonNLLLoss GaussianNLLLoss KLDivLoss MSELoss BCELoss BCEWithLogitsLoss "
        "HingeEmbeddingLoss MultiLabelMarginLoss SmoothL1Loss HuberLoss SoftMarginLoss "
        "MultiLabelSoftMarginLoss CosineEmbeddingLoss MarginRankingLoss MultiMarginLoss "
        "TripletMarginLoss TripletMarginWithDistanceLoss",
    ),
    ("torch.nn.modules.module", "oneflow.module.hooks", "_WrappedHook=LoadHook"),
    ("torch.nn.modules.module", "oneflow.module.state", "_IncompatibleKeys=IncompatibleKeys"),
    ("torch.nn.modules.normalization", "torch.nn", "RMSNorm"),
    ("torch.nn.modules.pixelshuffle", "torch.nn", "PixelUnshuffle"),
    ("torch.nn.modules.pooling", "torch.nn", "FractionalMaxPool2d FractionalMaxPool3d"),
    (
        "torch.nn.modules.pooling",
        "oneflow.nn.modules.pooling",
        "_MaxPoolNd=_MaxPool _MaxUnpoolNd=_MaxUnpool _AvgPoolNd=_AvgPool _LPPoolNd=_LPPool",
    ),
    (
        "torch.nn.modules.pooling",
        "oneflow.nn.modules.adaptive_pooling",
        "_AdaptiveMaxPoolNd=_AdaptiveMaxPool _AdaptiveAvgPoolNd=_AdaptiveAvgPool",
    ),
    ("torch.nn.modules.rnn", "torch.nn", "RNNCellBase RNNCell LSTMCell GRUCell"),
    (
        "torch.nn.modules.transformer",
        "oneflow.nn.modules.transformer",
        "_get_activation_fn=_activation",
    ),
    (
        "torch.nn.parallel.comm",
        "torch.cuda.comm",
        "broadcast broadcast_coalesced gather reduce_add reduce_add_coalesced scatter",
    ),
    ("torch.nn.parallel.data_parallel", "torch.nn.parallel", "data_parallel DataParallel"),
    ("torch.nn.parallel.parallel_apply", "torch.nn.parallel", "parallel_apply"),
    ("torch.nn.parallel.replicate", "torch.nn.parallel", "replicate"),
    (
        "torch.nn.parallel.scatter_gather",
        "oneflow.mock_torch.pytorch.nn.parallel.devices",
        "scatter scatter_kwargs gather",
    ),
    (
        "torch.nn.utils.convert_parameters",
        "torch.nn.utils",
        "parameters_to_vector vector_to_parameters",
    ),
    (
        "torch.nn.parameter",
        "oneflow.nn.modules.uninitialized",
        "UninitializedTensorMixin=_Uninitialized",
    ),
    (
        "torch.nn.utils.stateless",
        "torch.nn.utils.stateless",
        "_functional_call=functional_call _reparametrize_module=reparametrized",
    ),
    ("torch.nn.utils._named_member_accessor", "torch.nn.utils.stateless", "swap_tensor"),
    ("torch.nn.utils.init", "torch.nn.utils", "skip_init"),
    *(
        (f"torch.optim.{name}", "oneflow.mock_torch.pytorch.optim.functional", name)
        for name in _FUNCTIONAL_OPTIMIZERS.split()
    ),
    (
        "torch.optim._functional",
        "oneflow.mock_torch.pytorch.optim.functional",
        _FUNCTIONAL_OPTIMIZERS,
    ),
    ("torch.optim.adagrad", "torch.optim", "Adagrad"),
    ("torch.optim.adamw", "torch.optim", "AdamW"),
    ("torch.optim.lbfgs", "torch.optim", "LBFGS"),
    ("torch.optim.rmsprop", "torch.optim", "RMSprop"),
    (
        "torch.profiler.profiler",
        "torch.profiler",
        "ProfilerAction schedule tensorboard_trace_handler profile",
    ),
    (
        "torch.signal.windows.windows",
        "torch.signal.windows",
        "bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming "
        "hann kaiser nuttall",
    ),
    *((module, "tqdm", "tqdm") for module in ("torch.hub", "torch.utils.model_zoo")),
    (
        "torch.utils._pytree",
        "oneflow.mock_torch.pytorch.utils._pytree",
        "_get_node_type=_node_type",
    ),
    (
        "torch.utils._pytree",
        "oneflow.mock_torch.pytorch.utils.pytree_constants",
        "ConstantNode is_constant_class register_constant",
    ),
)

# The module that has a name, and the name there, by module and name of PyTorch.
ALIASES: dict[str, dict[str, tuple[str, str]]] = {}
for _module, _home, _names in (*TOP_LEVEL_ROWS, *_ROWS):
    for _entry in _names.split():
        _name, _, _other = _entry.partition("=")
        ALIASES.setdefault(_module, {})[_name] = _home, _other or _name
