"""`oneflow.global_function`: the decorator that makes a job of a function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import oneflow.legacy.layer_functions
import oneflow.legacy_functions.replaced  # noqa: F401  meanings of names in bodies
from oneflow.functional.creation import from_data
from oneflow.legacy.annotations import (
    Callback,
    Leaf,
    Placeholder,
    ResultOf,
    converter,
    map_leaves,
)
from oneflow.legacy.function_config import FunctionConfig
from oneflow.legacy.job_graph import JobGraph
from oneflow.legacy.results import CallbackResult, JobArray, JobResult
from oneflow.legacy.session import default_session
from oneflow.tensor.tensor import Tensor

_TYPES = ("predict", "train")


def global_function(
    type: str | FunctionConfig = "predict", function_config: FunctionConfig | None = None
) -> Callable[[Callable[..., Any]], JobFunction]:
    """Make a function a job: a graph with variables of its own, called with NumPy arrays.

    Args:
        type: "train" if the body lets an optimizer minimise a loss, else "predict".
        function_config: settings of the job.

    Returns:
        A decorator.

    Raises:
        ValueError: `type` is something else.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def add(x: tp.Numpy.Placeholder((2,)), y: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        ...     return flow.math.add(x, y)
        >>> add(np.float32([1, 2]), np.float32([10, 20]))
        array([11., 22.], dtype=float32)
        >>> flow.clear_default_session()
    """
    if isinstance(type, FunctionConfig):
        # Before jobs had a type, a learning rate made one train.
        type, function_config = "train" if type.train.has_optimizer else "predict", type
    if type not in _TYPES:
        raise ValueError(f"the type of a job is one of {_TYPES}, got {type!r}")
    config = function_config or FunctionConfig()

    def decorate(function: Callable) -> JobFunction:
        frame = inspect.currentframe()
        # An annotation kept as a text may name something local to where the function is defined.
        names = frame.f_back.f_locals if frame is not None and frame.f_back is not None else {}
        job = JobFunction(function, type == "train", config, names)
        default_session().add_job(job)
        return job

    return decorate


class JobFunction:
    """A function that runs as a graph.

    Args:
        function: the body.
        is_training: True for a training job.
        config: its settings.
        names: what annotations may refer to beside the globals of the function.

    Raises:
        TypeError: an argument is not annotated with a placeholder, or the result's annotation is
            unknown.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        is_training: bool,
        config: FunctionConfig,
        names: Mapping[str, Any],
    ) -> None:
        functools.update_wrapper(self, function)
        self.name = function.__name__
        self._body, self.is_training, self._config = function, is_training, config
        signature = _signature(function, names)
        self._placeholders = {
            name: _placeholder(self.name, name, parameter)
            for name, parameter in signature.parameters.items()
        }
        # A placeholder that stands where a default does is none.
        needed = [entry.replace(default=entry.empty) for entry in signature.parameters.values()]
        self._signature = signature.replace(parameters=needed)
        self._convert, self._wrap_reading = _result_conversion(self.name, signature)
        self._graph: JobGraph | None = None

    @property
    def is_defined(self) -> bool:
        """True if the variables of the job exist."""
        return self._graph is not None

    def reset(self) -> None:
        """Begin anew at the next call, with new variables."""
        self._graph = None

    def define(self) -> JobGraph:
        """Make the variables that the body asks for, and the graph, unless that has been done."""
        if self._graph is None:
            session = default_session()
            session.add_job(self)
            placement = self._config.placement or session.placement
            is_mirrored = self._config.view.is_mirrored
            replicas = placement.size if placement is not None and is_mirrored else 1
            graph = JobGraph(
                self.name,
                self._body,
                self.is_training,
                placement,
                replicas,
                session.device_type if self._config.auto_mixed_precision else None,
                self._config.train.optimizer(),
            )
            for set_option in self._config.graph_options:
                set_option(graph.config)
            graph.config.set_gradient_accumulation_steps(self._config.train.accumulation_steps)
            graph.define([self._blank(placeholder) for placeholder in self._placeholders.values()])
            self._graph = graph
        return self._graph

    @property
    def arguments(self) -> dict[str, Tensor]:
        """Arguments of zeros, by name, as the graph takes them."""
        graph = self.define()
        return {
            name: from_data.from_numpy(self._blank(placeholder))
            for name, placeholder in self._placeholders.items()
            if graph.replicas == 1
        }

    def _blank(self, placeholder: Placeholder) -> np.ndarray:
        return np.zeros(placeholder.shape, placeholder.dtype.numpy)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the job.

        Args:
            *args: an array for each argument, or a list of them in mirrored view.
            **kwargs: likewise.

        Returns:
            What the result's annotation says; without annotation, a `JobResult`.

        Raises:
            TypeError: there are too many or too few arguments, or one has another dtype.
            ValueError: one has another shape.
        """
        arguments = args
        if kwargs or len(args) != len(self._placeholders):
            arguments = self._bound(args, kwargs)
        graph = self._first_call() if self._graph is None else self._graph
        arrays = [
            placeholder.arrays(name, argument, graph.replicas)
            for (name, placeholder), argument in zip(
                self._placeholders.items(), arguments, strict=True
            )
        ]
        results = graph.run(arrays)
        if self._wrap_reading is None:
            return self._convert(graph.read(results))
        # A callback reads results on its own thread, and waits for them there.
        return self._wrap_reading(lambda: self._convert(graph.read(results)))

    def _first_call(self) -> JobGraph:
        """Return the graph, made together with the graphs of all jobs of the session."""
        session = default_session()
        session.add_job(self)
        session.define_jobs()
        return self.define()

    def _bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """Return what a call gives for each placeholder.

        Raises:
            TypeError: there are too many or too few arguments.
        """
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}(): {error}") from None
        return [bound.arguments[name] for name in self._placeholders]


def _signature(function: Callable, names: Mapping[str, Any]) -> inspect.Signature:
    """Return the signature of a job's body, with annotations as objects.

    Raises:
        TypeError: an annotation is a text that names something unknown.
    """
    try:
        return inspect.signature(function, eval_str=True, locals=names)
    except NameError as error:
        raise TypeError(f"job `{function.__name__}`: an annotation is unknown: {error}") from error


def _placeholder(job: str, name: str, parameter: inspect.Parameter) -> Placeholder:
    """Return the placeholder of an argument: its annotation, or its default as in OneFlow 0.1."""
    for candidate in (parameter.annotation, parameter.default):
        if isinstance(candidate, Placeholder):
            return candidate
    raise TypeError(
        f"argument `{name}` of job `{job}` must be annotated with a placeholder, such as "
        "tp.Numpy.Placeholder((32, 10), dtype=flow.float32)"
    )


def _result_conversion(
    job: str, signature: inspect.Signature
) -> tuple[Callable[[Any], Any], Callable[[Callable[[], Any]], Any] | None]:
    """Return how results are converted, and what makes of reading them what a call gives.

    None stands for calls that read them themselves.
    """
    annotation = signature.return_annotation
    if annotation is signature.empty:
        return lambda results: map_leaves(_as_arrays, results), JobResult
    if annotation is None:
        return lambda results: None, lambda read: None
    if isinstance(annotation, ResultOf) and annotation.origin is Callback:
        return converter(annotation.content, job), CallbackResult
    return converter(annotation, job), None


def _as_arrays(leaf: Leaf) -> JobArray | list[JobArray]:
    arrays = [np.asarray(array).view(JobArray) for array in leaf]
    return arrays[0] if len(arrays) == 1 else arrays
