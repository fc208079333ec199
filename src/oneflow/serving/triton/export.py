"""Model folders for Triton, and the folder of the backend."""

from __future__ import annotations

import shutil
from pathlib import Path

from oneflow.serving.model_config import (
    CONFIG_FILE,
    complete_config,
    config_text,
    has_batching,
    read_config,
)
from oneflow.serving.model_files import version_paths
from oneflow.serving.model_graph import ModelGraph
from oneflow.serving.triton import model


def export_model(graph: Path, folder: Path, version: int | None = None) -> Path:
    """Copy a saved graph into a model repository, and write `config.pbtxt` if there is none.

    Both Triton with the backend `oneflow` and `python -m oneflow.serving` serve it.

    Args:
        graph: the saved graph.
        folder: the folder of the model, in the repository; made if it does not exist.
        version: the number of the version; None for the next one.

    Returns:
        The folder of the version.

    Raises:
        FileExistsError: there is this version.
        ValueError: the graph cannot be served, or the configuration is for another one.
    """
    config = read_config(folder)
    max_batch_size = config.max_batch_size if has_batching(config) else None
    complete = complete_config(config, folder.name, ModelGraph(graph, max_batch_size))
    versions = version_paths(folder) if folder.exists() else {}
    target = folder / str(version or max(versions, default=0) + 1)
    if target.exists():
        raise FileExistsError(f"`{target}` exists; export another version")
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / CONFIG_FILE).exists():
        (folder / CONFIG_FILE).write_text(config_text(complete), encoding="utf-8")
    # A server that looks meanwhile sees all of it or nothing.
    partial = folder / f".{target.name}"
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(graph, partial)
    partial.rename(target)
    return target


def write_backend(folder: Path) -> Path:
    """Write the backend into the folder that Triton is given as ``--backend-directory``.

    Args:
        folder: the one with Triton's backend `python` in it.

    Returns:
        The file that was written.
    """
    target = folder / "oneflow" / "model.py"
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(model.__file__, target)
    return target
