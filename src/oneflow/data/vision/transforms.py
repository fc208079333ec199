"""Transforms: modules that change one image; random ones draw from the default generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.base.dtype import DType
from oneflow.data.randomness import random_numbers
from oneflow.data.vision import conversion, image as im
from oneflow.data.vision.random_box import random_box
from oneflow.data.vision.resize import (
    InterpolationMode,
    interpolation_mode,
    resize,
    resized_crop,
)
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


class Transform(Module):
    """Base class of transforms: define `forward`; the repr shows the options.

    Example:
        >>> from oneflow.utils.vision import transforms
        >>> transforms.CenterCrop(2)
        CenterCrop(size=(2, 2))
    """

    def forward(self, img: Any) -> Any:
        """Return the changed image."""
        raise NotImplementedError(f"{type(self).__name__} must define `forward`")

    def __repr__(self) -> str:
        options = (
            f"{name}={value.value if isinstance(value, InterpolationMode) else value}"
            for name, value in self.__dict__.items()
            if not name.startswith("_") and name != "training"
        )
        return f"{type(self).__name__}({', '.join(options)})"


# --- several transforms


class Compose(Transform):
    """One transform after the other.

    Args:
        transforms: the transforms.

    Example:
        >>> import numpy as np
        >>> from oneflow.utils.vision import transforms
        >>> pipeline = transforms.Compose([transforms.CenterCrop(2), transforms.ToTensor()])
        >>> pipeline(np.full((4, 4), 255, np.uint8)).tolist()
        [[[1.0, 1.0], [1.0, 1.0]]]
    """

    def __init__(self, transforms: Sequence[Callable]) -> None:
        super().__init__()
        self.transforms = transforms

    def forward(self, img: Any) -> Any:
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        inner = "".join(f"\n    {transform}" for transform in self.transforms)
        return f"{type(self).__name__}({inner}\n)"


class RandomTransforms(Compose):
    """Base class of those that choose among transforms.

    Args:
        transforms: the transforms.

    Raises:
        TypeError: they are not in a sequence.
    """

    def __init__(self, transforms: Sequence[Callable]) -> None:
        if not isinstance(transforms, Sequence | Module):
            raise TypeError("Argument transforms should be a sequence")
        super().__init__(transforms)

    def forward(self, img: Any) -> Any:
        raise NotImplementedError


class RandomApply(RandomTransforms):
    """All transforms, with a probability.

    Args:
        transforms: the transforms.
        p: the probability.
    """

    def __init__(self, transforms: Sequence[Callable], p: float = 0.5) -> None:
        super().__init__(transforms)
        self.p = p

    def forward(self, img: Any) -> Any:
        return Compose.forward(self, img) if random_numbers().random() < self.p else img


class RandomOrder(RandomTransforms):
    """All transforms in random order."""

    def forward(self, img: Any) -> Any:
        for index in random_numbers().permutation(len(self.transforms)):
            img = self.transforms[index](img)
        return img


class RandomChoice(RandomTransforms):
    """One of the transforms.

    Args:
        transforms: the transforms.
        p: weight of each, by default the same.

    Raises:
        ValueError: there are not as many weights as transforms.
    """

    def __init__(self, transforms: Sequence[Callable], p: Sequence[float] | None = None) -> None:
        super().__init__(transforms)
        if p is not None and len(p) != len(transforms):
            raise ValueError(f"p must have {len(transforms)} numbers, got {len(p)}")
        self.p = p

    def forward(self, img: Any) -> Any:
        weights = None if self.p is None else np.divide(self.p, sum(self.p))
        return self.transforms[int(random_numbers().choice(len(self.transforms), p=weights))](img)


class Lambda(Transform):
    """A function as a transform.

    Args:
        lambd: the function.
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        super().__init__()
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__}")
        self.lambd = lambd

    def forward(self, img: Any) -> Any:
        return self.lambd(img)


# --- between images and tensors


class ToTensor(Transform):
    """A Pillow image or an array ``[H, W, C]`` as a tensor ``[C, H, W]``.

    Bytes become numbers in [0, 1].
    """

    def forward(self, img: Any) -> Tensor:
        return conversion.to_tensor(img)


class PILToTensor(Transform):
    """A Pillow image as a tensor ``[C, H, W]``, with its numbers as they are."""

    def forward(self, img: Any) -> Tensor:
        return conversion.pil_to_tensor(img)


class ToPILImage(Transform):
    """A tensor ``[C, H, W]`` or an array ``[H, W, C]`` as a Pillow image.

    Args:
        mode: Pillow's color mode, default one that fits.
    """

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def forward(self, img: Any) -> Any:
        return conversion.to_pil_image(img, self.mode)


class ConvertImageDtype(Transform):
    """A tensor image in another dtype, with its numbers scaled.

    Args:
        dtype: the dtype.
    """

    def __init__(self, dtype: DType) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, img: Tensor) -> Tensor:
        return conversion.convert_image_dtype(img, self.dtype)


class Normalize(Transform):
    """``(image - mean) / std`` per channel of a float tensor.

    Args:
        mean: one number per channel.
        std: one number per channel.
        inplace: change the tensor itself.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> transforms.Normalize([1.0], [2.0])(flow.full((1, 1, 2), 5.0)).tolist()
        [[[2.0, 2.0]]]
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def forward(self, img: Tensor) -> Tensor:
        return conversion.normalize(img, self.mean, self.std, self.inplace)


# --- sizes


class Resize(Transform):
    """The image in another size.

    Args:
        size: height and width; one number is the length of the shorter side.
        interpolation: how new pixels come from old ones.
        max_size: limit of the longer side where `size` is one number.
        antialias: of a tensor, whether a pixel averages over all old ones it stands for.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: Any = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if not isinstance(size, int | Sequence):
            raise TypeError(f"Size should be int or sequence. Got {type(size).__name__}")
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError("If size is a sequence, it should have 1 or 2 values")
        self.size = size
        self.interpolation = interpolation_mode(interpolation)
        self.max_size = max_size
        self.antialias = antialias

    def forward(self, img: Any) -> Any:
        return resize(img, self.size, self.interpolation, self.max_size, self.antialias)


class Pad(Transform):
    """The image with a border.

    Args:
        padding: of all sides; of left/right and top/bottom; or of left, top, right, bottom.
        fill: value of a constant border.
        padding_mode: ``"constant"``, ``"edge"``, ``"reflect"`` or ``"symmetric"``.
    """

    def __init__(
        self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant"
    ) -> None:
        super().__init__()
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def forward(self, img: Any) -> Any:
        return im.pad(img, self.padding, self.fill, self.padding_mode)


class CenterCrop(Transform):
    """The middle of the image.

    Args:
        size: height and width, or one number for both.
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = im.pair(size)

    def forward(self, img: Any) -> Any:
        return im.center_crop(img, self.size)


class RandomCrop(Transform):
    """A random rectangle of the image.

    Args:
        size: height and width, or one number for both.
        padding: border to add before, as in `Pad`.
        pad_if_needed: add a border where the image is too small.
        fill: value of a constant border.
        padding_mode: ``"constant"``, ``"edge"``, ``"reflect"`` or ``"symmetric"``.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = im.pair(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Return a random rectangle of `img`: top, left, height and width.

        Raises:
            ValueError: the image is smaller than `output_size`.
        """
        (height, width), (h, w) = im.size_of(img), output_size
        if height < h or width < w:
            raise ValueError(
                f"Required crop size {output_size} is larger than input image size {height, width}"
            )
        random = random_numbers()
        return int(random.integers(height - h + 1)), int(random.integers(width - w + 1)), h, w

    def forward(self, img: Any) -> Any:
        if self.padding is not None:
            img = im.pad(img, self.padding, self.fill, self.padding_mode)
        height, width = im.size_of(img)
        missing = max(self.size[0] - height, 0), max(self.size[1] - width, 0)
        if self.pad_if_needed and any(missing):
            img = im.pad(img, (missing[1], missing[0]), self.fill, self.padding_mode)
        return im.crop(img, *self.get_params(img, self.size))


class RandomResizedCrop(Transform):
    """A random rectangle of random size and form, in a fixed size.

    Args:
        size: height and width of the result, or one number for both.
        scale: range of the rectangle's share of the area.
        ratio: range of its width divided by its height.
        interpolation: how new pixels come from old ones.
        antialias: of a tensor, whether a pixel averages over all old ones it stands for.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Any = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = im.pair(size)
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            raise ValueError(f"scale and ratio should be (min, max), got {scale} and {ratio}")
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation_mode(interpolation)
        self.antialias = antialias

    @staticmethod
    def get_params(
        img: Any, scale: Sequence[float], ratio: Sequence[float]
    ) -> tuple[int, int, int, int]:
        """Return a random rectangle (top, left, height, width) with area and form in the ranges."""
        return random_box(*im.size_of(img), scale, ratio, random_numbers())

    def forward(self, img: Any) -> Any:
        box = self.get_params(img, self.scale, self.ratio)
        return resized_crop(img, *box, self.size, self.interpolation, self.antialias)


class FiveCrop(Transform):
    """The four corners and the middle.

    Args:
        size: height and width, or one number for both.
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = im.pair(size)

    def forward(self, img: Any) -> tuple:
        return im.five_crop(img, self.size)


class TenCrop(FiveCrop):
    """The four corners and the middle, and the same of the mirrored image.

    Args:
        size: height and width, or one number for both.
        vertical_flip: mirror upside down instead of left to right.
    """

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__(size)
        self.vertical_flip = vertical_flip

    def forward(self, img: Any) -> tuple:
        return im.ten_crop(img, self.size, self.vertical_flip)


# --- mirrors


class RandomHorizontalFlip(Transform):
    """The image mirrored left to right, with a probability.

    Args:
        p: the probability.
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        return im.hflip(img) if random_numbers().random() < self.p else img


class RandomVerticalFlip(Transform):
    """The image mirrored upside down, with a probability.

    Args:
        p: the probability.
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        return im.vflip(img) if random_numbers().random() < self.p else img


# Names of earlier versions.
Scale = Resize
RandomSizedCrop = RandomResizedCrop
