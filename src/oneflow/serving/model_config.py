"""The configuration of a model: `config.pbtxt`, as Triton has it, completed from the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from google.protobuf import text_format

from oneflow.serving.datatypes import datatype_of
from oneflow.serving.protocol.messages import messages
from oneflow.serving.served_graph import ServedGraph, TensorMetadata

CONFIG_FILE = "config.pbtxt"
BACKEND = "oneflow"
# Requests that wait for a model unless its configuration says another number.
_QUEUE_SIZE = 1024


class ConfigError(ValueError):
    """A configuration that is damaged, or does not fit its graph."""


def read_config(folder: Path) -> Any:
    """Return the `ModelConfig` of a model's folder; an empty one if there is no file.

    Raises:
        ConfigError: the file is damaged, or has settings that this server does not know.
    """
    config = messages["ModelConfig"]()
    file = folder / CONFIG_FILE
    if not file.exists():
        return config
    try:
        text_format.Parse(file.read_text(encoding="utf-8"), config)
    except (OSError, UnicodeDecodeError, text_format.ParseError) as error:
        raise ConfigError(f"`{file}`: {error}") from error
    if config.backend not in ("", BACKEND):
        raise ConfigError(f"`{file}`: backend `{config.backend}` is not `{BACKEND}`")
    if config.model_transaction_policy.decoupled:
        raise ConfigError(f"`{file}`: a graph gives one answer to a request, it is not decoupled")
    return config


def is_batching_said(config: Any) -> bool:
    """Return true if `max_batch_size` counts; a file of options alone does not speak of batches."""
    return bool(config.max_batch_size or config.input)


def complete_config(config: Any, name: str, graph: ServedGraph) -> Any:
    """Return a configuration with everything that the graph says.

    Raises:
        ConfigError: it says something else than the graph.
    """
    complete = messages["ModelConfig"]()
    complete.CopyFrom(config)
    if config.name not in ("", name):
        raise ConfigError(f"the model in the folder `{name}` is called `{config.name}`")
    complete.name = name
    complete.backend = BACKEND
    complete.max_batch_size = graph.max_batch_size
    for fields, tensors in ((complete.input, graph.inputs), (complete.output, graph.outputs)):
        expected = [_tensor_fields(each) for each in tensors]
        given = [(each.name, each.data_type, tuple(each.dims)) for each in fields]
        if given and not _agree(sorted(given), sorted(expected)):
            raise ConfigError(f"the configuration of `{name}` has {given}, its graph {expected}")
        del fields[:]
        for tensor_name, data_type, dims in expected:
            fields.add(name=tensor_name, data_type=data_type, dims=dims)
    if not complete.instance_group:
        complete.instance_group.add(count=1)
    for group in complete.instance_group:
        group.count = max(group.count, 1)
    if graph.max_batch_size:
        complete.dynamic_batching.SetInParent()
    policy = complete.dynamic_batching.default_queue_policy
    policy.max_queue_size = policy.max_queue_size or _QUEUE_SIZE
    if not complete.version_policy.WhichOneof("policy_choice"):
        complete.version_policy.latest.num_versions = 1
    return complete


def _tensor_fields(tensor: TensorMetadata) -> tuple[str, int, tuple[int, ...]]:
    """The name, data type and sizes of a tensor as numbers of the configuration."""
    kind = messages["ModelInput"].DESCRIPTOR.fields_by_name["data_type"].enum_type
    number = kind.values_by_name[f"TYPE_{datatype_of(tensor.dtype)}"].number
    return tensor.name, number, tensor.shape


def _agree(given: list, expected: list) -> bool:
    """Return true if tensors of a configuration are the graph's; -1 stands for any size."""
    return len(given) == len(expected) and all(
        ours[:2] == theirs[:2]
        and len(ours[2]) == len(theirs[2])
        and all(a in (b, -1) for a, b in zip(ours[2], theirs[2], strict=True))
        for ours, theirs in zip(given, expected, strict=True)
    )


def config_text(config: Any) -> str:
    """Return a configuration as the text of `config.pbtxt`."""
    return text_format.MessageToString(config)
