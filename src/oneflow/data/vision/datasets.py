"""The base of image data sets, folders of images, and loading an image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oneflow.data.dataset import Dataset
from oneflow.data.vision.image import pillow

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
    """An image file as a Pillow image with three color channels."""
    with Path(path).open("rb") as file:
        return pillow().open(file).convert("RGB")


class VisionDataset(Dataset):
    """Base class of image data sets.

    Args:
        root: folder of the files.
        transform: applied to each image.
        target_transform: applied to each target.
        transforms: applied to image and target together, instead of the other two.

    Raises:
        ValueError: `transforms` and one of the other two are given.
    """

    def __init__(
        self,
        root: str | Path,
        transforms: Callable | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
    ) -> None:
        if transforms is not None and (transform is not None or target_transform is not None):
            raise ValueError(
                "Only transforms or transform/target_transform can be passed as argument"
            )
        self.root = Path(root).expanduser()
        self.transform = transform
        self.target_transform = target_transform
        self.transforms = transforms

    def transformed(self, image: Any, target: Any) -> tuple[Any, Any]:
        """One sample after its transforms."""
        if self.transforms is not None:
            return self.transforms(image, target)
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def __len__(self) -> int:
        raise NotImplementedError

    def __repr__(self) -> str:
        name, count = type(self).__name__, len(self)
        return f"Dataset {name}\n    Number of datapoints: {count}\n    Root location: {self.root}"


class DatasetFolder(VisionDataset):
    """Files in one folder per class: ``root/cat/1.png``, ``root/dog/2.png``.

    Args:
        root: folder of the class folders.
        loader: loads a file.
        extensions: endings of the files to take.
        transform: applied to each sample.
        target_transform: applied to each class number.
        is_valid_file: says which files to take, instead of `extensions`.

    Attributes:
        classes: names of the classes, sorted.
        class_to_idx: number of each class.
        samples: path and class number of each file.
        targets: class number of each file.

    Raises:
        FileNotFoundError: no class folders, or one without files.
        ValueError: both or neither of `extensions` and `is_valid_file` are given.
    """

    def __init__(
        self,
        root: str | Path,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        if (extensions is None) == (is_valid_file is None):
            raise ValueError("give either `extensions` or `is_valid_file`")
        self.loader = loader
        self.extensions = extensions
        self.classes = self._find_classes()
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}
        self.samples = self._files(is_valid_file)
        self.targets = [target for _, target in self.samples]

    def _find_classes(self) -> list[str]:
        if not self.root.is_dir():
            raise FileNotFoundError(f"there is no folder `{self.root}`")
        classes = sorted(each.name for each in self.root.iterdir() if each.is_dir())
        if not classes:
            raise FileNotFoundError(f"Couldn't find any class folder in {self.root}.")
        return classes

    def _files(self, is_valid_file: Callable[[str], bool] | None) -> list[tuple[str, int]]:
        samples: list[tuple[str, int]] = []
        for name, target in self.class_to_idx.items():
            files = sorted(str(p) for p in (self.root / name).rglob("*") if p.is_file())
            if is_valid_file is not None:
                chosen = [f for f in files if is_valid_file(f)]
            else:
                chosen = [f for f in files if f.lower().endswith(self.extensions or ())]
            if not chosen:
                raise FileNotFoundError(f"Found no valid file for the class {name} in {self.root}")
            samples += [(file, target) for file in chosen]
        return samples

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
    """

    def __init__(
        self,
        root: str | Path,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        loader: Callable[[str], Any] = load_image,
        is_valid_file: Callable[[str], bool] | None = None,
    ) -> None:
        extensions = IMAGE_EXTENSIONS if is_valid_file is None else None
        super().__init__(root, loader, extensions, transform, target_transform, is_valid_file)
        self.imgs: Sequence[tuple[str, int]] = self.samples


def require_files(files: Sequence[Path], name: str, source: str) -> None:
    """Check that the files of a data set are there.

    Raises:
        RuntimeError: some are not; says which, and where they come from.
    """
    missing = [file for file in files if not file.exists()]
    if missing:
        missing_names = ", ".join(file.name for file in missing)
        raise RuntimeError(
            f"{name} is not in `{missing[0].parent}`: {missing_names} is missing. "
            "Nothing is downloaded here; get the files "
            f"from {source} and put them there"
        )
