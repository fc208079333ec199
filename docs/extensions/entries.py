"""The entries of the API reference: the public names of the modules that `api/index.md` lists."""

from __future__ import annotations

import functools
import inspect
import pydoc
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from make_facades import public_names

import oneflow
from flowvision.models.registry import registered_models

INDEX = Path(__file__).parents[1] / "api" / "index.md"
# An entry of a table of contents in `api/index.md`: the module, and its page.
_MODULE = re.compile(r"^([\w.]+) <generated/\1-index>$", re.MULTILINE)
_PACKAGES = ("oneflow", "flowvision", "oneflow_onnx")
# Names of `flowvision.models` that are about all models, or that networks return.
_ABOUT_MODELS = ("GoogLeNetOutputs", "InceptionOutputs", "ModelCreator", "model_factory")
_CONSTANTS = (float, int, str, tuple, types.NoneType)


@dataclass(frozen=True)
class Entry:
    """A public name.

    Attributes:
        module: the path that it is reached by, without the name.
        name: the name.
        value: the object.
    """

    module: str
    name: str
    value: Any

    @property
    def path(self) -> str:
        """The full name."""
        return f"{self.module}.{self.name}"

    @property
    def is_constant(self) -> bool:
        """Test if it is a number, a text or a tuple of numbers, which have no documentation."""
        return isinstance(self.value, _CONSTANTS)

    @property
    def directive(self) -> str:
        """The directive of autodoc that describes it."""
        if self.module == "oneflow.Tensor":
            return "autoattribute" if isinstance(self.value, property) else "automethod"
        if isinstance(self.value, type):
            return "autoclass"
        # Objects that can be called are values, as `sbp.broadcast` is.
        return "autofunction" if inspect.isroutine(self.value) else "autodata"

    @property
    def signature(self) -> str:
        """Its parameters as a further name's page shows them, those of a method without `self`.

        Types, which link to their pages, are on the page of the first name.
        """
        try:
            parameters = list(inspect.signature(self.value).parameters.values())
        except (TypeError, ValueError):  # Python's own classes may have none
            return "(...)"
        if self.module == "oneflow.Tensor":
            del parameters[0]
        untyped = [
            parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters
        ]
        return str(inspect.Signature(untyped))

    @property
    def summary(self) -> str:
        """The first line of its documentation, or a constant's value."""
        if self.is_constant:
            return f"`{self.value!r}`"
        lines = (inspect.getdoc(self.value) or "").splitlines()
        return lines[0] if lines else ""


def is_public(value: Any) -> bool:
    """Accept classes, functions and objects of our packages, numbers and texts."""
    if isinstance(value, _CONSTANTS):
        return True
    if isinstance(value, types.ModuleType | TypeVar):
        return False
    home = getattr(value, "__module__", None) or type(value).__module__
    return home.partition(".")[0] in _PACKAGES


@functools.cache
def networks() -> frozenset[str]:
    """Return the names of flowvision's networks: those of factories, and of what they return."""
    factories = [model.factory for model in registered_models()]
    returned = {str(inspect.signature(factory).return_annotation) for factory in factories}
    return frozenset(returned.union(factory.__name__ for factory in factories))


def is_part_of_a_network(module: str, name: str) -> bool:
    """Accept names that upstream's programs import from `flowvision.models` beside networks."""
    is_about_models = name in _ABOUT_MODELS or name in networks()
    return module == "flowvision.models" and not is_about_models


def modules() -> list[str]:
    """Return the modules that the index lists."""
    return _MODULE.findall(INDEX.read_text(encoding="utf-8"))


def entries(module: str) -> Iterator[Entry]:
    """Yield the public names of a module, or of `Tensor`."""
    if module == "oneflow.Tensor":
        for name, value in sorted(vars(oneflow.Tensor).items()):
            if not name.startswith("_") and (callable(value) or isinstance(value, property)):
                yield Entry(module, name, value)
        return
    loaded: Any = pydoc.locate(module)
    names = getattr(loaded, "__all__", None) or public_names(inspect.getsource(loaded))
    lazy_names = getattr(loaded, "__lazy_names__", ())  # not in `__all__`, but in `dir()`
    for name in sorted({*names, *lazy_names}, key=lambda name: (name.lower(), name)):
        value = getattr(loaded, name)
        # Some modules import it for their annotations.
        if (
            is_public(value)
            and (value is not oneflow.Tensor or module == "oneflow")
            and not is_part_of_a_network(module, name)
        ):
            yield Entry(module, name, value)
