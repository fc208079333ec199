"""Folders of images, and the functions they are made of."""

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
