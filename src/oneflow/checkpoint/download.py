"""Downloads of trained weights, kept in a cache folder.

A download goes to a temporary file beside its target (`oneflow.checkpoint.transfer`), and gets its
name only when it is whole and its SHA-256 is right. One process downloads if several want the same
file.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from oneflow.checkpoint.serialization import load
from oneflow.checkpoint.transfer import (
    READ_DATA_CHUNK as READ_DATA_CHUNK,
    FileIdentity,
    identity_of,
    transfer_file,
)

__all__ = ["download_url_to_file", "get_dir", "load_state_dict_from_url", "set_dir"]

# Names of variables that say where the cache is, and where it is without them.
ENV_ONEFLOW_HOME = "ONEFLOW_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
_HASH_IN_NAME = re.compile(r"-([0-9a-f]{8,64})\.")
_directory: Path | None = None


def get_dir() -> str:
    """Return the folder of the cache.

    It is that of `set_dir`, else `$ONEFLOW_HOME/hub`, else `oneflow/hub` in the user's cache folder
    (`$XDG_CACHE_HOME` or `~/.cache`).

    Example:
        >>> import oneflow as flow
        >>> flow.hub.get_dir().endswith("hub")
        True
    """
    if _directory is not None:
        return str(_directory)
    home = os.environ.get(ENV_ONEFLOW_HOME)
    if home is None:
        home = Path(os.environ.get(ENV_XDG_CACHE_HOME) or DEFAULT_CACHE_DIR) / "oneflow"
    return str(Path(home).expanduser() / "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder of the cache; it is made when something is downloaded.

    Example:
        >>> import oneflow as flow
        >>> before = flow.hub.get_dir()
        >>> flow.hub.set_dir("/tmp/weights")
        >>> flow.hub.get_dir()
        '/tmp/weights'
        >>> flow.hub.set_dir(before)
    """
    global _directory
    _directory = Path(d).expanduser()


def load_state_dict_from_url(
    url: str,
    model_dir: str | os.PathLike[str] | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    delete_file: bool = True,
    *,
    weights_only: bool = True,
) -> Any:
    """Load the weights at `url`, downloading them unless they are in the cache.

    Args:
        url: the address of a file that `oneflow.load` reads.
        model_dir: the folder to keep it in; by default `checkpoints` in `get_dir()`.
        map_location: the same as in `oneflow.load`.
        progress: whether to draw a progress bar.
        check_hash: whether to compare the file's SHA-256 with the digits at the end of its name, as
            in `resnet18-f37072fd.pth`.
        file_name: the name to keep it under; by default that of the address.
        delete_file: accepted, as in flowvision: nothing is kept beside the file itself.
        weights_only: accepted, as in PyTorch: nothing in a file is executed in any case.

    Returns:
        The object in the file.

    Raises:
        ConnectionError: if the address cannot be reached.
        RuntimeError: if the content is not what the hash in the name says.

    Example:
        >>> import oneflow as flow
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     flow.save({"weight": flow.ones(2)}, f"{folder}/weights.of")
        ...     address = pathlib.Path(folder, "weights.of").as_uri()
        ...     cache = f"{folder}/cache"
        ...     print(flow.hub.load_state_dict_from_url(address, cache, progress=False)["weight"])
        tensor([1., 1.], dtype=oneflow.float32)
    """
    folder = Path(model_dir) if model_dir is not None else Path(get_dir()) / "checkpoints"
    name = Path(unquote(urlparse(url).path)).name
    path = folder / (file_name or name)
    match = _HASH_IN_NAME.search(name) if check_hash else None
    download_missing(url, path, match and match[1], progress)
    return load(path, map_location=map_location)


def download_url_to_file(
    url: str, dst: str | os.PathLike[str], hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Download `url` to the file `dst`, continuing where an earlier attempt was cut off.

    Args:
        url: the address.
        dst: the path of the file; its folder is made if necessary.
        hash_prefix: how the SHA-256 of the content begins, in hexadecimal digits; where the server
            names the whole one (Hugging Face does), that is compared, too.
        progress: whether to draw a progress bar.

    Raises:
        ConnectionError: if the address cannot be reached or the connection breaks; what has arrived
            is kept for the next attempt.
        RuntimeError: if the content does not have this hash; it is removed.

    Example:
        >>> import oneflow as flow
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     count = pathlib.Path(folder, "a").write_text("weights")
        ...     target = pathlib.Path(folder, "b")
        ...     address = pathlib.Path(folder, "a").as_uri()
        ...     flow.hub.download_url_to_file(address, target, progress=False)
        ...     print(target.read_text())
        weights
    """
    target = Path(dst)
    _download(url, target, identity_of(target), hash_prefix, progress)


def download_missing(
    url: str, target: Path, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Download as `download_url_to_file` does, unless the file is there."""
    if not target.exists():
        _download(url, target, None, hash_prefix, progress)


def _download(
    url: str, target: Path, replaced: FileIdentity | None, hash_prefix: str | None, progress: bool
) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)

    def verify(partial: Path, expected: str | None) -> None:
        actual = _sha256(partial)
        for digest in filter(None, (hash_prefix, expected)):
            if not actual.startswith(digest):
                raise RuntimeError(
                    f"{url}: the SHA-256 of what was downloaded is {actual}, not {digest}...; "
                    "it has been removed"
                )

    transfer_file(url, target, replaced, progress, verify)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
