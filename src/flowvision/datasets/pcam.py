"""PatchCamelyon: tissue with and without tumours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flowvision.datasets.formats import open_hdf5
from flowvision.datasets.resources import Resource, SplitImageDataset

# Google Drive's number and the MD5 of the packed images and targets of each split.
_FILES = {
    "train": (
        ("1Ka0XfEMiwgCYPdTI-vv6eUElOBnKFKQ2", "1571f514728f59376b705fc836ff4b63"),
        ("1269yhu3pZDP8UYFQs-NYs3FPwuK-nGSG", "35c2d7259d906cfc8143347bb8e05be7"),
    ),
    "test": (
        ("1qV65ZqZvWzuIVthK8eVDhIwrbnsJdbg_", "d8c2d60d490dbd479f8199bdfa0cf6ec"),
        ("17BHrSrwWKjYsOgTMmoqrIjDy6Fa2o_gP", "60a7035772fbdb7f34eb86d4420cf66a"),
    ),
    "val": (
        ("1hgshYGWK8V-eGRy8LToWJJgDU_rXWVJ3", "d5b63470df7cfa627aeec8b9dc0c066e"),
        ("1bH8ZRbhSVAhScTS0p9-ZzGnX91cHT3uO", "2b85f58b927af9964a4c15b8f7e8f179"),
    ),
}


class PCAM(SplitImageDataset):
    """327,680 pictures of tissue, 96x96 color pixels, with 1 for tumours and else 0.

    Veeling et al., "Rotation Equivariant CNNs for Digital Pathology",
    https://arxiv.org/abs/1806.03962.

    Args:
        root: folder of the folder ``pcam``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        transform: applied to each image.
        target_transform: applied to each target.
        download: get the files from Google Drive, 7.7 GB, if something is missing.

    Raises:
        ValueError: an unknown `split`.
        RuntimeError: files, or the package h5py, are missing.

    Example:
        >>> from flowvision.datasets import PCAM
        >>> dataset = PCAM("data", split="val")
        >>> image, target = dataset[0]
        >>> image.size, target
        ((96, 96), 0)
    """

    splits = ("train", "val", "test")
    folder_name = "pcam"

    def files(self) -> tuple[Resource, ...]:
        """Return the files of the split."""
        return tuple(
            Resource.on_google_drive(file_id, md5, f"{path.name}.gz")
            for path, (file_id, md5) in zip(self.needed(), _FILES[self.split], strict=True)
        )

    def needed(self) -> list[Path]:
        """Return the files of images and targets."""
        split = {"train": "train", "val": "valid", "test": "test"}[self.split]
        name = "camelyonpatch_level_2_split"
        return [self.folder / f"{name}_{split}_{part}.h5" for part in "xy"]

    def read(self) -> tuple[range, list[int]]:
        """Return the numbers of the images, which are read one by one, and the targets."""
        with open_hdf5(self.needed()[1]) as file:
            targets = file["y"][:].ravel().tolist()
        return range(len(targets)), targets

    def load(self, image: int) -> Any:
        """Return the image with a number."""
        with open_hdf5(self.needed()[0]) as file:
            return super().load(file["x"][image])
