"""PyTorch and this package in its place: who writes a file, and who reads it."""

from __future__ import annotations

import io
from typing import Any

import torch

from tests.in_place import in_place_of

OURS = in_place_of("torch")


def saved(library: Any, value: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    library.save(value, file, **options)
    file.seek(0)
    return file


def travelled(value: Any, writer: Any, reader: Any) -> Any:
    """The value that one library reads from the file of another."""
    return reader.load(saved(writer, value), weights_only=False)


DIRECTIONS = {
    "theirs reads ours": (OURS, torch),
    "ours reads theirs": (torch, OURS),
    "ours reads ours": (OURS, OURS),
}
