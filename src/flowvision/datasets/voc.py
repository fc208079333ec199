"""Pascal VOC."""

from __future__ import annotations

from pathlib import Path

from flowvision.datasets.utils import download_and_extract_archive
from oneflow.data.vision.annotated import VOC_FILES
from oneflow.utils.vision.datasets import (
    VOCDetection as VOCDetection,
    VOCSegmentation as VOCSegmentation,
)

# The archive of each year and the folder in it; "2007-test" names the archive of test images.
DATASET_YEAR_DICT = {
    year: {
        "url": archive.url,
        "filename": archive.url.rpartition("/")[2],
        "md5": archive.md5,
        "base_dir": archive.folder,
    }
    for year, archive in VOC_FILES.items()
}


def download_extract(url: str, root: str | Path, filename: str, md5: str) -> None:
    """Download an archive into a folder, compare its MD5 and unpack it there.

    Raises:
        ConnectionError: the address cannot be reached.
        RuntimeError: the content has another MD5, or cannot be unpacked.
    """
    download_and_extract_archive(url, root, filename=filename, md5=md5)
