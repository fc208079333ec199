"""Downloads of trained weights, kept in a cache folder.

A download goes to a temporary file beside its target, which a later call continues, and gets its
name only when it is whole and its SHA-256 is right.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from tqdm import tqdm

from oneflow.checkpoint.serialization import load

__all__ = ["download_url_to_file", "get_dir", "load_state_dict_from_url", "set_dir"]

# Names of variables that say where the cache is, and where it is without them.
ENV_ONEFLOW_HOME = "ONEFLOW_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
READ_DATA_CHUNK = 1 << 20  # bytes read at a time
USER_AGENT = "oneflow"
_TIMEOUT = 30.0  # seconds without an answer after which a server counts as unreachable
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
        map_location: as in `oneflow.load`.
        progress: whether to draw a progress bar.
        check_hash: whether to compare the file's SHA-256 with the digits at the end of its name, as
            in `resnet18-f37072fd.pth`.
        file_name: the name to keep it under; by default that of the address.
        delete_file: accepted, as in flowvision: nothing is kept beside the file itself.
        weights_only: accepted, as in PyTorch: nothing in a file is executed in any case.

    Returns:
        What the file holds.

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
    if not path.exists():
        found = _HASH_IN_NAME.search(name) if check_hash else None
        download_url_to_file(url, path, found and found[1], progress)
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
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    with _connection_errors(url, target):
        expected = _download(url, partial, progress)
    actual = _sha256(partial)
    for wanted in filter(None, (hash_prefix, expected)):
        if not actual.startswith(wanted):
            partial.unlink()
            raise RuntimeError(
                f"{url}: the SHA-256 of what was downloaded is {actual}, not {wanted}...; "
                "it has been removed"
            )
    os.replace(partial, target)


def _download(url: str, partial: Path, progress: bool) -> str | None:
    """Append what `partial` lacks of `url`; return the SHA-256 that the server names, if any."""
    present = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": USER_AGENT})
    if present:
        request.add_header("Range", f"bytes={present}-")
    handler = _RedirectHandler()
    with _open(request, handler) as response:
        if response is None:  # the server has nothing after what is here
            return handler.sha256
        is_partial = response.status == 206
        total = int(response.headers.get("Content-Length") or 0) + present * is_partial
        with (
            partial.open("ab" if is_partial else "wb") as file,
            tqdm(
                desc=partial.stem,
                total=total or None,
                initial=present * is_partial,
                unit="B",
                unit_scale=True,
                disable=not progress,
            ) as bar,
        ):
            while block := response.read(READ_DATA_CHUNK):
                file.write(block)
                bar.update(len(block))
            file.flush()
            os.fsync(file.fileno())
            if total and file.tell() < total:
                raise ConnectionResetError(f"{file.tell()} of {total} bytes have arrived")
    return handler.sha256


@contextlib.contextmanager
def _open(request: urllib.request.Request, handler: urllib.request.BaseHandler) -> Iterator[Any]:
    """Open `request`; give None if the range it asks for begins at the end of the file."""
    try:
        response = urllib.request.build_opener(handler).open(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not request.has_header("Range"):
            raise
        error.close()
        yield None
        return
    with response:
        yield response


class _RedirectHandler(urllib.request.HTTPRedirectHandler):
    """Follows redirections and keeps the hash that Hugging Face sends with them."""

    def __init__(self) -> None:
        self.sha256: str | None = None

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        tag = (headers.get("X-Linked-ETag") or "").strip('"')
        if re.fullmatch(r"[0-9a-f]{64}", tag):
            self.sha256 = tag
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@contextlib.contextmanager
def _connection_errors(url: str, target: Path) -> Iterator[None]:
    """Turn every way in which a connection fails into one error that says what to do."""
    try:
        yield
    except (urllib.error.URLError, HTTPException, ConnectionError, TimeoutError) as error:
        reason = getattr(error, "reason", None) or error
        raise ConnectionError(
            f"cannot download {url}: {reason}; try again, or put the file to {target} yourself"
        ) from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
