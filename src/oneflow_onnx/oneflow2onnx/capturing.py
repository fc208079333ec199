"""From a graph, module or function and example arguments to a captured step, nothing run."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import oneflow as flow
from oneflow.graph.capture import captured_step
from oneflow.graph.captured_step import CapturedStep
from oneflow.graph.graph import Graph
from oneflow.graph.pytree import flatten_call, tree_unflatten
from oneflow.legacy.job import JobFunction
from oneflow.legacy.session import default_session

_ATTRIBUTE = "exported"


class _Called(Graph):
    """A graph that calls a module, or a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        setattr(self, _ATTRIBUTE, function)

    def build(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        return getattr(self, _ATTRIBUTE)(*args, **kwargs)


@dataclass(frozen=True)
class ExportedModel:
    """A model as it will be captured.

    Attributes:
        graph: the graph to capture.
        name: the name of the model.
        prefix: what names of parameters begin with that the user did not write.
        signature: names of the parameters of `build` or `forward`, in order.
    """

    graph: Graph
    name: str
    prefix: str
    signature: tuple[str, ...]


def exported_model(model: Any) -> ExportedModel:
    """Return the graph that stands for a graph, a job function, a module or a function.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(model, JobFunction):
        default_session().define_jobs()
        graph = model.define()
        return ExportedModel(graph, graph.name, "variables.", tuple(model.arguments))
    if isinstance(model, Graph):
        return ExportedModel(model, model.name, "", _parameters(model.build))
    if isinstance(model, flow.nn.Module):
        name = type(model).__name__
        return ExportedModel(_Called(model), name, f"{_ATTRIBUTE}.", _parameters(model.forward))
    if callable(model):
        name = getattr(model, "__name__", type(model).__name__)
        # A lambda expression has a name that is no identifier, which ONNX asks for.
        name = name if name.isidentifier() else "function"
        return ExportedModel(_Called(model), name, f"{_ATTRIBUTE}.", _parameters(model))
    raise TypeError(
        "`model` must be an `nn.Graph`, an `nn.Module` or a function of tensors, got "
        f"{type(model).__name__}"
    )


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names by which a function takes its arguments; ``*names`` end them."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind in kinds)


def compiled_arguments(graph: Graph | JobFunction) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments like the last call's of a graph, or as a job's placeholders say.

    Raises:
        RuntimeError: the graph was never called.
    """
    if isinstance(graph, JobFunction):
        return tuple(graph.arguments.values()), {}
    step = graph.last_step
    if step is None:
        raise RuntimeError(
            f"{graph.name} was not called yet, so the shapes of its arguments are unknown; call "
            "it once, or export it by `oneflow.onnx.export(graph, args, path)`"
        )
    tensors = [_placeholder(spec) for spec in step.argument_specs]
    args, kwargs = tree_unflatten(step.binding.called, iter(tensors))
    return tuple(args), dict(kwargs)


def _placeholder(spec: Any) -> flow.Tensor:
    if spec.sbp is not None:
        return flow.zeros(*spec.shape, dtype=spec.dtype, placement=spec.device, sbp=spec.sbp)
    return flow.zeros(*spec.shape, dtype=spec.dtype, device=str(spec.device))


def capture_call(graph: Graph, args: Sequence[Any], kwargs: Mapping[str, Any]) -> CapturedStep:
    """Capture what a call of a graph would run; nothing runs, and nothing changes.

    Raises:
        RuntimeError: it cannot be captured; the message says why.
    """
    tensors: list[flow.Tensor] = []
    structure = flatten_call(tuple(args), dict(kwargs), tensors, graph.name)
    with captured_step(graph, graph.build, structure, tensors) as step:
        for optimizer_step in step.optimizer_steps:
            optimizer_step.undo()
    return step


@contextlib.contextmanager
def mode(graph: Graph, training: bool | None) -> Iterator[None]:
    """Context manager: the modules of a graph are in training mode or not; None: as they are."""
    modules = [module for _, top in graph.named_modules() for module in top.modules()]
    before = [module.training for module in modules]
    try:
        if training is not None:
            for _, top in graph.named_modules():
                top.train(training)
        yield
    finally:
        for module, was in zip(modules, before, strict=True):
            module.training = was
