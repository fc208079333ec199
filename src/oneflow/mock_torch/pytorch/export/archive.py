"""Exported programs as files: the folder of a graph, in one archive."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from oneflow import nn
from oneflow.graph.saved_graph import SavedGraph
from oneflow.mock_torch.pytorch.export.exported_program import (
    ExportedProgram,
    ExportGraphSignature,
)

_NAMES = "names.json"
_PREFIX = "module."


def save(ep: ExportedProgram, f: str | os.PathLike[str] | BinaryIO, **options: Any) -> None:
    """Write an exported program, with its parameters, to a file.

    It runs there on arguments of the sizes that it has been called with, and of the example's.

    Args:
        ep: the program.
        f: a name, or a file open for writing bytes.
        options: accepted; change nothing.

    Raises:
        NotImplementedError: the program was itself loaded.

    Example:
        >>> import io
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
        ...     file = io.BytesIO()
        ...     torch.export.save(program, file)
        ...     _ = file.seek(0)
        ...     torch.export.load(file).module()(torch.tensor([-1.0, 1.0])).tolist()
        [0.0, 1.0]
    """
    graph = ep.graph_runner
    if not isinstance(graph, nn.Graph):
        raise NotImplementedError("a program that was loaded cannot be saved: copy its file")
    signature = ep.graph_signature
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(f, "w") as archive:
        graph.save(Path(folder) / "graph")
        archive.writestr(_NAMES, json.dumps(vars(signature)))
        for path in sorted(_files(Path(folder))):
            archive.write(path, path.relative_to(folder))


def load(f: str | os.PathLike[str] | BinaryIO, **options: Any) -> ExportedProgram:
    """Return the exported program of a file that `save` wrote; nothing in it is Python.

    Args:
        f: a name, or a file open for reading bytes.
        options: accepted; change nothing.

    Raises:
        RuntimeError: it is another kind of file.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            with zipfile.ZipFile(f) as archive:
                names = json.loads(archive.read(_NAMES))
                archive.extractall(folder)
        except (zipfile.BadZipFile, KeyError, ValueError) as error:
            raise RuntimeError(
                f"`{f}` is no file that `torch.export.save` wrote here: {error}"
            ) from None
        graph = SavedGraph(Path(folder) / "graph")
    signature = ExportGraphSignature(**{key: tuple(values) for key, values in names.items()})
    tensors = graph.state_dict()
    state = {n: tensors[_PREFIX + n] for n in (*signature.parameters, *signature.buffers)}
    return ExportedProgram(graph, None, state, signature, [], None)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


__all__ = ["load", "save"]
