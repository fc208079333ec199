"""The base of image data sets, folders of images, and loading an image."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from oneflow.data.dataset import Dataset
from oneflow.data.vision.pillow import Image

IMAGE_EXTENSIONS = (
    ".jpg",
    ".jpeg",
    ".png",
    ".ppm",
    ".bmp",
    ".pgm",
    ".tif",
    ".tiff",
    ".webp",
)


@dataclass
class _Backend:
    name: str = "PIL"


_backend = _Backend()


def get_image_backend() -> str:
    """Name of the package that images are loaded with: ``"PIL"``.

    Example:
        >>> import oneflow as flow
        >>> flow.utils.vision.get_image_backend()
        'PIL'
    """
    return _backend.name


def set_image_backend(backend: str) -> None:
    """Choose the package that images are loaded with; only ``"PIL"`` is there.

    Raises:
        ValueError: another name.
    """
    if backend != "PIL":
        raise ValueError(f"Invalid backend {backend!r}; the only one is 'PIL'")
    _backend.name = backend


def load_image(path: str | Path) -> Any:
    """Return an image file as a Pillow image with three color channels.

    Palettes and CMYK are converted, opacity is left out, and grays of 16 bits keep their upper 8.

    Raises:
        OSError: it is no image, it is damaged or cut off, or it has more pixels than Pillow
            permits (`PIL.Image.MAX_IMAGE_PIXELS`); says which file.
    """
    try:
        with open(path, "rb") as file:
            return _in_colors(Image.open(file))
    except FileNotFoundError:
        raise
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise OSError(f"cannot read the image `{path}`: {error}") from error


def _in_colors(image: Any) -> Any:
    if image.mode == "RGB":
        # Pillow's conversion would copy it.
        image.load()
        return image
    if image.mode.startswith("I;16"):
        # Pillow's own conversion makes all that is above 255 white.
        scaled = (np.asarray(image) >> 8).astype(np.uint8)
        return Image.fromarray(scaled).convert("RGB")
    if image.mode == "P" and "transparency" in image.info:
        image = image.convert("RGBA")
    return image.convert("RGB")


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Return whether a file's name ends with one of these, in capitals or not."""
    return filename.lower().endswith(extensions)


def is_image_file(filename: str) -> bool:
    """Return whether a file name has an image's extension."""
    return has_file_allowed_extension(filename, IMAGE_EXTENSIONS)


def find_classes(directory: str | Path) -> tuple[list[str], dict[str, int]]:
    """Return the names of the folders in a folder, sorted, and the number of each.

    Raises:
        FileNotFoundError: there is no such folder, or none in it.
    """
    root = Path(directory)
    if not root.is_dir():
        raise FileNotFoundError(f"there is no folder `{root}`")
    classes = sorted(folder.name for folder in root.iterdir() if folder.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {root}.")
    return classes, {name: index for index, name in enumerate(classes)}


def make_dataset(
    directory: str | Path,
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: Callable[[str], bool] | None = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """Return path and class number of each file in the class folders of a folder.

    Args:
        directory: the folder.
        class_to_idx: the number of each class, by default those of `find_classes`.
        extensions: endings of the files to take.
        is_valid_file: says which files to take, instead of `extensions`.
        allow_empty: accept classes without a file.

    Raises:
        ValueError: both or neither of `extensions` and `is_valid_file` are given.
        FileNotFoundError: a class has no file.
    """
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("give either `extensions` or `is_valid_file`")
    if class_to_idx is None:
        class_to_idx = find_classes(directory)[1]
    if is_valid_file is None:
        is_valid_file = partial(has_file_allowed_extension, extensions=extensions or ())
    samples: list[tuple[str, int]] = []
    for name, target in sorted(class_to_idx.items()):
        before = len(samples)
        for folder, _, files in sorted(os.walk(Path(directory) / name, followlinks=True)):
            paths = [os.path.join(folder, file) for file in sorted(files)]
            samples += [(path, target) for path in paths if is_valid_file(path)]
        if len(samples) == before and not allow_empty:
            note = f"; files end with {extensions}" if extensions else ""
            raise FileNotFoundError(
                f"Found no valid file for the class {name} in {directory}{note}"
            )
    return samples


class StandardTransform:
    """A transform of images and one of targets as one of both.

    Args:
        transform: applied to the image.
        target_transform: applied to the target.

    Example:
        >>> from flowvision.datasets.vision import StandardTransform
        >>> StandardTransform(str.upper)("image", 3)
        ('IMAGE', 3)
    """

    def __init__(
        self,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
    ) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        """Return both after their transforms."""
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def __repr__(self) -> str:
        transforms = {"Transform": self.transform, "Target transform": self.target_transform}
        lines = [
            f"{name}: {transform!r}"
            for name, transform in transforms.items()
            if transform is not None
        ]
        return "\n".join([type(self).__name__, *lines])


class VisionDataset(Dataset[Any]):
    """Base class of image data sets.

    Args:
        root: folder of the files.
        transform: applied to each image.
        target_transform: applied to each target.
        transforms: applied to image and target together, instead of the other two.

    Raises:
        ValueError: `transforms` and one of the other two are given.

    Example:
        >>> from flowvision.datasets import VisionDataset
        >>> class Squares(VisionDataset):
        ...     def __getitem__(self, index):
        ...         return index**2
        ...
        ...     def __len__(self):
        ...         return 3
        >>> Squares("data")[2]
        4
    """

    def __init__(
        self,
        root: str | Path,
        transforms: Callable[..., Any] | None = None,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
    ) -> None:
        if transforms is not None and (transform is not None or target_transform is not None):
            raise ValueError(
                "Only transforms or transform/target_transform can be passed as argument"
            )
        self.root = Path(root).expanduser()
        self.transform = transform
        self.target_transform = target_transform
        self._joint_transform = transforms

    @property
    def transforms(self) -> Callable[..., Any] | None:
        """The transform of image and target together; None if there is none."""
        if self._joint_transform is not None:
            return self._joint_transform
        if self.transform is None and self.target_transform is None:
            return None
        return StandardTransform(self.transform, self.target_transform)

    @transforms.setter
    def transforms(self, transforms: Callable[..., Any] | None) -> None:
        self._joint_transform = transforms

    def transformed(self, image: Any, target: Any) -> tuple[Any, Any]:
        """Apply the transforms to a sample."""
        transforms = self.transforms
        return (image, target) if transforms is None else transforms(image, target)

    def __len__(self) -> int:
        raise NotImplementedError

    def __repr__(self) -> str:
        lines = [
            f"Dataset {type(self).__name__}",
            f"Number of datapoints: {len(self)}",
            f"Root location: {self.root}",
            *self.extra_repr().splitlines(),
        ]
        return "\n    ".join(lines)

    def extra_repr(self) -> str:
        """Return what a subclass adds to the representation: lines, or nothing."""
        return ""


class DatasetFolder(VisionDataset):
    """Files in one folder per class: ``root/cat/1.png``, ``root/dog/2.png``.

    Args:
        root: folder of the class folders.
        loader: loads a file.
        extensions: endings of the files to take.
        transform: applied to each sample.
        target_transform: applied to each class number.
        is_valid_file: says which files to take, instead of `extensions`.
        allow_empty: accept classes without a file.

    Attributes:
        classes: names of the classes, sorted.
        class_to_idx: number of each class.
        samples: path and class number of each file.
        targets: class number of each file.

    Raises:
        FileNotFoundError: no class folders, or one without files.
        ValueError: both or neither of `extensions` and `is_valid_file` are given.

    Example:
        >>> from flowvision.datasets import DatasetFolder
        >>> dataset = DatasetFolder("data", loader=str, extensions=(".png",))
        >>> dataset[0]
        ('data/cat/1.png', 0)
    """

    def __init__(
        self,
        root: str | Path,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self.extensions = extensions
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(
            self.root, self.class_to_idx, extensions, is_valid_file, allow_empty
        )
        self.targets = [target for _, target in self.samples]

    # Path and class number of each file; a subclass may choose others.
    make_dataset = staticmethod(make_dataset)

    def find_classes(self, directory: str | Path) -> tuple[list[str], dict[str, int]]:
        """Return the names of the classes and the number of each; a subclass may choose others."""
        return find_classes(directory)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        return self.transformed(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Images in one folder per class.

    Args:
        root: folder of the class folders.
        transform: applied to each image.
        target_transform: applied to each class number.
        loader: loads a file, default as a Pillow image.
        is_valid_file: says which files to take, default those with the usual endings of images.
        allow_empty: accept classes without a file.

    Example:
        >>> from flowvision.datasets import ImageFolder
        >>> dataset = ImageFolder("data")
        >>> image, target = dataset[0]
    """

    def __init__(
        self,
        root: str | Path,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        loader: Callable[[str], Any] = load_image,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        extensions = IMAGE_EXTENSIONS if is_valid_file is None else None
        super().__init__(
            root, loader, extensions, transform, target_transform, is_valid_file, allow_empty
        )
        self.imgs: Sequence[tuple[str, int]] = self.samples


def require_files(files: Sequence[Path], name: str, source: str) -> None:
    """Check that the files of a data set are there.

    Args:
        files: the files.
        name: the data set's.
        source: says how to get them.

    Raises:
        RuntimeError: some are not; says which, and how to get them.
    """
    missing = [file for file in files if not file.exists()]
    if missing:
        missing_names = ", ".join(file.name for file in missing)
        raise RuntimeError(
            f"{name} is not in `{missing[0].parent}`: {missing_names} is missing; {source}"
        )
