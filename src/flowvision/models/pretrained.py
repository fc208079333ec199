"""Trained weights: from an address through the cache of `oneflow.hub`, or from a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import oneflow as flow
from oneflow import nn


def load_pretrained(
    model: nn.Module,
    source: str,
    *,
    name: str,
    rename: Callable[[str], str] | None = None,
    progress: bool = True,
) -> None:
    """Load trained weights into `model`.

    Args:
        model: what to load into; its parameter names are those of the file.
        source: an address or the path of a file of `oneflow.save`, `torch.save` or safetensors.
        name: the name of the model, for messages.
        rename: a mapping from the names of parameters in the file to those of the model.
        progress: whether to draw a progress bar while downloading.

    Raises:
        ValueError: if nobody publishes weights for this model (`source` is empty), or if names or
            shapes in the file are not those of the model.
        FileNotFoundError: if there is no such file.
        ConnectionError: if the address cannot be reached.
    """
    if not source:
        raise ValueError(
            f"there are no published weights with the parameter names of {name}; "
            "pass the path of a file as `pretrained`"
        )
    state: Any = (
        flow.hub.load_state_dict_from_url(
            source, progress=progress, check_hash=True, file_name=_file_name(source, name)
        )
        if "://" in source
        else flow.load(Path(source))
    )
    if isinstance(state, dict) and isinstance(state.get("state_dict", state.get("model")), dict):
        state = state.get("state_dict", state.get("model"))
    if rename is not None:
        state = {rename(key): value for key, value in state.items()}
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise ValueError(f"the weights in {source} are not those of {name}: {error}") from error


def _file_name(address: str, name: str) -> str:
    """Return a name in the cache: the address's last part, unless every model has the same one."""
    file = address.rsplit("/", 1)[-1]
    return file.replace("model.", f"{name}.") if file.startswith("model.") else file
