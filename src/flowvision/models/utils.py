"""Downloads of trained weights."""

from __future__ import annotations

from pathlib import Path

from oneflow import hub
from oneflow.hub import (
    download_url_to_file as download_url_to_file,
    load_state_dict_from_url as load_state_dict_from_url,
)


def get_cache_dir(cache_dir: str | Path | None = None) -> str:
    """Return the folder for downloads: `cache_dir`, or by default the folder of `oneflow.hub`."""
    return str(cache_dir) if cache_dir is not None else hub.get_dir()
