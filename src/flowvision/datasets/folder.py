"""Folders of images, and the functions they are made of."""

from __future__ import annotations

from typing import Any

from flowvision.datasets.formats import import_package
from oneflow.data.vision.datasets import (
    IMAGE_EXTENSIONS,
    DatasetFolder as DatasetFolder,
    ImageFolder as ImageFolder,
    find_classes as find_classes,
    has_file_allowed_extension as has_file_allowed_extension,
    is_image_file as is_image_file,
    load_image,
    make_dataset as make_dataset,
)

# torchvision's names.
IMG_EXTENSIONS = IMAGE_EXTENSIONS
default_loader = pil_loader = load_image


def accimage_loader(path: str) -> Any:
    """Return an image file as an image of the package accimage, or of Pillow if it cannot read it.

    Raises:
        RuntimeError: accimage is missing.
        OSError: it is no image; says which file.
    """
    reader = import_package("accimage", "accimage")
    try:
        return reader.Image(path)
    except OSError:
        return pil_loader(path)
