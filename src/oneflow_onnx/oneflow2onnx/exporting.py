"""Export: from a model and example arguments to an ONNX model in memory."""

from __future__ import annotations

import itertools
import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx_ir as ir

import oneflow as flow
from oneflow.graph.captured_step import CapturedStep
from oneflow_onnx.oneflow2onnx import lowerings as lowerings
from oneflow_onnx.oneflow2onnx.assembling import ModelNames, assemble
from oneflow_onnx.oneflow2onnx.captures import Captures, captures, tensors_in
from oneflow_onnx.oneflow2onnx.capturing import ExportedModel, exported_model, mode
from oneflow_onnx.oneflow2onnx.emission import Emission, emit
from oneflow_onnx.oneflow2onnx.errors import OpsetError, UnsupportedOperatorsError
from oneflow_onnx.oneflow2onnx.lowering import LOWERINGS, Lowering
from oneflow_onnx.oneflow2onnx.schemas import MIN_OPSET, latest_opset
from oneflow_onnx.oneflow2onnx.sizes import CapturedSize, DynamicSizeError
from oneflow_onnx.oneflow2onnx.trace import ModelTrace, merged_trace

_LOGGER = logging.getLogger(__name__)
# The opset of every release of oneflow_onnx.
DEFAULT_OPSET = 10


@dataclass(frozen=True)
class ExportOptions:
    """The options of an export.

    Attributes:
        opset: the opset; None: 10, or the lowest after it that can express the model.
        input_names: names of the inputs, in order; default: those of the parameters of `forward`.
        output_names: names of the outputs, in order.
        dynamic: the symbolic dimensions of each tensor argument, by its place: name by dimension.
        training: export the model in training mode, or not; None: as it is.
        handlers: lowerings of primitives that take the place of the built-in ones.
        progress: wraps the iteration over the operators, as `tqdm.tqdm` does.
        domains: versions of further domains, by name.
        keep_unsupported: warn of what ONNX does not have, and write it in the domain ``oneflow``.
    """

    opset: int | None = None
    input_names: Sequence[str] = ()
    output_names: Sequence[str] = ()
    dynamic: Mapping[int, Mapping[int, str]] = field(default_factory=dict)
    training: bool | None = None
    handlers: Mapping[str, Lowering] = field(default_factory=dict)
    progress: Callable[[Iterable[Any]], Iterable[Any]] | None = None
    domains: Mapping[str, int] = field(default_factory=dict)
    keep_unsupported: bool = False


def export_model(
    model: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    options: ExportOptions | None = None,
) -> ir.Model:
    """Return an ONNX model of a graph, a module or a function, as it acts on these arguments.

    Nothing is run and nothing is changed. Values that depend on the numbers in the arguments cannot
    decide what the model does: only one course is recorded.

    Args:
        model: an `nn.Graph`, an `nn.Module` or a function of tensors.
        args: example arguments; only their shapes and dtypes matter.
        kwargs: example keyword arguments.
        options: how to export.

    Raises:
        UnsupportedOperatorsError: operators cannot be written; the message lists all of them.
        OpsetError: the opset is too low for the model, or there is none of that number.
        DynamicSizeError: the model does not allow a size to be symbolic.
        ValueError: names do not fit.
    """
    options = options or ExportOptions()
    _check_opset(options.opset)
    exported = exported_model(model)
    recorded = recorded_captures(exported, args, kwargs or {}, options)
    names = argument_names(model, args, kwargs or {}, options.input_names)
    if not recorded.between:
        return _written(recorded.steps, exported, names, options)
    try:
        return _written([*recorded.steps, *recorded.between], exported, names, options)
    except (DynamicSizeError, UnsupportedOperatorsError) as error:
        written = _written(recorded.steps, exported, names, options)
        warnings.warn(
            "the file is right for multiples of the example's symbolic sizes; at others the model "
            f"does something else: {error}",
            stacklevel=4,
        )
        return written


def _written(
    steps: Sequence[CapturedStep],
    exported: ExportedModel,
    names: list[str],
    options: ExportOptions,
) -> ir.Model:
    """The ONNX model of the graph on which captures agree."""
    trace = merged_trace(steps, exported.prefix)
    inputs, parameters = input_names(trace, exported, names)
    emission = _emission(trace, inputs, parameters, options)
    _log_counts(trace, emission)
    outside = ModelNames(
        exported.name,
        _output_names(len(trace.results), options.output_names, inputs.values()),
        _size_names(trace, options.dynamic),
    )
    return assemble(emission, trace, outside, options.domains, options.keep_unsupported)


def recorded_captures(
    exported: ExportedModel,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    options: ExportOptions,
) -> Captures:
    """Return what a model computes for these arguments; nothing is run and nothing is changed."""
    with mode(exported.graph, options.training):
        return captures(exported, args, kwargs, options.dynamic)


def _log_counts(trace: ModelTrace, emission: Emission) -> None:
    operators = Counter(call.primitive for call in trace.calls)
    attributes = Counter(name for call in trace.calls for name in call.attributes)
    unmapped = Counter(failure.primitive for failure in emission.failures.values())
    _LOGGER.debug(
        "operators: %s; attributes: %s; mapped: %s; unmapped: %s",
        *map(dict, (operators, attributes, operators - unmapped, unmapped)),
    )


def _check_opset(opset: int | None) -> None:
    latest = latest_opset()
    if opset is not None and not MIN_OPSET <= opset <= latest:
        raise OpsetError(
            f"`opset` must be from {MIN_OPSET} to {latest}, which is the newest that the "
            f"installed onnx knows, got {opset}"
        )


def _emission(
    trace: ModelTrace,
    inputs: Mapping[int, str],
    parameters: Mapping[int, str],
    options: ExportOptions,
) -> Emission:
    """The graph in the requested opset, or in the lowest that can express it."""
    table = {**LOWERINGS, **options.handlers}
    opset = options.opset or DEFAULT_OPSET
    emission = emit(trace, opset, inputs, parameters, table, options.progress or iter)
    while emission.needs:
        reasons = sorted({f"{need}" for need in emission.needs})
        if options.opset is not None:
            raise OpsetError(
                f"opset {opset} cannot express the model: {'; '.join(reasons)}; ask for a later "
                "opset, or for none to get the lowest that can"
            )
        opset = max(need.opset for need in emission.needs)
        emission = emit(trace, opset, inputs, parameters, table, options.progress or iter)
    if opset != (options.opset or DEFAULT_OPSET):
        warnings.warn(
            f"the model is exported in opset {opset}, because {DEFAULT_OPSET}, the default, cannot "
            "express it; give an opset to choose one",
            stacklevel=6,
        )
    return emission


# --- names


def input_names(
    trace: ModelTrace, exported: ExportedModel, arguments: list[str]
) -> tuple[dict[int, str], dict[int, str]]:
    """Names of arguments, and of parameters, buffers and constants, by the numbers of values."""
    inputs = {
        number: arguments[source.source]
        for number, (_, source) in trace.inputs.items()
        if source.kind == "argument"
    }
    parameters = {
        number: _parameter_name(exported, source.name)
        for number, (_, source) in trace.inputs.items()
        if source.kind != "argument"
    }
    return inputs, _unique(parameters, inputs.values())


def argument_names(
    model: Any, args: Sequence[Any], kwargs: Mapping[str, Any], user_names: Sequence[str] = ()
) -> list[str]:
    """Names of a model's tensor arguments: the given ones, then the names of parameters.

    Raises:
        ValueError: there are more names than tensors, or one is there twice.
    """
    signature = [*exported_model(model).signature]
    signature += [f"input_{place}" for place in range(len(signature), len(args))]
    default: list[str] = []
    for name, value in [*zip(signature, args, strict=False), *kwargs.items()]:
        count = len(list(tensors_in(value)))
        is_plain = isinstance(value, flow.Tensor)
        default += [name] if is_plain else [f"{name}_{place}" for place in range(count)]
    if len(user_names) > len(default):
        raise ValueError(
            f"`input_names` has {len(user_names)} names, but the model is called with "
            f"{len(default)} tensors"
        )
    names = [*user_names, *default[len(user_names) :]]
    if len(set(names)) != len(names):
        raise ValueError(f"`input_names` must differ from each other, got {names}")
    return names


def _output_names(count: int, user_names: Sequence[str], taken: Iterable[str]) -> list[str]:
    if len(user_names) > count:
        raise ValueError(
            f"`output_names` has {len(user_names)} names, but there are {count} outputs"
        )
    default = ["output"] if count == 1 else [f"output_{place}" for place in range(count)]
    names = [*user_names, *default[len(user_names) :]]
    if len({*names, *taken}) != len(names) + len(set(taken)):
        raise ValueError(f"`output_names` must differ from each other and the inputs, got {names}")
    return names


def _parameter_name(exported: ExportedModel, name: str) -> str:
    """The name of a parameter or buffer as in the module's state dict."""
    if name.startswith("constant "):
        return f"constant.{name.removeprefix('constant ')}"
    return name.removeprefix(exported.prefix)


def _unique(names: Mapping[int, str], taken: Iterable[str]) -> dict[int, str]:
    """Names, all different."""
    used, unique = set(taken), {}
    for number, name in names.items():
        candidates = itertools.chain([name], (f"{name}.{n}" for n in itertools.count(1)))
        unique[number] = next(candidate for candidate in candidates if candidate not in used)
        used.add(unique[number])
    return unique


def _size_names(
    trace: ModelTrace, dynamic: Mapping[int, Mapping[int, str]]
) -> dict[CapturedSize, str]:
    """The user's names of symbolic sizes."""
    names: dict[CapturedSize, str] = {}
    for kind, source in trace.inputs.values():
        if source.kind != "argument":
            continue
        for dim, name in dynamic.get(source.source, {}).items():
            size = kind.shape[dim]
            if isinstance(size, CapturedSize):
                names.setdefault(size, name)
    return names
