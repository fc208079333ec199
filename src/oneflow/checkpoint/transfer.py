"""Transfers: a file from the network, by one process at a time, continued where it was cut off.

The content goes to ``NAME.partial`` beside the target, which the process that downloads holds
locked. Processes that want the same file wait for the lock and find it done. ``NAME.partial.json``
says which version of the file the content belongs to, so that no two versions are mixed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO

from tqdm import tqdm

from oneflow.base.file_lock import lock_file
from oneflow.checkpoint.atomic_file import flush_folder

READ_DATA_CHUNK = 1 << 20  # bytes read at a time
USER_AGENT = "oneflow"
FileIdentity = tuple[int, int]  # numbers of a file and its device
_TIMEOUT = 30.0  # seconds without an answer after which a server counts as unreachable


def transfer_file(
    url: str,
    target: Path,
    replaced: FileIdentity | None,
    progress: bool,
    verify: Callable[[Path, str | None], None],
) -> None:
    """Download `url` to `target`, unless another process does so in the meantime.

    Args:
        url: the address.
        target: the file, which appears when it is whole and verified.
        replaced: the `identity_of` the file that was there when it was decided to download it, None
            if there was none. Another one is what another process has downloaded since.
        progress: whether to draw a progress bar.
        verify: called with the path of the content and the SHA-256 that the server names, if any;
            raises an error if the content is wrong, which is removed then.

    Raises:
        ConnectionError: the address cannot be reached or the connection breaks; what has arrived is
            kept for the next attempt.
    """
    with _open_partial(target) as (partial, file):
        if identity_of(target) not in (None, replaced):
            partial.unlink()
            return
        note = _VersionNote(partial, url)
        with _remove_on_error(
            partial, note, lambda: not (note.version and os.stat(partial).st_size)
        ):
            expected = _transfer(url, target, file, note, progress)
        with _remove_on_error(partial, note, lambda: True):
            verify(partial, expected)
        note.remove()
        os.replace(partial, target)
    flush_folder(target.parent)


@contextlib.contextmanager
def _open_partial(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Open the file for what arrives, as the only process that has it open here."""
    partial = target.with_name(f"{target.name}.partial")
    while True:
        with partial.open("a+b") as file:
            try:
                lock_file(file, wait=True)
            except OSError:
                partial.unlink(missing_ok=True)
                break
            # The process that had the lock may have renamed or removed the file.
            if identity_of(partial) == identity_of(file.fileno()):
                yield partial, file
                return
    # A file system without locks: nothing is shared, so nothing can be continued.
    partial = target.with_name(f".{target.name}.{secrets.token_hex(6)}.partial")
    try:
        with partial.open("x+b") as file:
            yield partial, file
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def _remove_on_error(
    partial: Path, note: _VersionNote, is_useless: Callable[[], bool]
) -> Iterator[None]:
    """Remove what arrived after an error, if it is of no use for the next attempt."""
    try:
        yield
    except BaseException:
        if is_useless():
            # The note goes first: without the file, its name is free for the next process.
            note.remove()
            partial.unlink()
        raise


def identity_of(path: Path | int) -> FileIdentity | None:
    """Return the numbers of a file and its device; another file of the same name has others.

    They are None if there is no file.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


class _VersionNote:
    """The version of the file at the address that a partial content belongs to.

    Attributes:
        version: the entity tag, or else the date of the last change; None if nothing is known.
    """

    def __init__(self, partial: Path, url: str) -> None:
        self._path, self._url = partial.with_name(f"{partial.name}.json"), url
        self.version: str | None = None
        with contextlib.suppress(OSError, ValueError):
            content = json.loads(self._path.read_text(encoding="utf-8"))
            if isinstance(content, dict) and content.get("url") == url:
                self.version = content.get("version")

    def write(self, version: str | None) -> None:
        """Write down the version of the file to download."""
        self.version = version
        content = json.dumps({"url": self._url, "version": version})
        self._path.write_text(content, encoding="utf-8")

    def remove(self) -> None:
        """Forget it."""
        self._path.unlink(missing_ok=True)


def _transfer(
    url: str, target: Path, file: BinaryIO, note: _VersionNote, progress: bool
) -> str | None:
    """Append what `file` lacks of `url`; return the SHA-256 that the server names, if any."""
    with _connection_errors(url, target):
        return _resume(url, file, note, progress)


def _resume(url: str, file: BinaryIO, note: _VersionNote, progress: bool) -> str | None:
    if (present := file.seek(0, os.SEEK_END)) and note.version:
        with _open(url, {"Range": f"bytes={present}-", "If-Range": note.version}) as response:
            if response is not None and _is_partial(response[0], present, note.version):
                _receive(*response, file, progress)
                return response[1].sha256
            if response is not None and response[0].status == 200:
                return _receive_new(*response, file, note, progress)
    with _open(url, {}) as response:
        assert response is not None
        return _receive_new(*response, file, note, progress)


def _is_partial(response: Any, present: int, version: str) -> bool:
    """Return whether a response is the rest of a partial file of `present` bytes."""
    start = re.match(rf"bytes {present}-\d+/", response.headers.get("Content-Range") or "")
    return response.status == 206 and start is not None and _version(response) == version


def _version(response: Any) -> str | None:
    """The version that a response is of: its entity tag unless that is weak, or its date."""
    tag = response.headers.get("ETag") or ""
    return tag if tag.startswith('"') else response.headers.get("Last-Modified")


def _receive_new(
    response: Any,
    handler: _RedirectHandler,
    file: BinaryIO,
    note: _VersionNote,
    progress: bool,
) -> str | None:
    file.truncate(0)
    note.write(_version(response))
    _receive(response, handler, file, progress)
    return handler.sha256


def _receive(response: Any, handler: _RedirectHandler, file: BinaryIO, progress: bool) -> None:
    """Append what a response holds, and see that nothing is missing."""
    present = file.seek(0, os.SEEK_END)
    length = response.headers.get("Content-Length")
    total = None if length is None else int(length) + present
    with tqdm(
        desc=Path(file.name).stem,
        total=total,
        initial=present,
        unit="B",
        unit_scale=True,
        disable=not progress,
    ) as bar:
        while block := response.read(READ_DATA_CHUNK):
            file.write(block)
            bar.update(len(block))
    file.flush()
    os.fsync(file.fileno())
    if total is not None and file.tell() != total:
        raise ConnectionResetError(f"{file.tell()} of {total} bytes have arrived")


@contextlib.contextmanager
def _open(url: str, headers: dict[str, str]) -> Iterator[tuple[Any, _RedirectHandler] | None]:
    """Open `url`; give None if the range that `headers` ask for is not there."""
    request = urllib.request.Request(url, headers={"User-Agent": USER_AGENT, **headers})
    handler = _RedirectHandler()
    try:
        response = urllib.request.build_opener(handler).open(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not headers:
            raise
        error.close()
        yield None
        return
    with response:
        yield response, handler


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
