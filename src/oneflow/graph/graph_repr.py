"""A graph as a tree of text: modules, parameters, buffers; their inputs and outputs once it ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oneflow.graph.capture import Capturable
from oneflow.graph.captured_step import StepSummary
from oneflow.graph.pytree import describe_tensor
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


def graph_text(graph: Capturable, summary: StepSummary | None) -> str:
    """The graph as text, with the summary of the step that was compiled last, if any."""
    lines = [f"(CONFIG:config:{graph.settings.config!r})"]
    if summary is not None:
        lines += _with_index("INPUT", graph.name, summary.arguments)
    for name, attribute in graph.graph_attributes().items():
        if isinstance(attribute, Tensor):
            lines.append(f"(TENSOR:{name}:{describe_tensor(attribute)})")
    for name, module in graph.named_modules():
        lines += _module_lines(name, name, module, summary)
    for index, added in enumerate(graph.added_optimizers()):
        lines.append(f"(OPTIMIZER:{index}:{type(added.optimizer).__name__})")
        if added.scheduler is not None:
            lines.append(f"(LR_SCHEDULER:{index}:{type(added.scheduler).__name__})")
    if summary is not None:
        lines += _with_index("OUTPUT", graph.name, summary.results)
        lines += summary.stages
    head = f"(GRAPH:{graph.name}:{type(graph).__name__})"
    return "\n".join([f"{head}: (", *_indented(lines), ")"])


def _module_lines(
    name: str, path: str, module: Module, summary: StepSummary | None
) -> Iterator[str]:
    tensors = None if summary is None else summary.modules.get(path)
    inner: list[str] = []
    if tensors is not None:
        inner += _with_index("INPUT", path, tensors.inputs)
    for kind, members in (("PARAMETER", module._parameters), ("BUFFER", module._buffers)):
        for key, tensor in members.items():
            if tensor is not None:
                suffix = ", requires_grad=True" if tensor.requires_grad else ""
                inner.append(f"({kind}:{path}.{key}:{describe_tensor(tensor)[:-1]}{suffix}))")
    for key, child in module._modules.items():
        if child is not None:
            inner += _module_lines(key, f"{path}.{key}", child, summary)
    if tensors is not None:
        inner += _with_index("OUTPUT", path, tensors.outputs)
    head = f"(MODULE:{path}:{type(module).__name__}({_one_line(module)}))"
    if inner:
        yield f"{head}: ("
        yield from _indented(inner)
        yield ")"
    else:
        yield f"{head}: ()"


def _one_line(module: Module) -> str:
    return " ".join(module.extra_repr().split())


def _with_index(kind: str, path: str, labels: Sequence[str]) -> list[str]:
    return [f"({kind}:{path}.{index}:{label})" for index, label in enumerate(labels)]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]
