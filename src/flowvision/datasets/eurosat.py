"""EuroSAT: use of land, seen from satellites."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flowvision.datasets.resources import ArchiveImageFolder, Resource


class EuroSAT(ArchiveImageFolder):
    """27,000 pictures of Sentinel-2, 64x64 color pixels, of ten kinds of use of land.

    Helber et al., "EuroSAT: A Novel Dataset and Deep Learning Benchmark for Land Use and Land Cover
    Classification", 2019.

    Args:
        root: folder of the folder ``eurosat``.
        transform: applied to each image.
        target_transform: applied to each class number.
        download: get and unpack the archive, 94 MB, if the images are missing.

    Raises:
        RuntimeError: the images are missing.

    Example:
        >>> from flowvision.datasets import EuroSAT
        >>> dataset = EuroSAT("data")
        >>> image, target = dataset[0]
    """

    resources = (
        Resource(
            "https://huggingface.co/datasets/torchgeo/eurosat/resolve/"
            "c877bcd43f099cd0196738f714544e355477f3fd/EuroSAT.zip",
            "c8fa014336c82ac7804f0398fcb19387",
        ),
    )

    def __init__(
        self,
        root: str | Path,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(Path(root) / "eurosat", "2750", transform, target_transform, download)
