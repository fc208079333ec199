"""The initializers that are buffers, for which ONNX has no word.

To ONNX parameters, buffers and tables are all initializers. Models that OneFlow exports, or has
another framework export, name those that are no parameters among their metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import onnx

BUFFERS_KEY = "oneflow.buffers"


def declaration(names: Iterable[str]) -> dict[str, str]:
    """Return the entry of a model's metadata that names its buffers."""
    return {BUFFERS_KEY: json.dumps(sorted(names))}


def declared_buffers(model: onnx.ModelProto) -> frozenset[str] | None:
    """Return the names of the initializers that are buffers; None if the model does not say.

    Raises:
        ValueError: the entry is no list of names.
    """
    entry = next(
        (property_.value for property_ in model.metadata_props if property_.key == BUFFERS_KEY),
        None,
    )
    if entry is None:
        return None
    try:
        names = json.loads(entry)
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"the model's metadata `{BUFFERS_KEY}` must be a list of names in JSON")
    return frozenset(names)
