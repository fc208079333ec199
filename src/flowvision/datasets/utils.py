"""Downloads of data sets, and checks of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tqdm import tqdm

from oneflow.checkpoint.transfer import USER_AGENT as USER_AGENT
from oneflow.data.vision.archive import (
    calculate_md5 as calculate_md5,
    check_integrity as check_integrity,
    download_and_extract_archive as download_and_extract_archive,
    download_url as download_url,
    extract_archive as extract_archive,
)


def google_drive_url(file_id: str) -> str:
    """Return the address of a file on Google Drive that answers with the file itself."""
    return f"https://drive.usercontent.google.com/download?id={file_id}&export=download&confirm=t"


def download_file_from_google_drive(
    file_id: str, root: str | Path, filename: str | None = None, md5: str | None = None
) -> None:
    """Download a file from Google Drive, unless it is there.

    Args:
        file_id: the file's number in its address.
        root: the folder, made if necessary.
        filename: the name to keep it under, by default its number.
        md5: the MD5 of the content.

    Raises:
        ConnectionError: it cannot be reached.
        RuntimeError: the content has another MD5.
    """
    download_url(google_drive_url(file_id), root, filename or file_id, md5)


def check_md5(fpath: str | Path, md5: str, **kwargs: Any) -> bool:
    """Return whether a file has this MD5; `calculate_md5` takes the further arguments."""
    return calculate_md5(fpath, **kwargs) == md5


def gen_bar_updater() -> Callable[[int, int, int], None]:
    """Return a progress bar as a report hook of `urllib.request.urlretrieve`."""
    bar = tqdm(total=None, unit="B", unit_scale=True)

    def update(count: int, block_size: int, total_size: int) -> None:
        if bar.total is None and total_size > 0:
            bar.total = total_size
        bar.update(count * block_size - bar.n)
        if bar.total is not None and bar.n >= bar.total:
            bar.close()

    return update


def iterable_to_str(iterable: Iterable[Any]) -> str:
    """Return values in quotes with commas between them.

    Example:
        >>> from flowvision.datasets.utils import iterable_to_str
        >>> print(iterable_to_str(["train", "val"]))
        'train', 'val'
    """
    return ", ".join(f"'{item}'" for item in iterable)


def verify_str_arg(
    value: Any,
    arg: str | None = None,
    valid_values: Iterable[str] | None = None,
    custom_msg: str | None = None,
) -> str:
    """Return an argument that must be one of some words.

    Args:
        value: the argument.
        arg: its name.
        valid_values: the words; without them any will do.
        custom_msg: the message of the error instead.

    Raises:
        ValueError: it is no text, or another word.

    Example:
        >>> from flowvision.datasets.utils import verify_str_arg
        >>> verify_str_arg("val", "split", ("train", "val"))
        'val'
    """
    where = f" for argument {arg}" if arg else ""
    if not isinstance(value, str):
        raise ValueError(custom_msg or f"Expected type str{where}, but got type {type(value)}.")
    if valid_values is not None and value not in (valid := list(valid_values)):
        raise ValueError(
            custom_msg
            or f"Unknown value '{value}'{where}. Valid values are {{{iterable_to_str(valid)}}}."
        )
    return value


def list_dir(root: str | Path, prefix: bool = False) -> list[str]:
    """Return the names of the folders in a folder, sorted; with `prefix` their paths."""
    return _list(root, prefix, Path.is_dir)


def list_files(root: str | Path, suffix: str, prefix: bool = False) -> list[str]:
    """Return the names of the files in a folder that end with `suffix`, sorted, or their paths."""
    return _list(root, prefix, lambda path: path.is_file() and path.name.endswith(suffix))


def _list(root: str | Path, prefix: bool, accept: Callable[[Path], bool]) -> list[str]:
    paths = sorted(path for path in Path(root).expanduser().iterdir() if accept(path))
    return [str(path) if prefix else path.name for path in paths]
