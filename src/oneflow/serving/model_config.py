"""The configuration of a model: `config.pbtxt`, as Triton has it, completed from the graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oneflow.base.extras import extra
from oneflow.serving.datatypes import datatype_of
from oneflow.serving.model_graph import ModelGraph, TensorSignature
from oneflow.serving.protocol.messages import messages

with extra("serving", "`oneflow.serving`"):
    from google.protobuf import text_format

CONFIG_FILE = "config.pbtxt"
BACKEND = "oneflow"
# The backend of graphs whose runtime state was saved.
_PYTHON_BACKEND = "oneflow_python"
# Requests that wait for a model unless its configuration says another number.
_QUEUE_SIZE = 1024
_MAX_LENGTH = "max_length"


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
    if not file.is_file():
        raise ConfigError(f"`{file}` is no regular file")
    try:
        text_format.Parse(file.read_text(encoding="utf-8"), config)
    except (OSError, UnicodeDecodeError, text_format.ParseError) as error:
        raise ConfigError(f"`{file}`: {error}") from error
    if config.backend not in ("", BACKEND, _PYTHON_BACKEND):
        raise ConfigError(f"`{file}`: backend `{config.backend}` is not `{BACKEND}`")
    return config


def read_labels(folder: Path, config: Any) -> dict[str, list[str]]:
    """Return the names of classes, one for each element of an output, by the output's name.

    Args:
        folder: the model's, with a file of one line for each class.
        config: the model's configuration, which names the files.

    Raises:
        ConfigError: a file cannot be read, or is none of the folder.
    """
    labels: dict[str, list[str]] = {}
    for output in config.output:
        name = output.label_filename
        if not name:
            continue
        try:
            if Path(name).name != name or not (folder / name).is_file():
                raise ConfigError(f"`label_filename` of output `{output.name}`: no file {name!r}")
            labels[output.name] = (folder / name).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"`{folder / name}`: {error}") from error
    return labels


def has_batching(config: Any) -> bool:
    """Return true if `max_batch_size` counts; a file of options alone does not speak of batches."""
    return bool(config.max_batch_size or config.input)


def has_indexed_tensors(config: Any) -> bool:
    """Return whether inputs and outputs are named by index, as ``INPUT_0``."""
    names = [
        (kind, fields)
        for kind, fields in (("INPUT", config.input), ("OUTPUT", config.output))
        if fields
    ]
    return bool(names) and all(
        {field.name for field in fields} == {f"{kind}_{n}" for n in range(len(fields))}
        for kind, fields in names
    )


def complete_config(config: Any, name: str, graph: ModelGraph) -> Any:
    """Return a configuration with everything that the graph says.

    Raises:
        ConfigError: it says something else than the graph.
    """
    complete = _complete(config, name, graph.inputs, graph.outputs)
    complete.max_batch_size = graph.max_batch_size
    if not complete.instance_group:
        complete.instance_group.add(count=1)
    for group in complete.instance_group:
        group.count = max(group.count, 1)
    return complete


def complete_generator_config(
    config: Any, name: str, inputs: Sequence[TensorSignature], outputs: Sequence[TensorSignature]
) -> Any:
    """Return the configuration of a model that generates with everything that belongs to it.

    Raises:
        ConfigError: it says something else than the model, or not how long sequences may be.
    """
    complete = _complete(config, name, inputs, outputs)
    max_length_of(complete)
    if complete.max_batch_size or complete.instance_group:
        raise ConfigError(
            f"the model `{name}` generates; its graph says how many sequences it continues, "
            "`max_batch_size` and `instance_group` do not"
        )
    return complete


def max_length_of(config: Any) -> int:
    """Return the tokens that a sequence may have, with those it begins with.

    Raises:
        ConfigError: the configuration does not say.
    """
    text = config.parameters[_MAX_LENGTH].string_value if _MAX_LENGTH in config.parameters else ""
    if not (text.isascii() and text.isdecimal() and int(text) > 1):
        raise ConfigError(
            f"a model that generates needs the parameter `{_MAX_LENGTH}`, the tokens that a "
            f"sequence may have, got {text!r}"
        )
    return int(text)


def _complete(
    config: Any, name: str, inputs: Sequence[TensorSignature], outputs: Sequence[TensorSignature]
) -> Any:
    """Return a configuration with the name, the tensors, the queue and the versions."""
    complete = messages["ModelConfig"]()
    complete.CopyFrom(config)
    if config.name not in ("", name):
        raise ConfigError(f"the model in the folder `{name}` is called `{config.name}`")
    complete.name = name
    complete.backend = BACKEND
    for fields, tensors in ((complete.input, inputs), (complete.output, outputs)):
        expected = [_tensor_fields(tensor) for tensor in tensors]
        specs = [(field.name, field.data_type, tuple(field.dims)) for field in fields]
        if specs and not _matches(sorted(specs), sorted(expected)):
            raise ConfigError(f"the configuration of `{name}` has {specs}, its graph {expected}")
        labels = {field.name: getattr(field, "label_filename", "") for field in fields}
        del fields[:]
        for tensor_name, data_type, dims in expected:
            added = fields.add(name=tensor_name, data_type=data_type, dims=dims)
            if labels.get(tensor_name):
                added.label_filename = labels[tensor_name]
    policy = complete.dynamic_batching.default_queue_policy
    policy.max_queue_size = policy.max_queue_size or _QUEUE_SIZE
    if not complete.version_policy.WhichOneof("policy_choice"):
        complete.version_policy.latest.num_versions = 1
    return complete


def _tensor_fields(tensor: TensorSignature) -> tuple[str, int, tuple[int, ...]]:
    """The name, data type and sizes of a tensor as numbers of the configuration."""
    kind = messages["ModelInput"].DESCRIPTOR.fields_by_name["data_type"].enum_type
    number = kind.values_by_name[f"TYPE_{datatype_of(tensor.dtype)}"].number
    return tensor.name, number, tensor.shape


def _matches(specs: list, expected: list) -> bool:
    """Return true if tensors of a configuration are the graph's; -1 stands for any size."""
    return len(specs) == len(expected) and all(
        (name, dtype) == of_graph[:2]
        and len(shape) == len(of_graph[2])
        and all(a in (b, -1) for a, b in zip(shape, of_graph[2], strict=True))
        for (name, dtype, shape), of_graph in zip(specs, expected, strict=True)
    )


def config_text(config: Any) -> str:
    """Return a configuration as the text of `config.pbtxt`."""
    return text_format.MessageToString(config)
