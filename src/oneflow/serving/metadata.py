"""Metadata of the server and its models, in the messages of the protocol."""

from __future__ import annotations

from typing import Any

from oneflow.serving.datatypes import datatype_of
from oneflow.serving.model_graph import ANY_SIZE, TensorSignature
from oneflow.serving.model_version import ModelVersion
from oneflow.serving.protocol.messages import messages
from oneflow.serving.repository import Repository
from oneflow.serving.statistics import Duration
from oneflow.version import __version__

SERVER_NAME = "oneflow"
EXTENSIONS = (
    "binary_tensor_data",
    "classification",
    "model_configuration",
    "model_repository",
    "statistics",
)


def server_metadata() -> Any:
    """Return the name of the server and the protocol extensions that it supports."""
    return messages["ServerMetadataResponse"](
        name=SERVER_NAME, version=__version__, extensions=EXTENSIONS
    )


def model_metadata(repository: Repository, name: str, version: str) -> Any:
    """Return what a model takes and returns.

    Raises:
        RequestError: there is no such model.
    """
    model = repository.find(name, version)
    head = (ANY_SIZE,) if model.config.max_batch_size else ()

    def metadata_of(tensor: TensorSignature) -> Any:
        return messages["ModelMetadataResponse.TensorMetadata"](
            name=tensor.name, datatype=datatype_of(tensor.dtype), shape=(*head, *tensor.shape)
        )

    return messages["ModelMetadataResponse"](
        name=name,
        versions=[str(model_version.version) for model_version in repository.versions(name)],
        platform=SERVER_NAME,
        inputs=map(metadata_of, model.inputs),
        outputs=map(metadata_of, model.outputs),
    )


def repository_index(repository: Repository, is_ready: bool) -> Any:
    """Return the models and versions with their states; optionally only those in state READY."""
    entry = messages["RepositoryIndexResponse.ModelIndex"]
    return messages["RepositoryIndexResponse"](
        models=[
            entry(**version._asdict())
            for version in repository.index()
            if version.state == "READY" or not is_ready
        ]
    )


def statistics(repository: Repository, name: str, version: str) -> Any:
    """Return the counts and times of all model versions, of a model's, or of one.

    Raises:
        RequestError: there is no such model.
    """
    return messages["ModelStatisticsResponse"](
        model_stats=map(_model_statistics, repository.versions(name, version))
    )


def _model_statistics(model: ModelVersion) -> Any:
    statistics = model.statistics
    failures = statistics.failures.values()
    failed = Duration(
        sum(failure.count for failure in failures), sum(failure.ns for failure in failures)
    )
    return messages["ModelStatistics"](
        name=model.name,
        version=str(model.version),
        last_inference=statistics.last_inference,
        inference_count=statistics.rows,
        execution_count=statistics.runs,
        inference_stats=messages["InferStatistics"](
            success=_duration(statistics.success),
            fail=_duration(failed),
            queue=_duration(statistics.queue),
            compute_input=_duration(statistics.input),
            compute_infer=_duration(statistics.infer),
            compute_output=_duration(statistics.output),
        ),
        batch_stats=[
            messages["InferBatchStatistics"](
                batch_size=rows,
                compute_input=_duration(batch.input),
                compute_infer=_duration(batch.infer),
                compute_output=_duration(batch.output),
            )
            for rows, batch in sorted(statistics.batches.items())
        ],
    )


def _duration(duration: Duration) -> Any:
    return messages["StatisticDuration"](count=duration.count, ns=duration.ns)


def to_json(message: Any) -> dict[str, Any]:
    """Return a message as Triton's HTTP has it: its own names, numbers as numbers, defaults too."""
    data: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.enum_type is not None and not field.is_repeated:
            data[field.name] = field.enum_type.values_by_number[value].name
        elif field.message_type is None:
            data[field.name] = list(value) if field.is_repeated else value
        elif field.message_type.GetOptions().map_entry:
            data[field.name] = {key: to_json(item) for key, item in sorted(value.items())}
        elif field.is_repeated:
            data[field.name] = [to_json(item) for item in value]
        elif message.HasField(field.name):
            data[field.name] = to_json(value)
    return data
