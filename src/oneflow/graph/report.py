"""A graph as a tree of text: modules, parameters, buffers; once it ran, what went in and out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oneflow.graph.recording import Recordable
from oneflow.graph.step import Report
from oneflow.graph.structure import describe_tensor
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


def tree(graph: Recordable, report: Report | None) -> str:
    """The graph as text; `report` tells what is known since it ran."""
    lines = [f"(CONFIG:config:{graph.settings.config!r})"]
    if report is not None:
        lines += _numbered("INPUT", graph.name, report.arguments)
    for name, each in graph.own_tensors().items():
        if isinstance(each, Tensor):
            lines.append(f"(TENSOR:{name}:{describe_tensor(each)})")
    for name, module in graph.named_modules():
        lines += _module_lines(name, name, module, report)
    for index, training in enumerate(graph.trainings()):
        lines.append(f"(OPTIMIZER:{index}:{type(training.optimizer).__name__})")
        if training.scheduler is not None:
            lines.append(f"(LR_SCHEDULER:{index}:{type(training.scheduler).__name__})")
    if report is not None:
        lines += _numbered("OUTPUT", graph.name, report.results)
        lines += report.stages
    head = f"(GRAPH:{graph.name}:{type(graph).__name__})"
    return "\n".join([f"{head}: (", *_indented(lines), ")"])


def _module_lines(name: str, path: str, module: Module, report: Report | None) -> Iterator[str]:
    traffic = None if report is None else report.traffic.get(path)
    inner: list[str] = []
    if traffic is not None:
        inner += _numbered("INPUT", path, traffic.inputs)
    for kind, members in (("PARAMETER", module._parameters), ("BUFFER", module._buffers)):
        for key, tensor in members.items():
            if tensor is not None:
                wanted = ", requires_grad=True" if tensor.requires_grad else ""
                inner.append(f"({kind}:{path}.{key}:{describe_tensor(tensor)[:-1]}{wanted}))")
    for key, child in module._modules.items():
        if child is not None:
            inner += _module_lines(key, f"{path}.{key}", child, report)
    if traffic is not None:
        inner += _numbered("OUTPUT", path, traffic.outputs)
    head = f"(MODULE:{path}:{type(module).__name__}({_one_line(module)}))"
    if inner:
        yield f"{head}: ("
        yield from _indented(inner)
        yield ")"
    else:
        yield f"{head}: ()"


def _one_line(module: Module) -> str:
    return " ".join(module.extra_repr().split())


def _numbered(kind: str, path: str, described: Sequence[str]) -> list[str]:
    return [f"({kind}:{path}.{index}:{each})" for index, each in enumerate(described)]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]
