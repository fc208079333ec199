"""Write the API reference: a page for every public name, and a list for each module.

`api/index.md` lists the modules; the names are those that these publish. What a function
supports is found by running its examples: the primitives that run have gradients, signatures for
placements and lowerings to ONNX, or not.
"""

from __future__ import annotations

import inspect
import itertools
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from counterparts import counterpart_line
from differences import differences_table
from drawing import draw
from entries import INDEX, Entry, entries, modules
from examples_of import example_of, primitives_of_example
from markup import directive, heading
from pictures import FIGURES, pictures
from support import support_table

import oneflow

if TYPE_CHECKING:
    from sphinx.application import Sphinx


PICTURES = "pictures"  # the folder beside the pages


def page(entry: Entry, others: list[str], primitives: Sequence[str]) -> str:
    """Return the text of a name's page.

    Args:
        entry: the name.
        others: further public names of the same object.
        primitives: what its example runs.
    """
    # The methods of `Tensor` have pages of their own.
    has_members = isinstance(entry.value, type) and entry.value is not oneflow.Tensor
    described = directive(entry.directive, entry.path, option=":members:" if has_members else "")
    parts = [heading(entry.path), described]
    shown = [path for path in (entry.path, *others) if path in pictures()]
    parts += [_image(f"{PICTURES}/{path}.svg", entry.name) for path in shown]
    if entry.path in FIGURES:
        parts.append(_image(f"../../images/{FIGURES[entry.path]}", entry.name))
    if others:
        parts.append("Also: " + ", ".join(f":doc:`{other}`" for other in others) + ".\n")
    example = example_of(entry.value)
    if example and ">>>" not in (inspect.getdoc(entry.value) or ""):
        parts.append(_block(example))
    if primitives:
        parts.append(support_table(primitives))
    return "\n".join(parts)


def alias_page(entry: Entry, first: str) -> str:
    """Return the text of the page of a further name of what is described under the name `first`."""
    if entry.module == "oneflow.Tensor":
        kind, remark = "method", f":doc:`{first}` with this tensor as the first argument."
    else:
        kinds = {"autoclass": "class", "autodata": "data"}
        kind = kinds.get(entry.directive, "function")
        remark = f"Another name of :doc:`{first}`."
    signature = "" if kind == "data" else entry.signature
    described = directive(f"py:{kind}", f"{entry.path}{signature}", entry.summary)
    return "\n".join([heading(entry.path), described, remark, "", _block(example_of(entry.value))])


def _image(file: str, name: str) -> str:
    return directive("image", file, option=f":alt: {name}")


def constant_page(entry: Entry) -> str:
    """Return the text of a constant's page."""
    described = directive("py:data", entry.path, option=f":value: {entry.value!r}")
    return "\n".join([heading(entry.path), described])


def _block(example: str) -> str:
    return "Example:\n\n" + directive("code-block", "pycon", example)


def write_reference(_: Sphinx) -> None:
    """Write all pages below `api/generated`."""
    root = INDEX.parent / "generated"
    shutil.rmtree(root, ignore_errors=True)
    (root / PICTURES).mkdir(parents=True)
    for path, picture in pictures().items():
        draw(picture(), root / PICTURES / f"{path}.svg")
    by_module = {module: list(entries(module)) for module in modules()}
    names: dict[int, list[str]] = {}
    for entry in itertools.chain.from_iterable(by_module.values()):
        names.setdefault(_identity(entry), []).append(entry.path)
    for module, found in by_module.items():
        for entry in found:
            first, *others = names[_identity(entry)]
            text = alias_page(entry, first)
            if entry.is_constant:
                text = constant_page(entry)
            elif entry.path == first:
                is_operator = inspect.isfunction(entry.value) and module.startswith("oneflow")
                primitives = primitives_of_example(entry.value) if is_operator else ()
                text = page(entry, others, primitives)
            differs = differences_table(names[_identity(entry)])
            parts = (text, counterpart_line(entry.path), differs)
            (root / f"{entry.path}.rst").write_text("\n".join(filter(None, parts)))
        (root / f"{module}-index.md").write_text(module_page(module, found))


def _identity(entry: Entry) -> object:
    """The common mark of names of one object; equal numbers may be one object by chance."""
    return entry.path if entry.is_constant else id(entry.value)


def module_page(module: str, found: list[Entry]) -> str:
    """Return the list of a module's names."""
    rows = "".join(
        f"| [{entry.name}]({entry.path}.rst) | {entry.summary.replace('|', '/')} |\n"
        for entry in found
    )
    return f"# {module}\n\n| name | |\n| --- | --- |\n{rows}"


def omit_inherited_forward(
    _: Sphinx, kind: str, name: str, value: Any, skip: bool, options: object
) -> bool | None:
    """Leave out a layer's `forward` that has nothing to say but what every module's does."""
    del kind, skip, options
    return True if name == "forward" and not getattr(value, "__doc__", None) else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", write_reference)
    app.connect("autodoc-skip-member", omit_inherited_forward)
    return {"version": oneflow.__version__, "parallel_read_safe": True}
