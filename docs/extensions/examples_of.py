"""The examples of public names, and the primitives that run in them."""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import pydoc
import re
import sys
import tempfile
import types
from collections.abc import Callable
from typing import Any

from flowvision.models.registry import RegisteredModel, registered_models
from oneflow.primitives.registry import PRIMITIVES
from oneflow.runtime.events import SINK, EventKind, TraceEvent
from oneflow.tensor.tensor import Tensor

_PARSER = doctest.DocTestParser()
_RUNNER = doctest.DocTestRunner(verbose=False)
# The object that a documentation refers to, as "see `oneflow.nn.OFRecordReader`".
_REFERENCE = re.compile(r"[Ss]ee\s+`((?:oneflow|flowvision)\.[\w.]+)`")
_MODELS = {model.factory: model for model in registered_models()}
# A model of each class of networks.
_NETWORKS = {
    f"{model.module}.{inspect.signature(model.factory).return_annotation}": model
    for model in reversed(registered_models())
}


def example_of(value: Any) -> str:
    """Return the examples in the documentation of an object as text; empty if there are none.

    An in-place form shows its function's example, a model of the zoo and its class how every model
    is built, a member of `Tensor` the example of the class that it appears in. What has none of its
    own shows one of its module that calls it, or that of what its documentation refers to.
    """
    documented = [value, inspect.unwrap(value) if callable(value) else value]
    if _is_member_of_tensor(value):
        documented.append(Tensor)
    for owner in documented:
        if examples := _own_example(owner):
            return examples
    if not isinstance(value, type | types.FunctionType):
        return ""
    model = _MODELS.get(value) or _NETWORKS.get(f"{value.__module__}.{value.__name__}")
    return _use_of(model) if model is not None else _example_with(value)


def _own_example(value: Any) -> str:
    examples = _PARSER.get_examples(inspect.getdoc(value) or "")
    return "".join(_as_typed(example) for example in examples)


def _example_with(value: type | types.FunctionType) -> str:
    module = sys.modules[value.__module__]
    for variable in vars(module).values():
        if getattr(variable, "__module__", None) == module.__name__:
            examples = _own_example(variable)
            if f".{value.__name__}(" in examples:
                return examples
    found = _REFERENCE.search(inspect.getdoc(value) or "")
    return _own_example(pydoc.locate(found[1])) if found else ""


def _is_member_of_tensor(value: Any) -> bool:
    written = value.fget if isinstance(value, property) else value
    path = getattr(written, "__qualname__", "")
    return path.startswith("Tensor.") and f".{written.__name__}" in (Tensor.__doc__ or "")


def _use_of(model: RegisteredModel) -> str:
    build = f">>> from {model.module} import {model.name}\n>>> model = {model.name}().eval()\n"
    if model.task != "image classification":
        return build
    size = f"{model.image_size}, {model.image_size}"
    return f">>> import oneflow as flow\n{build}>>> scores = model(flow.rand(1, 3, {size}))\n"


def _as_typed(example: doctest.Example) -> str:
    first, *others = example.source.splitlines()
    lines = "".join(f"... {line}".rstrip() + "\n" for line in others)
    return f">>> {first}\n{lines}{example.want}"


def primitives_of_example(function: Callable[..., Any]) -> tuple[str, ...]:
    """Run the examples of a function; return the names of the primitives that ran."""
    names: dict[str, None] = {}

    def note(event: TraceEvent) -> None:
        # The gradients that JAX derives are not in the registry.
        if event.kind is EventKind.OPERATOR and event.name in PRIMITIVES:
            names[event.name] = None

    examples = _PARSER.get_doctest(example_of(function), {}, function.__name__, None, None)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        SINK.record = note
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                _RUNNER.run(examples, clear_globs=True)
        finally:
            SINK.record = None
    return tuple(names)
