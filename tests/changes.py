"""The changes since tests last ran whole, and so which of their cases run beyond the sample.

`make exhaustive` writes into `whole_runs.tsv` on which commit the tests of a room ran whole. What
has changed since then selects cases: of the tables those of operators that depend on a changed
statement, of other code the tests of its room. Where no run is recorded, what is not committed has
changed; without git nothing has.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import io
import pickle
import re
import subprocess
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from oneflow.primitives.registry import PRIMITIVES, Primitive
from tests.changed_code import changed_names
from tests.dependencies import PUBLIC_API, Dependencies, Symbol, module_name
from tests.oracle import FLOW
from tests.samples.table import Operator, operators

TESTS = Path(__file__).parent
ROOT = TESTS.parent
RECORD = TESTS / "whole_runs.tsv"
# Folders whose statements have dependents in the tables of operators.
TABLED = (
    "src/oneflow/primitives/operators/",
    "src/oneflow/functional/",
    "src/oneflow/builtins/",
    "src/oneflow/legacy_functions/",
)
# The parts that operators have in common, the operators apart. All calls of the public API go
# through them, at places that no name in a law leads to.
PRIMITIVES_IN_GENERAL = "src/oneflow/primitives/"
# The laws: those run whole that depend on a changed statement, also of what tests share.
LAWS = "tests/laws/"
LOWERINGS = "src/oneflow_onnx/oneflow2onnx/lowerings/"
# The sources that a room of tests checks, where that is not the folder of the same name.
SOURCES = {
    "autograd": ("autograd", "differentiation"),
    "distributed": ("distributed", "control_plane"),
    "jax_bridge": ("jax",),
    "global_view": ("primitives/sharding",),
    "nn": ("nn", "module"),
    "tensor": ("tensor", "dispatch"),
}
OTHER_SOURCES = {"flowvision": "src/flowvision/", "onnx": "src/oneflow_onnx/"}

Names = Mapping[str, frozenset[str]]
"""The names that changed statements define, by the file's path below the repository."""


def part_of(path: str) -> str:
    """Return the part of `make exhaustive` to which a file below `tests` belongs: room, or file."""
    room, _, rest = path.partition("/")
    return path if room == "laws" or not rest else room


def recorded_commits() -> dict[str, str]:
    """Return the commit on which each part last ran whole."""
    lines = RECORD.read_text(encoding="utf-8").splitlines() if RECORD.exists() else []
    return dict(line.split("\t") for line in lines)


def git(*arguments: str) -> str | None:
    """Return what a command of git prints; None if it fails."""
    try:
        run = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return run.stdout


@functools.cache
def changed_definitions(commit: str) -> Names:
    """Return what has changed since a commit, in the working tree; nothing if git cannot say.

    Comments and docstrings of Python files do not count.
    """
    # The files may lie in a repository that is not theirs.
    if not (ROOT / ".git").exists():
        return {}
    options = ("--name-only", "-z", "--no-renames", "--no-ext-diff")
    diff = git("diff", *options, commit, "--", "src", "tests")
    if diff is None:
        return {}
    others = git("ls-files", "-z", "--others", "--exclude-standard", "src", "tests") or ""
    paths = list(filter(None, (diff + others).split("\0")))
    before = texts_at(commit, [path for path in paths if path.endswith(".py")])
    changed = {path: _changed_names(path, before) for path in paths}
    return {path: names for path, names in changed.items() if names is not None}


def texts_at(commit: str, paths: Collection[str]) -> dict[str, str]:
    """Return the texts of files on a commit, of those that were there."""
    # One process for all of them: to start one takes longer than to read a file.
    run = subprocess.run(
        ["git", "cat-file", "--batch"],
        cwd=ROOT,
        input="".join(f"{commit}:{path}\n" for path in paths).encode(),
        capture_output=True,
        check=True,
    )
    texts, output = {}, io.BytesIO(run.stdout)
    for path in paths:
        header = output.readline().split()
        if header[-1] != b"missing":
            texts[path] = output.read(int(header[-1])).decode()
            output.readline()
    return texts


def _changed_names(path: str, before: Mapping[str, str]) -> frozenset[str] | None:
    """Return the names whose definitions in a file have changed; None if no code has."""
    if not path.endswith(".py"):
        return frozenset()
    file = ROOT / path
    after = file.read_text(encoding="utf-8") if file.exists() else None
    return changed_names(before.get(path), after)


class Changes:
    """The cases that check what has changed since a commit.

    Args:
        names: what has changed.
    """

    def __init__(self, names: Names) -> None:
        self._paths = frozenset(names)
        symbols = _dependents(names, (*TABLED, PRIMITIVES_IN_GENERAL))
        # Single operators that laws use are examples; their cases are chosen by name.
        general = {path: names[path] for path in names if not path.startswith(TABLED)}
        self._laws = _dependents(general, (PRIMITIVES_IN_GENERAL, "tests/"))
        if any(path.startswith(PRIMITIVES_IN_GENERAL) for path in general):
            self._laws |= _dependencies().dependents_of([PUBLIC_API])
        lowered = self._lowered()
        self._primitives = set(_changed_primitives(symbols)) | lowered
        self._rows = _changed_rows(symbols | _symbols_of(lowered)) | self._rows_of_samples()
        # The ones that change in their own file.
        modules = {module_name(path) for path in names if path.startswith(TABLED)}
        own = {symbol for symbol in symbols if symbol[0] in modules}
        primitives = set(_changed_primitives(own)) | lowered
        rows = _changed_rows(own | _symbols_of(primitives)) | self._rows_of_samples()
        self._own = primitives | rows

    def _rows_of_samples(self) -> set[str]:
        """The rows of changed tables."""
        return {
            row.name for family, row in operators() if f"tests/samples/{family}.py" in self._paths
        }

    def _lowered(self) -> set[str]:
        """The primitives in whose lowerings to ONNX something has changed."""
        texts = [(ROOT / p).read_text("utf-8") for p in self._paths if _is_lowering(p)]
        calls = re.findall(r"@lowering\(([^)]*)\)", "\n".join(texts))
        return set(re.findall(r'"(\w+)"', " ".join(calls)))

    def concern(self, path: str, test: str, values: Collection[Any]) -> bool:
        """Return whether a case checks what has changed.

        Args:
            path: its file, below `tests`.
            test: its function.
            values: its parameters.
        """
        room = path.partition("/")[0]
        if room == "laws":
            if (module_name(f"tests/{path}"), test) in self._laws:
                return True
        elif f"tests/{path}" in self._paths or self._has_changed_sources(room):
            return True
        return _check(room, values, self._rows, self._primitives | self._rows)

    def are_direct(self, path: str, values: Collection[Any]) -> bool:
        """Return whether a case that the changes concern checks what has changed itself.

        That is its file, its room's source, or the file that defines its primitive. The others
        check what depends on a change elsewhere.

        Args:
            path: its file, below `tests`.
            values: its parameters.
        """
        room = path.partition("/")[0]
        if f"tests/{path}" in self._paths or (room != "laws" and self._has_changed_sources(room)):
            return True
        return _check(room, values, self._own, self._own)

    def _has_changed_sources(self, room: str) -> bool:
        """Return whether code has changed that the tests of a room check all together."""
        sources = [f"src/oneflow/{source}/" for source in SOURCES.get(room, (room,))]
        sources.append(OTHER_SOURCES.get(room, f"tests/{room}/"))
        return any(
            path.startswith(tuple(sources))
            and not path.startswith(TABLED)
            and not _is_lowering(path)
            and not Path(path).name.startswith("test_")
            for path in self._paths
        )


def _check(room: str, values: Collection[Any], rows: set[str], names: set[str]) -> bool:
    """Return whether the parameters of a case are among rows, or among names if it is a law."""
    if any(isinstance(value, Operator) and value.name in rows for value in values):
        return True
    # Laws of primitives take the names of one or several.
    return room == "laws" and any(_names(value) & names for value in values)


def _names(value: Any) -> set[str]:
    """Return the texts that a parameter is or has."""
    values = value if type(value) in (tuple, list) else (value,)
    return {text for text in values if isinstance(text, str)}


def _is_lowering(path: str) -> bool:
    return path.startswith(LOWERINGS) and (ROOT / path).exists()


@functools.cache
def _dependencies() -> Dependencies:
    return Dependencies(ROOT, {*TABLED, PRIMITIVES_IN_GENERAL, LAWS})


def _dependents(names: Names, folders: tuple[str, ...]) -> set[Symbol]:
    """Return the names that depend on what has changed in some folders."""
    changed = {path: own for path, own in names.items() if path.startswith(folders)}
    return _dependencies().dependents(changed) if changed else set()


_CHANGES: dict[str, Changes | None] = {}  # by commit


def changes_since(commit: str) -> Changes | None:
    """Return the changes since a commit; None if there are none."""
    if commit not in _CHANGES:
        names = changed_definitions(commit)
        _CHANGES[commit] = Changes(names) if names else None
    return _CHANGES[commit]


@functools.cache
def pack_changes() -> bytes:
    """Return the changes since each recorded commit and the last one, for other processes."""
    commits = {*recorded_commits().values(), "HEAD"}
    return pickle.dumps({commit: changes_since(commit) for commit in commits})


def unpack_changes(data: bytes) -> None:
    """Take the changes that another process has found."""
    _CHANGES.update(pickle.loads(data))


def _changed_primitives(symbols: Iterable[Symbol]) -> Iterable[str]:
    for symbol in symbols:
        # With what the builder `unary` defines beside it.
        name = _primitive_name(symbol)
        yield from {name, f"{name}_gradient"} & PRIMITIVES.keys()


def _primitive_name(symbol: Symbol) -> str:
    """Return the name of the primitive that a symbol is; an empty one if it is something else."""
    module, name = symbol
    if not module.startswith("oneflow.primitives."):
        return ""
    value = getattr(importlib.import_module(module), name, None)
    return value.name if isinstance(value, Primitive) else ""


def _symbols_of(primitives: set[str]) -> set[Symbol]:
    """Return primitives and what depends on them, as symbols."""
    if not primitives:
        return set()
    dependencies = _dependencies()
    symbols = [symbol for symbol in dependencies.symbols() if _primitive_name(symbol) in primitives]
    return dependencies.dependents_of(symbols)


def _changed_rows(symbols: set[Symbol]) -> set[str]:
    return {row.name for _, row in operators() if symbols and _functions(row) & symbols}


def _functions(row: Operator) -> set[Symbol]:
    """Return the functions that a row of the operator table calls."""
    if row.call is None:
        return {_symbol(FLOW.function(row))}
    found = set()
    value: Any = FLOW.module
    # Names in the order of use: `lib.nn.functional.relu` is three.
    for name in row.call.__code__.co_names:
        value = getattr(value, name, None) or getattr(FLOW.module, name, None)
        if callable(value):
            found.add(_symbol(value))
            value = FLOW.module
    return found


def _symbol(function: Any) -> Symbol:
    function = inspect.unwrap(function)
    return getattr(function, "__module__", ""), getattr(function, "__name__", "")
