"""All transforms: oneflow's, transforms of colors and geometry, and the few of tensors alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import oneflow as flow
from flowvision.transforms import functional
from flowvision.transforms.color import (
    ColorJitter as ColorJitter,
    GaussianBlur as GaussianBlur,
    Grayscale as Grayscale,
    RandomAdjustSharpness as RandomAdjustSharpness,
    RandomAutocontrast as RandomAutocontrast,
    RandomEqualize as RandomEqualize,
    RandomGrayscale as RandomGrayscale,
    RandomInvert as RandomInvert,
    RandomPosterize as RandomPosterize,
    RandomSolarize as RandomSolarize,
    Solarization as Solarization,
)
from flowvision.transforms.geometric import (
    ElasticTransform as ElasticTransform,
    RandomAffine as RandomAffine,
    RandomPerspective as RandomPerspective,
    RandomRotation as RandomRotation,
)
from oneflow.utils.vision.transforms import (
    CenterCrop as CenterCrop,
    Compose as Compose,
    ConvertImageDtype as ConvertImageDtype,
    FiveCrop as FiveCrop,
    ImageTransform as ImageTransform,
    InterpolationMode as InterpolationMode,
    Lambda as Lambda,
    Normalize as Normalize,
    Pad as Pad,
    PILToTensor as PILToTensor,
    RandomApply as RandomApply,
    RandomChoice as RandomChoice,
    RandomCrop as RandomCrop,
    RandomHorizontalFlip as RandomHorizontalFlip,
    RandomOrder as RandomOrder,
    RandomResizedCrop as RandomResizedCrop,
    RandomSizedCrop as RandomSizedCrop,
    RandomTransforms as RandomTransforms,
    RandomVerticalFlip as RandomVerticalFlip,
    Resize as Resize,
    Scale as Scale,
    TenCrop as TenCrop,
    ToPILImage as ToPILImage,
    ToTensor as ToTensor,
    random_numbers,
)


class ToNumpy(ImageTransform):
    """A Pillow image as an array ``[C, H, W]``, with its numbers as they are.

    Example:
        >>> from flowvision import transforms
        >>> from PIL import Image
        >>> transforms.ToNumpy()(Image.new("RGB", (4, 2))).shape
        (3, 2, 4)
    """

    def forward(self, img: Any) -> np.ndarray:
        return functional.pil_to_tensor(img).numpy()


class LinearTransformation(ImageTransform):
    """A tensor image times a square matrix, after a mean has been taken off: whitening.

    Args:
        transformation_matrix: ``[D, D]`` with D = C * H * W.
        mean_vector: ``[D]``.

    Raises:
        ValueError: other shapes.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> whiten = transforms.LinearTransformation(2 * flow.eye(2), flow.tensor([0.5, 1.0]))
        >>> whiten(flow.ones(1, 1, 2))
        tensor([[[1., 0.]]], dtype=oneflow.float32)
    """

    def __init__(self, transformation_matrix: flow.Tensor, mean_vector: flow.Tensor) -> None:
        super().__init__()
        rows, columns = transformation_matrix.shape
        if rows != columns or mean_vector.shape[0] != rows:
            raise ValueError(
                "transformation_matrix should be square and mean_vector as long, got "
                f"{tuple(transformation_matrix.shape)} and {tuple(mean_vector.shape)}"
            )
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def forward(self, img: flow.Tensor) -> flow.Tensor:
        count = math.prod(img.shape[-3:])
        if count != self.mean_vector.shape[0]:
            raise ValueError(
                f"the image has {count} numbers, the matrix is for {self.mean_vector.shape[0]}"
            )
        flat = img.reshape(-1, count) - self.mean_vector
        return flow.matmul(flat, self.transformation_matrix).reshape(*img.shape)

    def extra_repr(self) -> str:
        matrix, mean = self.transformation_matrix.tolist(), self.mean_vector.tolist()
        return f"transformation_matrix={matrix}, mean_vector={mean}"


class RandomErasing(ImageTransform):
    """A tensor image with a random rectangle overwritten, with a probability.

    The paper: Zhong et al., "Random Erasing Data Augmentation", 2017.

    Args:
        p: the probability.
        scale: range of the rectangle's share of the area.
        ratio: range of its height divided by its width.
        value: what to write: a number, one per channel, or ``"random"`` for noise.
        inplace: change the image itself.

    Raises:
        ValueError: `p` or `scale` beyond [0, 1], or another text as `value`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> bool((transforms.RandomErasing(p=1.0)(flow.ones(3, 8, 8)) == 0).any())
        True
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: float | Sequence[float] | str = 0,
        inplace: bool = False,
    ) -> None:
        super().__init__()
        if isinstance(value, str) and value != "random":
            raise ValueError(f"If value is str, it should be 'random', got {value!r}")
        if not 0 <= p <= 1 or not 0 <= scale[0] <= scale[1] <= 1:
            raise ValueError(f"p and scale should be between 0 and 1, got {p} and {scale}")
        self.p = p
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(
        img: flow.Tensor,
        scale: Sequence[float],
        ratio: Sequence[float],
        value: Sequence[float] | None = None,
    ) -> tuple[int, int, int, int, flow.Tensor]:
        """Return a random rectangle (top, left, height, width) and what to write there.

        Args:
            img: the image.
            scale: range of the rectangle's share of the area.
            ratio: range of its height divided by its width.
            value: one number, or one per channel; by default noise.

        If ten rectangles in a row do not fit, the result is the image itself.
        """
        random = random_numbers()
        channels, height, width = img.shape[-3:]
        for _ in range(10):
            area = height * width * random.uniform(scale[0], scale[1])
            form = math.exp(random.uniform(math.log(ratio[0]), math.log(ratio[1])))
            h, w = round(math.sqrt(area * form)), round(math.sqrt(area / form))
            if h >= height or w >= width:
                continue
            if value is None:
                numbers = random.standard_normal((channels, h, w))
            else:
                numbers = np.asarray(value).reshape(-1, 1, 1)
            top, left = random.integers(height - h + 1), random.integers(width - w + 1)
            written = flow.tensor(numbers.astype(np.float32)).to(img.dtype)
            return int(top), int(left), h, w, written
        return 0, 0, height, width, img

    def forward(self, img: flow.Tensor) -> flow.Tensor:
        if random_numbers().random() >= self.p:
            return img
        value = self.value
        colors = None
        if not isinstance(value, str):
            colors = [value] if isinstance(value, int | float) else list(value)
            if len(colors) not in (1, img.shape[-3]):
                raise ValueError(
                    f"value should be one number or {img.shape[-3]} (the channels), got {colors}"
                )
        box = self.get_params(img, self.scale, self.ratio, colors)
        return functional.erase(img, *box, self.inplace)
