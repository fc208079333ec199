"""Exported programs as files: the folder of a graph, in one archive."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from oneflow import nn
from oneflow.checkpoint import serialization
from oneflow.checkpoint.load_errors import load_errors
from oneflow.graph.saved_graph import SavedGraph
from oneflow.mock_torch.pytorch.export.exported_program import (
    PREFIX,
    ExportedProgram,
    ExportGraphSignature,
    load_program,
)
from oneflow.tensor.views import unwrap

_NAMES = "names.json"
_UNUSED = "unused.safetensors"
_GRAPH = "graph"


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
        graph.save(Path(folder) / _GRAPH)
        used = SavedGraph(Path(folder) / _GRAPH).state_dict()
        unused = {n: x for n, x in ep.state_dict.items() if PREFIX + n not in used}
        serialization.save(unused, Path(folder) / _UNUSED)
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
    what = "it is damaged, or no file that `torch.export.save` wrote here"
    with _open(f) as file, tempfile.TemporaryDirectory() as folder, load_errors(f, what):
        with zipfile.ZipFile(file) as archive:
            archive.extractall(folder)
        signature = _signature_of(json.loads((Path(folder) / _NAMES).read_text()))
        graph = SavedGraph(Path(folder) / _GRAPH)
        unused = serialization.load(Path(folder) / _UNUSED)
        for tensor in unused.values():
            unwrap(tensor).read()  # while the file is there
        tensors = {**graph.state_dict(), **{PREFIX + n: x for n, x in unused.items()}}
        state = {n: tensors[PREFIX + n] for n in (*signature.parameters, *signature.buffers)}
        return load_program(graph, state, signature)


def _open(f: Any) -> contextlib.AbstractContextManager[BinaryIO]:
    return contextlib.nullcontext(f) if hasattr(f, "read") else Path(f).open("rb")


def _signature_of(data: Any) -> ExportGraphSignature:
    """The names of a program.

    Raises:
        ValueError: they are not what `save` writes.
    """
    names = {key: tuple(values) for key, values in dict(data).items()}
    if not all(isinstance(name, str) for values in names.values() for name in values):
        raise ValueError(f"a name in `{_NAMES}` is no text")
    return ExportGraphSignature(**names)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())
