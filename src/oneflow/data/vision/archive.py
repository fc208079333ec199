"""Downloads of data sets: files with checksums, and unpacking them."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlparse

from oneflow.checkpoint.atomic_file import atomic_write
from oneflow.checkpoint.transfer import identity_of, transfer_file


def calculate_md5(fpath: str | Path, chunk_size: int = 2**20) -> str:
    """Return the MD5 of a file as hex digits; `chunk_size` bytes are read at once."""
    digest = hashlib.md5(usedforsecurity=False)
    with Path(fpath).open("rb") as file:
        while chunk := file.read(chunk_size):
            digest.update(chunk)
    return digest.hexdigest()


def check_integrity(fpath: str | Path, md5: str | None = None) -> bool:
    """Return whether a file is there and, if `md5` is given, has it."""
    return Path(fpath).is_file() and (md5 is None or calculate_md5(fpath) == md5)


def download_url(
    url: str, root: str | Path, filename: str | None = None, md5: str | None = None
) -> None:
    """Download a file into a folder, unless it is there.

    Args:
        url: the address.
        root: the folder, made if necessary.
        filename: the name to keep it under, by default that of the address.
        md5: the MD5 of the content.

    Raises:
        ConnectionError: the address cannot be reached; what has arrived is continued the next time.
        RuntimeError: the content has another MD5; it is removed.
    """
    path = Path(root).expanduser() / (filename or Path(unquote(urlparse(url).path)).name)
    replaced = identity_of(path)
    if check_integrity(path, md5):
        return

    def verify(partial: Path, _: str | None) -> None:
        if md5 is not None and (actual := calculate_md5(partial)) != md5:
            raise RuntimeError(
                f"{url}: the MD5 of what was downloaded is {actual}, not {md5}; it has been removed"
            )

    path.parent.mkdir(parents=True, exist_ok=True)
    transfer_file(url, path, replaced, progress=True, verify=verify)


def download_from_mirrors(
    mirrors: Sequence[str], root: str | Path, filename: str, md5: str
) -> None:
    """Download a file that several folders on the network have; arguments as for `download_url`."""
    for mirror in mirrors[:-1]:
        try:
            download_url(f"{mirror.rstrip('/')}/{filename}", root, filename, md5)
        except (ConnectionError, RuntimeError):
            continue
        return
    download_url(f"{mirrors[-1].rstrip('/')}/{filename}", root, filename, md5)


def extract_archive(
    from_path: str | Path, to_path: str | Path | None = None, remove_finished: bool = False
) -> str:
    """Unpack a tar, zip or gzip file; nothing in it can be written outside of the folder.

    Args:
        from_path: the file.
        to_path: the folder, by default the file's.
        remove_finished: remove the file then.

    Returns:
        The folder; of a single compressed file, the file's path.

    Raises:
        RuntimeError: it is damaged, or none of these.
    """
    archive = Path(from_path)
    target = Path(to_path) if to_path is not None else archive.parent
    try:
        if tarfile.is_tarfile(archive):
            with tarfile.open(archive) as packed, _scratch(target) as scratch:
                packed.extractall(scratch, filter="data")
        elif zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as packed, _scratch(target) as scratch:
                packed.extractall(scratch)
        elif archive.suffix == ".gz":
            target.mkdir(parents=True, exist_ok=True)
            target = target / archive.stem
            with gzip.open(archive) as compressed, atomic_write(target) as file:
                shutil.copyfileobj(compressed, file)
        else:
            raise ValueError("it is no tar, zip or gzip file")
    except (
        OSError,
        EOFError,
        ValueError,
        IndexError,  # of a zip file, for an empty name
        tarfile.TarError,
        zipfile.BadZipFile,
    ) as error:
        raise RuntimeError(f"cannot unpack `{archive}`: {error}") from error
    if remove_finished:
        archive.unlink()
    return str(target)


@contextmanager
def _scratch(target: Path) -> Iterator[Path]:
    """A folder whose files move to `target` at the end, each at once.

    Another process that unpacks the same, or reads it already, sees whole files only.
    """
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target, prefix=".unpacked-") as name:
        scratch = Path(name)
        yield scratch
        for path in sorted(scratch.rglob("*")):
            place = target / path.relative_to(scratch)
            if path.is_dir() and not path.is_symlink():
                place.mkdir(exist_ok=True)
            else:
                os.replace(path, place)


def download_and_extract_archive(
    url: str,
    download_root: str | Path,
    extract_root: str | Path | None = None,
    filename: str | None = None,
    md5: str | None = None,
    remove_finished: bool = False,
) -> None:
    """Download an archive and unpack it.

    Args:
        url: the address.
        download_root: the folder of the archive.
        extract_root: the folder of what is in it, by default the same.
        filename: the archive's name, by default that of the address.
        md5: the MD5 of the archive.
        remove_finished: remove the archive then.
    """
    root = Path(download_root).expanduser()
    name = filename or Path(unquote(urlparse(url).path)).name
    download_url(url, root, name, md5)
    extract_archive(root / name, extract_root or root, remove_finished)
