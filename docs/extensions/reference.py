"""Write the API reference: a page for every public name, and a list for each module.

`api/index.md` lists the modules; the names are those that these publish. What a function
supports is found by running its examples: the primitives that run have gradients, signatures for
placements and lowerings to ONNX, or not.
"""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
import shutil
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples_of import primitives_of_examples
from sphinx.application import Sphinx
from support import Support, support_of

import oneflow

# An entry of a table of contents in `api/index.md`: the module, and its page.
_MODULE = re.compile(r"^([\w.]+) <generated/\1-index>$", re.MULTILINE)
PACKAGES = ("oneflow", "flowvision", "oneflow_onnx")


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
    def directive(self) -> str:
        """The directive of autodoc that describes it."""
        if self.module == "oneflow.Tensor":
            return "autoattribute" if isinstance(self.value, property) else "automethod"
        if isinstance(self.value, type):
            return "autoclass"
        return "autofunction" if callable(self.value) else "autodata"

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        lines = (inspect.getdoc(self.value) or "").splitlines()
        return lines[0] if lines else ""


def is_public(value: Any) -> bool:
    """Accept classes and functions of our packages, and the constants that they publish."""
    if isinstance(value, types.ModuleType):
        return False
    home = getattr(value, "__module__", None) or type(value).__module__
    return home.partition(".")[0] in PACKAGES


def published(module: types.ModuleType) -> list[str]:
    """Return the public names of a module without `__all__`: defined, or imported `as` that."""
    names = []
    for node in ast.parse(inspect.getsource(module)).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.append(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names += [each.asname for each in aliases if each.asname]
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.append(name)
    return [name for name in names if not name.startswith("_") and hasattr(module, name)]


def entries(module: str) -> Iterator[Entry]:
    """Yield the public names of a module, or of `Tensor`."""
    if module == "oneflow.Tensor":
        for name, value in sorted(vars(oneflow.Tensor).items()):
            if not name.startswith("_") and (callable(value) or isinstance(value, property)):
                yield Entry(module, name, value)
        return
    loaded: Any = pydoc.locate(module)
    names = getattr(loaded, "__all__", None) or published(loaded)
    for name in sorted(names, key=str.lower):
        value = getattr(loaded, name)
        # Some modules import it for their annotations.
        if is_public(value) and (value is not oneflow.Tensor or module == "oneflow"):
            yield Entry(module, name, value)


def page(entry: Entry, others: list[str], support: Support | None) -> str:
    """Return the text of a name's page.

    Args:
        entry: the name.
        others: further public names of the same object.
        support: what it supports, if it is an operator.
    """
    # The methods of `Tensor` have pages of their own.
    has_members = isinstance(entry.value, type) and entry.value is not oneflow.Tensor
    options = "   :members:\n" if has_members else ""
    parts = [
        _heading(entry),
        f"```{{eval-rst}}\n.. {entry.directive}:: {entry.path}\n{options}```\n",
    ]
    if others:
        parts.append("Also: " + ", ".join(f"[{each}]({each}.md)" for each in others) + ".\n")
    if support is not None:
        parts.append(support.table())
    return "\n".join(parts)


def alias_page(entry: Entry, first: str) -> str:
    """Return the text of the page of a further name of what is described under the name `first`."""
    if entry.module == "oneflow.Tensor":
        kind, remark = "method", f"[{first}]({first}.md) with this tensor as the first argument."
    else:
        kind = "class" if isinstance(entry.value, type) else "function"
        remark = f"Another name of [{first}]({first}.md)."
    described = f"```{{eval-rst}}\n.. py:{kind}:: {entry.path}(...)\n\n   {entry.summary}\n```\n"
    return "\n".join([_heading(entry), described, remark, ""])


def _heading(entry: Entry) -> str:
    # A list of thousands in every sidebar would make each page slow.
    return f"---\norphan: true\n---\n\n# {entry.path}\n"


def write_reference(app: Sphinx) -> None:
    """Write all pages below `api/generated`."""
    root = Path(app.srcdir) / "api" / "generated"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    modules = _MODULE.findall((root.parent / "index.md").read_text())
    by_module = {module: list(entries(module)) for module in modules}
    names: dict[int, list[str]] = {}
    for each in (entry for found in by_module.values() for entry in found):
        names.setdefault(id(each.value), []).append(each.path)
    observed = primitives_of_examples([each for found in by_module.values() for each in found])
    for module, found in by_module.items():
        for each in found:
            first, *others = names[id(each.value)]
            text = alias_page(each, first)
            if each.path == first:
                text = page(each, others, support_of(observed.get(each.path, ())))
            (root / f"{each.path}.md").write_text(text)
        (root / f"{module}-index.md").write_text(module_page(module, found))


def module_page(module: str, found: list[Entry]) -> str:
    """Return the list of a module's names."""
    rows = "".join(
        f"| [{each.name}]({each.path}.md) | {each.summary.replace('|', '/')} |\n" for each in found
    )
    return f"# {module}\n\n| name | |\n| --- | --- |\n{rows}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", write_reference)
    return {"version": oneflow.__version__, "parallel_read_safe": True}
