"""Names of job functions that have no meaning here, each with what stands for it."""

from __future__ import annotations

_LISTS = "blobs have one shape; values of different sizes are a TensorBuffer, see flow.data"
_OPERATORS = "build an operator with flow.builtin_op, or register one with register_user_op"
_STATIC = "XLA knows the sizes of all results beforehand; compute this from what the job returns"
_RUNTIME = "a part of OneFlow's C++ runtime, of which XLA has no like"
_DTYPE = "XLA has no such numbers"

_MESSAGES = (
    "there are no messages of a C++ part: settings are those of flow.function_config() and "
    "nn.Graph.config, and str(graph) shows what a graph made"
)
_SESSION = "there is no session of a C++ part; flow.clear_default_session() forgets jobs"

# Beginnings of private paths of upstream.
UNSUPPORTED_PATHS = {
    "oneflow._oneflow_internal.dtr": "recompute activations by utils.checkpoint, or by "
    "`config.activation_checkpointing` of a graph's modules",
    "oneflow._oneflow_internal.": "it was a part in C++, of which this package has no like",
    "oneflow.core.record.": "flow.data reads and writes other records",
    "oneflow.core.": _MESSAGES,
    "oneflow.framework.c_api_util": _MESSAGES,
    "oneflow.framework.graph_build_util": _MESSAGES,
    "oneflow.framework.scope_util": "call flow.scope.placement, or graph.config and set_stage",
    "oneflow.framework.session_context": _SESSION,
    "oneflow.mock_torch.mock_": "programs call enable and disable of oneflow.mock_torch",
    "oneflow.nn.utils.parameters_grouping": "XLA lays parameters out by itself",
    "oneflow.nn.graph.util": "flow.utils.global_view and str(graph) do what it was used for",
}
UNSUPPORTED = {
    "ConfigProto": _RUNTIME,
    "ExecutionConfig": "settings of a job are those of flow.FunctionConfig",
    "INVALID_SPLIT_AXIS": _RUNTIME,
    "InitEagerGlobalSession": _RUNTIME,
    "JobConfigProto": "settings of a job are those of flow.FunctionConfig",
    "MirroredTensorListDef": _LISTS,
    "Model": "write a job of type 'train', or a loop over an nn.Graph",
    "advanced": "with_distribute and flow.scope.placement say where parts of a blob are",
    "categorical_ordinal_encode": "number categories before they become batches, as numpy.unique "
    "does, or look up keys of any size with flow.one_embedding",
    "complex32": _DTYPE,
    "consistent_user_op_module_builder": _OPERATORS,
    "current_global_function_desc": _RUNTIME,
    "current_machine_id": "call flow.env.get_rank()",
    "current_resource": _RUNTIME,
    "current_scope": "call flow.scope.mirrored_view_enabled() or consistent_view_enabled()",
    "deprecated": "the launcher starts processes on other machines",
    "dynamic_binary_concat": _STATIC,
    "dynamic_binary_split": _STATIC,
    "eager_assign_121": "call flow.assign",
    "eager_nccl_all_reduce": "call flow.comm.all_reduce",
    "enable_typing_check": "annotations are always checked",
    "find_or_create_module": _OPERATORS,
    "get_interface_blob_value": "call flow.get_all_variables()",
    "indexed_slices_reduce_sum": _STATIC,
    "int128": _DTYPE,
    "inter_job_reuse_mem_strategy": "XLA plans memory",
    "model": "write a job of type 'train', or a loop over an nn.Graph",
    "set_interface_blob_value": "call flow.load_variables",
    "ssp_variable_proxy": "pipeline stages of an nn.Graph keep versions of their variables",
    "summary": "jobs return NumPy arrays; write these with a TensorBoard writer of your choice",
    "sync_dynamic_resize": _STATIC,
    "system": "call flow.assign",
    "tensor_buffer_to_tensor_list": _LISTS,
    "tensor_list_split": _LISTS,
    "tensor_list_to_tensor_buffer": _LISTS,
    "tensorrt": "call FunctionConfig.use_tensorrt",
    "uint128": _DTYPE,
    "unique_with_counts": _STATIC,
    "user_op_module_builder": _OPERATORS,
}
