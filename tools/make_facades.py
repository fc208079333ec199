"""Write the generated part of each façade: the functions of the registry, layers and models.

``python tools/make_facades.py`` writes them; with ``--check`` it exits with 1 if a file is not what
would be written. What stands above the line `MARKER` of a façade is written by hand: other classes,
dtypes, sub-modules; but where a package names what it imports when it is asked for, the imports
that type checkers read instead are written, too.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
import textwrap
import types
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from generated_files import write_or_check

SOURCE = Path(__file__).parents[1] / "src" / "oneflow"
MARKER = "# Generated from the function registry by `tools/make_facades.py` (make stubs)."
MODELS = SOURCE.parent / "flowvision" / "models"
# The rooms whose functions are public.
FUNCTIONS = ("oneflow.functional", "oneflow.builtins", "oneflow.legacy_functions")
# The package whose classes `oneflow.nn` offers.
LAYERS = "oneflow.nn.modules"
LINE_LENGTH = 100
# The imports of what a package imports when it is asked for, up to the next statement.
LAZY_IMPORTS = re.compile(r"^if TYPE_CHECKING:\n(?:    .*\n|\)\n)+", re.MULTILINE)


def registered_functions() -> dict[str, Callable]:
    """Return the public functions by their path below `oneflow`.

    The rooms are imported without façades, which may name what has moved.
    """
    for name in ("oneflow", "oneflow.nn"):
        package = sys.modules[name] = types.ModuleType(name)
        package.__path__ = [str(SOURCE.joinpath(*name.split(".")[1:]))]
    # First what configures JAX.
    importlib.import_module("oneflow.runtime")
    for room in FUNCTIONS:
        package = importlib.import_module(room)
        for info in pkgutil.walk_packages(package.__path__, f"{room}."):
            importlib.import_module(info.name)
    importlib.import_module("oneflow.builtins.aliases").register_builtins()
    return importlib.import_module("oneflow.functional.registry").FUNCTIONS


def layers(written: str) -> dict[str, type]:
    """Return the public classes of `LAYERS`, without modules that the text `written` names."""
    names = pkgutil.iter_modules(importlib.import_module(LAYERS).__path__, f"{LAYERS}.")
    modules = [importlib.import_module(name.name) for name in names if name.name not in written]
    return {
        name: variable
        for module in modules
        for name, variable in vars(module).items()
        if isinstance(variable, type)
        and variable.__module__ == module.__name__
        and not name.startswith("_")
    }


def facade_path(namespace: str) -> Path:
    """Return the file of a namespace: `linalg.py`, or `__init__.py` for `oneflow` itself."""
    path = SOURCE / namespace.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def natural_order(name: str) -> list[tuple[int, int | str]]:
    """Return a sort key that puts `log2` before `log10`, as import sorting does."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(part)) if part.isdigit() else (1, part) for part in parts if part]


def kind_order(name: str) -> tuple[bool, bool]:
    """Return a sort key: constants, classes, functions."""
    return not name.isupper(), name[0].islower()


def import_statement(module: str, names: list[tuple[str, str]], indent: str = "") -> str:
    """Return one statement that imports the pairs of name and public name."""
    ordered = sorted(
        names,
        key=lambda pair: (
            kind_order(pair[0]),
            natural_order(pair[0].lower()),
            natural_order(pair[1]),
        ),
    )
    aliases = [f"{name} as {public}" for name, public in ordered]
    line = f"{indent}from {module} import {', '.join(aliases)}\n"
    if len(line) <= LINE_LENGTH + 1:
        return line
    entries = [f"{indent}    {alias}," for alias in aliases]
    # A name of more than 40 letters cannot stand twice in a line that is short enough.
    entries = [f"{entry}  # noqa: E501" if len(entry) > LINE_LENGTH else entry for entry in entries]
    lines = "".join(f"{entry}\n" for entry in entries)
    return f"{indent}from {module} import (\n{lines}{indent})\n"


def generated_part(functions: dict[str, Callable]) -> str:
    """Return imports of functions and classes, then in-place forms, each under its public name."""
    imports: dict[str, list[tuple[str, str]]] = defaultdict(list)
    inplace: list[str] = []
    tensor = sys.modules["oneflow.tensor.tensor"].Tensor
    for public, function in functions.items():
        module = function.__module__
        # A module calls `sum_` what users call `sum`.
        names = (function.__name__, f"{function.__name__}_")
        written = [name for name in names if vars(sys.modules[module]).get(name) is function]
        if written:
            imports[module].append((written[0], public))
        elif vars(tensor).get(public) is function:
            inplace.append(f"{public} = Tensor.{public}\n")
        else:
            sys.exit(f"`{public}` is neither of {module} nor a method of Tensor")
    modules = sorted(imports, key=natural_order)
    text = "".join(import_statement(module, imports[module]) for module in modules)
    return text + "".join(["\n", *sorted(inplace, key=natural_order)] if inplace else [])


def with_lazy_imports(package: str, text: str) -> str:
    """Return the text of a package's `__init__.py` with the imports that type checkers read."""
    assigned = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id in ("__lazy_modules__", "__lazy_names__")
    }
    imports: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name in assigned.get("__lazy_modules__", ()):
        imports[package].append((name, name))
    for public, path in assigned.get("__lazy_names__", {}).items():
        module, _, name = path.partition(":")
        imports[module].append((name or public, public))
    if not imports:
        return text
    lines = "".join(
        import_statement(module, imports[module], indent="    ")
        for module in sorted(imports, key=natural_order)
    )
    return LAZY_IMPORTS.sub(f"if TYPE_CHECKING:\n{lines}", text, count=1)


def public_names(module: str) -> list[str]:
    """Return the public names in the text of a module: defined there, or imported `as` a name."""
    names: set[str] = set()
    for node in ast.parse(module).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {alias.asname for alias in aliases if alias.asname}
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    public = (name for name in names if not name.startswith("_"))
    return sorted(public, key=lambda name: (kind_order(name), natural_order(name)))


def list_of_public_names(names: list[str]) -> str:
    """Return the statement that defines `__all__`.

    Type checkers take a name that is imported under another one for private unless it is there.
    """
    items = ", ".join(f'"{name}"' for name in names)
    if len(items) < LINE_LENGTH - len("__all__ = []"):
        return f"\n__all__ = [{items}]\n"
    lines = textwrap.fill(f"{items},", LINE_LENGTH, initial_indent="    ", subsequent_indent="    ")
    return f"\n# fmt: off\n__all__ = [\n{lines}\n]\n# fmt: on\n"


def models_of(source: str) -> Iterator[str]:
    """Yield the names of the models that a module defines: the rows of a family, and functions."""
    for statement in ast.parse(source).body:
        match statement:
            case ast.FunctionDef(
                name=name, decorator_list=[ast.Call(func=ast.Name(id="register_model"))]
            ):
                yield name
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(args=[ast.Constant(value=registered), *_]),
            ) if name == registered and not name.startswith("_"):
                yield name


def models_facade() -> tuple[Path, str]:
    """Return the file of `flowvision.models`, which imports every model, and its text."""
    file = MODELS / "__init__.py"
    head = file.read_text(encoding="utf-8").partition(MARKER)[0]
    imports = ""
    for module in sorted(MODELS.glob("*.py")):
        if models := sorted(models_of(module.read_text(encoding="utf-8")), key=natural_order):
            line = f"from flowvision.models.{module.stem} import {', '.join(models)}"
            imports += f"{line}\n" if len(line) <= LINE_LENGTH else _in_parentheses(line)
    names = {
        alias.name
        for statement in ast.parse(head + imports).body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
        if not alias.asname
    }
    listed = sorted(names, key=lambda name: (kind_order(name), natural_order(name)))
    return file, f"{head}{MARKER}\n{imports}{list_of_public_names(listed)}"


def _in_parentheses(statement: str) -> str:
    """Return an import with its names on lines of their own, as many on each as there is room."""
    module, _, names = statement.partition(" import ")
    lines = textwrap.fill(f"{names},", LINE_LENGTH, initial_indent="    ", subsequent_indent="    ")
    return f"{module} import (\n{lines}\n)\n"


def rendered() -> Iterator[tuple[Path, str]]:
    """Yield each façade with what it should hold."""
    facades: dict[str, dict[str, Callable | type]] = defaultdict(dict)
    for path, function in registered_functions().items():
        namespace, _, name = path.rpartition(".")
        facades[namespace][name] = function
    for namespace, functions in facades.items():
        file = facade_path(namespace)
        head, marker, _ = file.read_text(encoding="utf-8").partition(MARKER)
        if not marker:
            sys.exit(f"{file} needs the line: {MARKER}")
        if namespace == "nn":
            functions.update(layers(head))
        if file.name == "__init__.py":
            package = ".".join(("oneflow", *filter(None, namespace.split("."))))
            head = with_lazy_imports(package, head)
        text = f"{head}{MARKER}\n{generated_part(functions)}"
        yield file, text + list_of_public_names(public_names(text))
    yield models_facade()


def main() -> None:
    """Write or check the façades."""
    write_or_check(rendered, __doc__)


if __name__ == "__main__":
    main()
