"""Functions of other packages, found by the names under which `pyproject.toml` declares them."""

from __future__ import annotations

import functools
import tomllib
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

# There in a source checkout; what was installed from it may be older, or nothing may be installed.
_PROJECT_FILE = Path(__file__).resolve().parents[3] / "pyproject.toml"


def load_entry_point(group: str, name: str) -> Any:
    """Import the object that a package declares as an entry point.

    Args:
        group: the group, such as "oneflow.onnx".
        name: the name within the group.

    Raises:
        ImportError: no package declares it, or what it needs is not installed.

    Example:
        >>> from oneflow.graph.entry_points import load_entry_point
        >>> load_entry_point("oneflow.onnx", "export").__module__
        'oneflow_onnx.oneflow2onnx.entry'
    """
    reference = _in_source_tree().get(group, {}).get(name)
    if reference is not None:
        return EntryPoint(name, reference, group).load()
    for entry_point in entry_points(group=group, name=name):
        return entry_point.load()
    raise ImportError(
        f"no installed package declares the entry point `{name}` of `{group}`; "
        "install oneflow-xla again"
    )


@functools.cache
def _in_source_tree() -> dict[str, dict[str, str]]:
    """Return the entry points of the source checkout by group; none if this is not one."""
    if not _PROJECT_FILE.is_file():
        return {}
    project = tomllib.loads(_PROJECT_FILE.read_text(encoding="utf-8")).get("project", {})
    return project.get("entry-points", {})
