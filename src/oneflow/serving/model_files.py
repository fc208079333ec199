"""The folders of a model repository: its models and versions, and changes of them.

    repository/NAME/config.pbtxt        optional
    repository/NAME/1/                  a saved graph, as `graph.save` writes it
    repository/NAME/2/                  a newer version

A saved graph alone, or one in place of the versions, counts as version 1.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from oneflow.checkpoint.manifest import PROGRAM_FILE
from oneflow.serving.model_config import CONFIG_FILE

# Names, sizes and times of all files of a folder.
Snapshot = tuple[tuple[str, int, int], ...]


def is_saved_graph(folder: Path) -> bool:
    """Return true if a graph was saved to this folder."""
    return (folder / PROGRAM_FILE).is_file()


def model_paths(path: Path) -> dict[str, Path]:
    """Return the folders of the models by name.

    Args:
        path: a saved graph, or a repository of models.

    Raises:
        FileNotFoundError: it is no folder.
    """
    if not path.is_dir():
        raise FileNotFoundError(f"`{path}` is no folder with a saved graph or with models")
    if is_saved_graph(path):
        return {path.resolve().name: path}
    paths = sorted(folder for folder in path.iterdir() if folder.is_dir())
    return {folder.name: folder for folder in paths if not folder.name.startswith(".")}


def version_paths(folder: Path) -> dict[int, Path]:
    """Return the folders of a model's versions by number."""
    if is_saved_graph(folder):
        return {1: folder}
    versions = [path for path in folder.iterdir() if path.is_dir() and path.name.isdecimal()]
    return {int(path.name): path for path in versions if int(path.name) > 0}


def select_versions(config: Any, versions: dict[int, Path]) -> dict[int, Path]:
    """Return the versions that the policy of a configuration wants."""
    policy = config.version_policy
    match policy.WhichOneof("policy_choice"):
        case "all":
            numbers = set(versions)
        case "specific":
            numbers = set(policy.specific.versions)
        case _:
            numbers = set(sorted(versions)[-max(policy.latest.num_versions, 1) :])
    return {number: path for number, path in sorted(versions.items()) if number in numbers}


def snapshot_of(folder: Path) -> Snapshot:
    """Return what differs when a file of a folder has changed."""
    files = []
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            try:
                status = os.stat(path)
            except OSError:  # removed just now
                continue
            files.append((path, status.st_size, status.st_mtime_ns))
    return tuple(sorted(files))


def model_snapshots(path: Path) -> dict[str, tuple[Path, Snapshot]]:
    """Return the folder of each model with its snapshot, by name.

    Raises:
        FileNotFoundError: `path` is no folder.
    """
    return {name: (folder, snapshot_of(folder)) for name, folder in model_paths(path).items()}


def version_files(folder: Path, version: Path) -> Snapshot:
    """Return the files that a version is made of: its graph and the model's configuration."""
    config = str(folder / CONFIG_FILE)
    return (*snapshot_of(version), *(file for file in snapshot_of(folder) if file[0] == config))
