"""Rendered SST2: sentences as pictures, by their sentiment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from flowvision.datasets.resources import ImageFolderDataset, Resource
from flowvision.datasets.utils import verify_str_arg


class RenderedSST2(ImageFolderDataset):
    """Pictures of sentences from reviews of films, negative (0) or positive (1).

    Radford et al., "Learning Transferable Visual Models From Natural Language Supervision",
    https://arxiv.org/abs/2103.00020.

    Args:
        root: folder of the folder ``rendered-sst2``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        transform: applied to each image.
        target_transform: applied to each class number.
        download: get and unpack the archive, 120 MB, if the images are missing.

    Raises:
        ValueError: an unknown `split`.
        RuntimeError: the images are missing.
    """

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        verify_str_arg(split, "split", ("train", "val", "test"))
        folder = Path(root).expanduser()
        images = folder / "rendered-sst2" / ("valid" if split == "val" else split)
        super().__init__(folder, images, _ARCHIVE, download, transform, target_transform)


_ARCHIVE = Resource(
    "https://openaipublic.azureedge.net/clip/data/rendered-sst2.tgz",
    "2384d08e9dcfa4bd55b324e610496ee5",
)
