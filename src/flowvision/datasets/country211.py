"""Country211: photos by the country that they were taken in."""

from __future__ import annotations

from typing import ClassVar

from flowvision.datasets.resources import Resource, SplitImageFolder


class Country211(SplitImageFolder):
    """Photos from 211 countries: 150 of each to train on, 50 to validate, 100 to test.

    Radford et al., "Learning Transferable Visual Models From Natural Language Supervision",
    https://arxiv.org/abs/2103.00020.

    Args:
        root: folder of the folder ``country211``.
        split: ``"train"``, ``"valid"`` or ``"test"``.
        transform: applied to each image.
        target_transform: applied to each class number.
        download: get and unpack the archive, 11 GB, if the images are missing.

    Raises:
        ValueError: an unknown `split`.
        RuntimeError: the images are missing.

    Example:
        >>> from flowvision.datasets import Country211
        >>> dataset = Country211("data")
        >>> image, target = dataset[0]
    """

    class_roots: ClassVar[dict[str, str]] = {
        split: f"country211/{split}" for split in ("train", "valid", "test")
    }
    resources = (
        Resource(
            "https://openaipublic.azureedge.net/clip/data/country211.tgz",
            "84988d7644798601126c29e9877aab6a",
        ),
    )
