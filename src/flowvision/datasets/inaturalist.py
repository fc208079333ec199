"""iNaturalist: photos of living things."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flowvision.datasets.resources import (
    ImageDataset,
    Resource,
    check_target_types,
    list_class_files,
    one_or_all,
)
from flowvision.datasets.utils import list_dir, verify_str_arg

CATEGORIES_2021 = ["kingdom", "phylum", "class", "order", "family", "genus"]
_URL = "https://ml-inat-competition-datasets.s3.amazonaws.com"
DATASET_URLS = {
    "2017": f"{_URL}/2017/train_val_images.tar.gz",
    "2018": f"{_URL}/2018/train_val2018.tar.gz",
    "2019": f"{_URL}/2019/train_val2019.tar.gz",
    "2021_train": f"{_URL}/2021/train.tar.gz",
    "2021_train_mini": f"{_URL}/2021/train_mini.tar.gz",
    "2021_valid": f"{_URL}/2021/val.tar.gz",
}
DATASET_MD5 = {
    "2017": "7c784ea5e424efaec655bd392f87301f",
    "2018": "b1c6952ce38f31868cc50ea72d066cc3",
    "2019": "c60a6e2962c9b8ccbd458d12c8582644",
    "2021_train": "e0526d53c7f7b2e3167b2b43bb2690ed",
    "2021_train_mini": "db6ed8330e634445efc8fec83ae81442",
    "2021_valid": "f6f6e0e242e3d4c9569ba56400938afc",
}


class INaturalist(ImageDataset):
    """Photos of up to 10,000 species of plants, animals and others.

    Van Horn et al., "The iNaturalist Species Classification and Detection Dataset",
    https://arxiv.org/abs/1707.06642.

    Args:
        root: folder of the version's folder.
        version: ``"2017"``, ``"2018"``, ``"2019"``, ``"2021_train"``, ``"2021_train_mini"`` or
            ``"2021_valid"``.
        target_type: ``"full"``, the number of the species; before 2021 also ``"super"``, then
            ``"kingdom"``, ``"phylum"``, ``"class"``, ``"order"``, ``"family"`` or ``"genus"``; or a
            list of these.
        transform: applied to each image.
        target_transform: applied to each target.
        download: get and unpack the archive, up to 224 GB, if something is missing.

    Attributes:
        all_categories: the folders of the species.
        categories_index: the number of each name, by kind of target.

    Raises:
        ValueError: an unknown `version` or `target_type`.
        RuntimeError: files are missing, or folders have other names.

    Example:
        >>> from flowvision.datasets import INaturalist
        >>> dataset = INaturalist("data", target_type="full")
        >>> image, target = dataset[0]
    """

    def __init__(
        self,
        root: str | Path,
        version: str = "2021_train",
        target_type: str | Sequence[str] = "full",
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        self.version = verify_str_arg(version, "version", DATASET_URLS)
        folder = Path(root).expanduser() / version
        super().__init__(folder, transform=transform, target_transform=target_transform)
        ranks = CATEGORIES_2021 if version.startswith("2021") else ["super"]
        self.target_type = check_target_types(target_type, ("full", *ranks))
        self._get(download)
        self.categories_index: dict[str, dict[str, int]] = {rank: {} for rank in ranks}
        read = self._read_2021 if version.startswith("2021") else self._read_before_2021
        self.all_categories, self._ranks = read()
        self.images, self._species = list_class_files(self.root, self.all_categories)

    def _get(self, download: bool) -> None:
        url = DATASET_URLS[self.version]
        archive = Resource(url, DATASET_MD5[self.version], f"{self.version}.tgz")
        unpacked = self.root.parent / url.rpartition("/")[2].removesuffix(".tar.gz")
        if download and not self.root.exists():
            archive.download(self.root.parent)
            unpacked.rename(self.root)
        self.ensure_files(self.root, [self.root], download=False, resources=[archive])

    def _number(self, rank: str, name: str) -> int:
        numbers = self.categories_index[rank]
        return numbers.setdefault(name, len(numbers))

    def _read_2021(self) -> tuple[list[str], list[dict[str, int]]]:
        """Return the folders, ``00000_kingdom_..._genus_species``, and the numbers of the ranks."""
        names, ranks = list_dir(self.root), []
        for number, folder in enumerate(names):
            first, *parts = folder.split("_")
            if len(parts) != 7 or first != f"{number:05d}":
                raise RuntimeError(
                    f"the folder number {number} in `{self.root}` should begin with {number:05d} "
                    f"and have seven names after it, got {folder}"
                )
            pairs = zip(CATEGORIES_2021, parts[:6], strict=True)
            ranks.append({rank: self._number(rank, name) for rank, name in pairs})
        return names, ranks

    def _read_before_2021(self) -> tuple[list[str], list[dict[str, int]]]:
        """Return the folders, ``super/name`` (2017) or ``super/number``, and their numbers."""
        categories: dict[int, tuple[str, dict[str, int]]] = {}
        for group in list_dir(self.root):
            above = {"super": self._number("super", group)}
            for name in list_dir(self.root / group):
                if self.version != "2017" and not name.isdigit():
                    raise RuntimeError(f"the folder {group}/{name} should be named by a number")
                number = len(categories) if self.version == "2017" else int(name)
                if number in categories:
                    raise RuntimeError(f"there are two folders of the species {number}")
                categories[number] = (f"{group}/{name}", above)
        missing = sorted(set(range(len(categories))) - set(categories))
        if missing:
            raise RuntimeError(f"there is no folder of the species {missing[0]} in `{self.root}`")
        both = [categories[number] for number in range(len(categories))]
        return [folder for folder, _ in both], [ranks for _, ranks in both]

    def target(self, index: int) -> Any:
        """Return the number of an image's species, or of the genus, family, … that holds it."""
        entry = self._species[index]
        numbers = {"full": entry, **self._ranks[entry]}
        return one_or_all([numbers[kind] for kind in self.target_type])

    def category_name(self, category_type: str, category_id: int) -> str:
        """Return the name of a class.

        Args:
            category_type: ``"full"``, or a kind of target.
            category_id: its number.

        Raises:
            ValueError: there is no such kind, or no such number.
        """
        if category_type == "full":
            return self.all_categories[category_id]
        if category_type not in self.categories_index:
            raise ValueError(f"Invalid category type '{category_type}'")
        for name, number in self.categories_index[category_type].items():
            if number == category_id:
                return name
        raise ValueError(f"Invalid category id {category_id} for {category_type}")
