"""Images per second and worker: JPEG photos through ImageFolder, the usual transforms and a loader.

``python benchmarks/vision_data.py --workers 1`` measures flowvision and torchvision in turn and
prints the median of each, and their ratio.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.models.vision import import_torchvision

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def write_photos(folder: Path, count: int) -> None:
    """Write JPEG files of 500x375 pixels with as much detail as photos have."""
    random = np.random.default_rng(0)
    for index in range(count):
        pixels = random.integers(0, 256, (60, 80, 3), dtype=np.uint8)
        path = folder / f"class{index % 4}" / f"{index}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(pixels).resize((500, 375), Image.Resampling.BICUBIC).save(path, quality=90)


def pipeline(vision: ModuleType) -> Callable[[Any], Any]:
    """Transforms for training on ImageNet."""
    t = vision.transforms
    return t.Compose(
        [
            t.RandomResizedCrop(224),
            t.RandomHorizontalFlip(),
            t.ToTensor(),
            t.Normalize(MEAN, STD),
        ]
    )


def loader_of(vision: ModuleType, loader: Any, folder: Path, workers: int) -> Iterable:
    """Batches of 32 from workers that live on."""
    data = vision.datasets.ImageFolder(str(folder), pipeline(vision))
    return loader(
        data, batch_size=32, shuffle=True, num_workers=workers, persistent_workers=workers > 0
    )


def images_per_second(loader: Iterable) -> float:
    """Images per second of one pass."""
    count = 0
    start = time.perf_counter()
    for images, _ in loader:
        count += len(images)
    return count / (time.perf_counter() - start)


def main() -> None:
    """Print both libraries' figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=512)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()

    import torch
    from torch.utils.data import DataLoader as TorchLoader

    import flowvision
    from oneflow.utils.data import DataLoader

    torch.set_num_threads(1)
    torchvision = import_torchvision(torch)
    with tempfile.TemporaryDirectory() as name:
        write_photos(Path(name), options.images)
        loaders = {
            "flowvision": loader_of(flowvision, DataLoader, Path(name), options.workers),
            "torchvision": loader_of(torchvision, TorchLoader, Path(name), options.workers),
        }
        rates: dict[str, list[float]] = {library: [] for library in loaders}
        for turn in range(options.rounds + 1):
            for library, loader in loaders.items():
                rate = images_per_second(loader) / max(options.workers, 1)
                if turn:  # the first pass starts workers and compiles
                    rates[library].append(rate)
    medians = {library: statistics.median(measured) for library, measured in rates.items()}
    for library, median in medians.items():
        print(f"{library}: {median:.1f} images/s per worker")
    print(f"ratio: {medians['flowvision'] / medians['torchvision']:.2f}")


if __name__ == "__main__":
    main()
