"""WIDER FACE: faces in crowds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import oneflow as flow
from flowvision.datasets.resources import Resource, SplitImageDataset, read_lines

_COLUMNS = ("blur", "expression", "illumination", "occlusion", "pose", "invalid")


class WIDERFace(SplitImageDataset):
    """32,203 photos with 393,703 faces.

    Yang et al., "WIDER FACE: A Face Detection Benchmark", https://arxiv.org/abs/1511.06523. A
    target is a dictionary of int64 tensors: ``bbox`` ``[faces, 4]`` (x, y, width, height), and
    ``blur``, ``expression``, ``illumination``, ``occlusion``, ``pose`` and ``invalid``; None for
    the test.

    Args:
        root: folder of the folder ``widerface``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        transform: applied to each image.
        target_transform: applied to each target.
        download: get and unpack the archives, 3.5 GB, if something is missing.

    Raises:
        ValueError: an unknown `split`.
        RuntimeError: files are missing.

    Example:
        >>> from flowvision.datasets import WIDERFace
        >>> dataset = WIDERFace("data")
        >>> image, target = dataset[0]
    """

    splits = ("train", "val", "test")
    folder_name = "widerface"
    resources = (
        Resource.on_google_drive(
            "15hGDLhsx8bLgLcIRD5DhYt5iBxnjNF1M",
            "3fedf70df600953d25982bcd13d91ba2",
            "WIDER_train.zip",
        ),
        Resource.on_google_drive(
            "1GUCogbp16PMGa39thoMMeWxp7Rp5oM8Q",
            "dfa7d7e790efa35df3788964cf0bbaea",
            "WIDER_val.zip",
        ),
        Resource.on_google_drive(
            "1HIfDbVEWKmsYKJZm4lchTBDLW5N7dY5T",
            "e5d8f4248ed24c334bbd12f49c29dd40",
            "WIDER_test.zip",
        ),
        Resource(
            "http://shuoyang1213.me/WIDERFACE/support/bbx_annotation/wider_face_split.zip",
            "0e3767bcf0e326556d407bf5bff5d27c",
        ),
    )

    def needed(self) -> list[Path]:
        """Return the split's list and folder."""
        suffix = "test_filelist" if self.split == "test" else f"{self.split}_bbx_gt"
        list_file = self.folder / "wider_face_split" / f"wider_face_{suffix}.txt"
        return [list_file, self.folder / f"WIDER_{self.split}" / "images"]

    def read(self) -> tuple[list[Path], list[Any]]:
        """Return the photos, and the faces of each."""
        list_file, folder = self.needed()
        lines = iter(read_lines(list_file))
        if self.split == "test":
            paths = [folder / line for line in lines]
            return paths, [None] * len(paths)
        paths, targets = [], []
        for photo in lines:
            # A photo without a face has a line of zeros.
            count = max(int(next(lines)), 1)
            rows = [[int(value) for value in next(lines).split()] for _ in range(count)]
            paths.append(folder / photo)
            targets.append(_boxes(np.array(rows)))
        return paths, targets


def _boxes(rows: np.ndarray) -> dict[str, flow.Tensor]:
    columns = {name: rows[:, 4 + index] for index, name in enumerate(_COLUMNS)}
    return {name: flow.tensor(column) for name, column in {"bbox": rows[:, :4], **columns}.items()}
