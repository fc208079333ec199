"""The messages by name: ``messages["ModelInferRequest"]``.

The configuration of a model has the fields that this server understands; a configuration with
others is refused.
"""

from __future__ import annotations

from typing import Any

from oneflow.serving.protocol.schema import message_classes

PACKAGE = "inference"
SERVICE = f"{PACKAGE}.GRPCInferenceService"

_ENUM_TYPES = {
    "DataType": (
        "TYPE_INVALID=0 TYPE_BOOL=1 TYPE_UINT8=2 TYPE_UINT16=3 TYPE_UINT32=4 TYPE_UINT64=5 "
        "TYPE_INT8=6 TYPE_INT16=7 TYPE_INT32=8 TYPE_INT64=9 TYPE_FP16=10 TYPE_FP32=11 "
        "TYPE_FP64=12 TYPE_STRING=13 TYPE_BF16=14"
    ),
    "InstanceKind": "KIND_AUTO=0 KIND_GPU=1 KIND_CPU=2 KIND_MODEL=3",
}

_HEALTH = {
    "ServerLiveRequest": "",
    "ServerLiveResponse": "live:bool=1",
    "ServerReadyRequest": "",
    "ServerReadyResponse": "ready:bool=1",
    "ModelReadyRequest": "name:string=1 version:string=2",
    "ModelReadyResponse": "ready:bool=1",
}

_METADATA = {
    "ServerMetadataRequest": "",
    "ServerMetadataResponse": "name:string=1 version:string=2 extensions:string*=3",
    "ModelMetadataRequest": "name:string=1 version:string=2",
    "ModelMetadataResponse": (
        "name:string=1 versions:string*=2 platform:string=3 "
        "inputs:ModelMetadataResponse.TensorMetadata*=4 "
        "outputs:ModelMetadataResponse.TensorMetadata*=5"
    ),
    "ModelMetadataResponse.TensorMetadata": "name:string=1 datatype:string=2 shape:int64*=3",
}

_INFERENCE = {
    "InferParameter": (
        "parameter_choice/bool_param:bool=1 parameter_choice/int64_param:int64=2 "
        "parameter_choice/string_param:string=3 parameter_choice/double_param:double=4 "
        "parameter_choice/uint64_param:uint64=5"
    ),
    "InferTensorContents": (
        "bool_contents:bool*=1 int_contents:int32*=2 int64_contents:int64*=3 "
        "uint_contents:uint32*=4 uint64_contents:uint64*=5 fp32_contents:float*=6 "
        "fp64_contents:double*=7 bytes_contents:bytes*=8"
    ),
    "ModelInferRequest": (
        "model_name:string=1 model_version:string=2 id:string=3 parameters:map<InferParameter>=4 "
        "inputs:ModelInferRequest.InferInputTensor*=5 "
        "outputs:ModelInferRequest.InferRequestedOutputTensor*=6 raw_input_contents:bytes*=7"
    ),
    "ModelInferRequest.InferInputTensor": (
        "name:string=1 datatype:string=2 shape:int64*=3 parameters:map<InferParameter>=4 "
        "contents:InferTensorContents=5"
    ),
    "ModelInferRequest.InferRequestedOutputTensor": (
        "name:string=1 parameters:map<InferParameter>=2"
    ),
    "ModelInferResponse": (
        "model_name:string=1 model_version:string=2 id:string=3 parameters:map<InferParameter>=4 "
        "outputs:ModelInferResponse.InferOutputTensor*=5 raw_output_contents:bytes*=6"
    ),
    "ModelInferResponse.InferOutputTensor": (
        "name:string=1 datatype:string=2 shape:int64*=3 parameters:map<InferParameter>=4 "
        "contents:InferTensorContents=5"
    ),
    "ModelStreamInferResponse": "error_message:string=1 infer_response:ModelInferResponse=2",
}

_STATISTICS = {
    "ModelStatisticsRequest": "name:string=1 version:string=2",
    "StatisticDuration": "count:uint64=1 ns:uint64=2",
    "InferStatistics": (
        "success:StatisticDuration=1 fail:StatisticDuration=2 queue:StatisticDuration=3 "
        "compute_input:StatisticDuration=4 compute_infer:StatisticDuration=5 "
        "compute_output:StatisticDuration=6"
    ),
    "InferBatchStatistics": (
        "batch_size:uint64=1 compute_input:StatisticDuration=2 compute_infer:StatisticDuration=3 "
        "compute_output:StatisticDuration=4"
    ),
    "ModelStatistics": (
        "name:string=1 version:string=2 last_inference:uint64=3 inference_count:uint64=4 "
        "execution_count:uint64=5 inference_stats:InferStatistics=6 "
        "batch_stats:InferBatchStatistics*=7"
    ),
    "ModelStatisticsResponse": "model_stats:ModelStatistics*=1",
}

_REPOSITORY = {
    "ModelRepositoryParameter": (
        "parameter_choice/bool_param:bool=1 parameter_choice/int64_param:int64=2 "
        "parameter_choice/string_param:string=3 parameter_choice/bytes_param:bytes=4"
    ),
    "RepositoryIndexRequest": "repository_name:string=1 ready:bool=2",
    "RepositoryIndexResponse": "models:RepositoryIndexResponse.ModelIndex*=1",
    "RepositoryIndexResponse.ModelIndex": (
        "name:string=1 version:string=2 state:string=3 reason:string=4"
    ),
    "RepositoryModelLoadRequest": (
        "repository_name:string=1 model_name:string=2 parameters:map<ModelRepositoryParameter>=3"
    ),
    "RepositoryModelLoadResponse": "",
    "RepositoryModelUnloadRequest": (
        "repository_name:string=1 model_name:string=2 parameters:map<ModelRepositoryParameter>=3"
    ),
    "RepositoryModelUnloadResponse": "",
}

_MODEL_CONFIG = {
    "ModelConfigRequest": "name:string=1 version:string=2",
    "ModelConfigResponse": "config:ModelConfig=1",
    "ModelConfig": (
        "name:string=1 platform:string=2 backend:string=17 version_policy:ModelVersionPolicy=3 "
        "max_batch_size:int32=4 input:ModelInput*=5 output:ModelOutput*=6 "
        "dynamic_batching:ModelDynamicBatching=11 instance_group:ModelInstanceGroup*=7 "
        "parameters:map<ModelParameter>=14 model_transaction_policy:ModelTransactionPolicy=19"
    ),
    "ModelParameter": "string_value:string=1",
    "ModelInput": "name:string=1 data_type:DataType=2 dims:int64*=4",
    "ModelOutput": "name:string=1 data_type:DataType=2 dims:int64*=3 label_filename:string=4",
    "ModelInstanceGroup": "name:string=1 kind:InstanceKind=4 count:int32=2",
    "ModelVersionPolicy": (
        "policy_choice/latest:ModelVersionPolicy.Latest=1 "
        "policy_choice/all:ModelVersionPolicy.All=2 "
        "policy_choice/specific:ModelVersionPolicy.Specific=3"
    ),
    "ModelVersionPolicy.Latest": "num_versions:uint32=1",
    "ModelVersionPolicy.All": "",
    "ModelVersionPolicy.Specific": "versions:int64*=1",
    "ModelDynamicBatching": (
        "max_queue_delay_microseconds:uint64=2 default_queue_policy:ModelQueuePolicy=6"
    ),
    "ModelQueuePolicy": ("default_timeout_microseconds:uint64=2 max_queue_size:uint32=4"),
    "ModelTransactionPolicy": "decoupled:bool=1",
}

messages: dict[str, Any] = message_classes(
    PACKAGE,
    _ENUM_TYPES,
    {**_HEALTH, **_METADATA, **_INFERENCE, **_STATISTICS, **_REPOSITORY, **_MODEL_CONFIG},
)
