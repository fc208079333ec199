"""Names of job functions that have no meaning here, each with what stands for it."""

from __future__ import annotations

_LISTS = "blobs have one shape; values of different sizes are a TensorBuffer, see flow.data"
_OPERATORS = "build an operator with flow.builtin_op, or register one with register_user_op"
_STATIC = "XLA knows the sizes of all results beforehand; compute this from what the job returns"
_RUNTIME = "a part of OneFlow's C++ runtime, of which XLA has no like"
_DTYPE = "XLA has no such numbers"

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
    "record": "flow.data.ofrecord_reader gives records",
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
    "unittest": "use pytest or Python's unittest, with flow.clear_default_session() between tests",
    "user_op_module_builder": _OPERATORS,
}
