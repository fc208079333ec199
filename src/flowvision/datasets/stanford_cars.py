"""Stanford Cars."""

from __future__ import annotations

from pathlib import Path

from flowvision.datasets.formats import read_matlab
from flowvision.datasets.resources import SplitImageDataset, class_indices


class StanfordCars(SplitImageDataset):
    """16,185 photos of 196 models of cars.

    Krause et al., "3D Object Representations for Fine-Grained Categorization", 2013.

    Args:
        root: folder of the folder ``stanford_cars``, with ``devkit``, ``cars_train``, ``cars_test``
            and ``cars_test_annos_withlabels.mat``.
        split: ``"train"`` or ``"test"``.
        transform: applied to each image.
        target_transform: applied to each class number.
        download: an error says where to get the files, which the publishers removed.

    Attributes:
        classes: names of the models.
        class_to_idx: number of each model.

    Raises:
        ValueError: an unknown `split`.
        RuntimeError: files are missing; says which.

    Example:
        >>> from flowvision.datasets import StanfordCars
        >>> dataset = StanfordCars("data")
        >>> image, target = dataset[0]
    """

    folder_name = "stanford_cars"
    source = "its publishers removed it from https://ai.stanford.edu/~jkrause/cars; copy it there"

    def needed(self) -> list[Path]:
        """Return the lists of models and of images, and the folder of the split."""
        models = self.folder / "devkit" / "cars_meta.mat"
        if self.split == "train":
            list_file = self.folder / "devkit" / "cars_train_annos.mat"
        else:
            list_file = self.folder / "cars_test_annos_withlabels.mat"
        return [models, list_file, self.folder / f"cars_{self.split}"]

    def read(self) -> tuple[list[Path], list[int]]:
        """Return the images, and the number of the model of each, from 0."""
        models, list_file, folder = self.needed()
        self.classes = read_matlab(models, squeeze=True)["class_names"].tolist()
        self.class_to_idx = class_indices(self.classes)
        rows = read_matlab(list_file)["annotations"].ravel()
        images = [folder / row["fname"].item() for row in rows]
        return images, [int(row["class"].item()) - 1 for row in rows]
