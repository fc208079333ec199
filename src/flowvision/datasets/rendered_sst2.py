"""Rendered SST2: sentences as pictures, by their sentiment."""

from __future__ import annotations

from typing import ClassVar

from flowvision.datasets.resources import Resource, SplitImageFolder


class RenderedSST2(SplitImageFolder):
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

    Example:
        >>> from flowvision.datasets import RenderedSST2
        >>> dataset = RenderedSST2("data", split="val")
        >>> image, target = dataset[0]
    """

    class_roots: ClassVar[dict[str, str]] = {
        "train": "rendered-sst2/train",
        "val": "rendered-sst2/valid",
        "test": "rendered-sst2/test",
    }
    resources = (
        Resource(
            "https://openaipublic.azureedge.net/clip/data/rendered-sst2.tgz",
            "2384d08e9dcfa4bd55b324e610496ee5",
        ),
    )
