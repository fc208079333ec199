"""The errors of packages that are made."""

from __future__ import annotations

import enum
from collections import defaultdict

from oneflow.mock_torch.pytorch.package._digraph import DiGraph

#: Modules of the standard library that a package takes only if its maker says so.
DISALLOWED_MODULES = frozenset(("sys", "io"))


class PackagingErrorReason(enum.Enum):
    """Why a module cannot be put into a package."""

    IS_EXTENSION_MODULE = (
        "Module is a C extension module. torch.package supports Python modules only."
    )
    NO_DUNDER_FILE = "Module had no __file__ defined."
    SOURCE_FILE_NOT_FOUND = "Module had a __file__, but we could not find it in your filesystem."
    DEPENDENCY_RESOLUTION_FAILED = "Dependency resolution failed."
    NO_ACTION = "Module did not match against any action pattern. Extern, mock, or intern it."
    DENIED = "Module was denied by a pattern."
    MOCKED_BUT_STILL_USED = (
        "Module was mocked out, but is still being used in the package. "
        "Please intern or extern the mocked modules if objects are supposed to be in "
        "the package."
    )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}>"


class EmptyMatchError(Exception):
    """A pattern that must match some module matches none."""


class PackagingError(Exception):
    """Modules cannot be put into the package; the text lists them by reason.

    Args:
        dependency_graph: of the package; nodes with an error are listed.
        debug: say for each module by which others it came.
    """

    def __init__(self, dependency_graph: DiGraph, debug: bool = False) -> None:
        self.dependency_graph = dependency_graph
        by_reason: defaultdict[PackagingErrorReason, list[str]] = defaultdict(list)
        for name, attributes in dependency_graph.nodes.items():
            if attributes.get("error") is not None:
                by_reason[attributes["error"]].append(name)
        lines = [""]
        for reason, names in by_reason.items():
            lines.append(f"* {reason.value}")
            for name in names:
                lines += self._lines_of(name, debug)
        if not debug:
            lines += [
                "",
                "Set debug=True when invoking PackageExporter for a visualization of where broken "
                "modules are coming from!",
            ]
        super().__init__("\n".join([*lines, ""]))

    def _lines_of(self, name: str, debug: bool) -> list[str]:
        lines = [f"    {name}"]
        context = self.dependency_graph.nodes[name].get("error_context")
        if context is not None:
            lines.append(f"      Context: {context}")
        if name in DISALLOWED_MODULES:
            lines.append(
                f"      Note: `{name}` reaches far into the system, so a package takes it only by "
                f"`extern({name!r})`; code that does without it is safer."
            )
        if debug:
            path = " -> ".join(self.dependency_graph.first_path(name))
            lines.append(f"      A path to {name}: {path}")
        return lines
