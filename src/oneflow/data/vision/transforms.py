"""Transforms: objects that change one image; random ones draw from the default generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.base.dtype import DType
from oneflow.data.randomness import random_numbers
from oneflow.data.vision import image as im
from oneflow.data.vision.image import InterpolationMode
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array


class Transform:
    """Base class: the repr shows the options."""

    def __call__(self, img: Any) -> Any:
        """The changed image."""
        return self._apply(img)

    def _apply(self, img: Any) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({options})"


def _pair(size: int | Sequence[int]) -> tuple[int, int]:
    given = (size, size) if isinstance(size, int) else tuple(size)
    given = given * 2 if len(given) == 1 else given
    if len(given) != 2:
        raise ValueError(f"Please provide only two dimensions (h, w) for size, got {size!r}")
    return given


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
        self.transforms = transforms

    def _apply(self, img: Any) -> Any:
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
        if not isinstance(transforms, Sequence):
            raise TypeError("Argument transforms should be a sequence")
        super().__init__(transforms)

    def _apply(self, img: Any) -> Any:
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

    def _apply(self, img: Any) -> Any:
        return Compose._apply(self, img) if random_numbers(None).random() < self.p else img


class RandomOrder(RandomTransforms):
    """All transforms in random order."""

    def _apply(self, img: Any) -> Any:
        for index in random_numbers(None).permutation(len(self.transforms)):
            img = self.transforms[index](img)
        return img


class RandomChoice(RandomTransforms):
    """One of the transforms."""

    def _apply(self, img: Any) -> Any:
        return self.transforms[int(random_numbers(None).integers(len(self.transforms)))](img)


class Lambda(Transform):
    """A function as a transform.

    Args:
        lambd: the function.
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__}")
        self.lambd = lambd

    def _apply(self, img: Any) -> Any:
        return self.lambd(img)


# --- between images and tensors


class ToTensor(Transform):
    """A Pillow image or an array ``[H, W, C]`` as a tensor ``[C, H, W]``.

    Bytes become numbers in [0, 1].
    """

    def _apply(self, img: Any) -> Tensor:
        return im.to_tensor(img)


class PILToTensor(Transform):
    """A Pillow image as a tensor ``[C, H, W]``, with its numbers as they are."""

    def _apply(self, img: Any) -> Tensor:
        if not im.is_pillow(img):
            raise TypeError(f"pic should be PIL Image. Got {type(img).__name__}")
        return import_array(im.channels_first(img))


class ToPILImage(Transform):
    """A tensor ``[C, H, W]`` or an array ``[H, W, C]`` as a Pillow image.

    Args:
        mode: Pillow's color mode, default one that fits.
    """

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def _apply(self, img: Any) -> Any:
        return im.to_pillow(img, self.mode)


class ConvertImageDtype(Transform):
    """A tensor image in another dtype, with its numbers scaled.

    Args:
        dtype: the dtype.
    """

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype

    def _apply(self, img: Tensor) -> Tensor:
        return im.convert_dtype(img, self.dtype)


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
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def _apply(self, img: Tensor) -> Tensor:
        return im.normalize(img, self.mean, self.std, self.inplace)


# --- sizes


class Resize(Transform):
    """The image in another size.

    Args:
        size: height and width; one number is the length of the shorter side.
        interpolation: how new pixels come from old ones.
    """

    def __init__(
        self, size: int | Sequence[int], interpolation: Any = InterpolationMode.BILINEAR
    ) -> None:
        if not isinstance(size, int | Sequence):
            raise TypeError(f"Size should be int or sequence. Got {type(size).__name__}")
        self.size = size
        self.interpolation = im.interpolation_mode(interpolation)

    def _apply(self, img: Any) -> Any:
        return im.resize(img, self.size, self.interpolation)


class Pad(Transform):
    """The image with a border.

    Args:
        padding: of all sides; of left/right and top/bottom; or of left, top, right, bottom.
        fill: value of a constant border.
        padding_mode: ``"constant"``, ``"edge"`` or ``"reflect"``.
    """

    def __init__(
        self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant"
    ) -> None:
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def _apply(self, img: Any) -> Any:
        return im.pad(img, self.padding, self.fill, self.padding_mode)


class CenterCrop(Transform):
    """The middle of the image.

    Args:
        size: height and width, or one number for both.
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = _pair(size)

    def _apply(self, img: Any) -> Any:
        return im.center_crop(img, self.size)


class RandomCrop(Transform):
    """A random rectangle of the image.

    Args:
        size: height and width, or one number for both.
        padding: border to add before, as in `Pad`.
        pad_if_needed: add a border where the image is too small.
        fill: value of a constant border.
        padding_mode: ``"constant"``, ``"edge"`` or ``"reflect"``.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        self.size = _pair(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    def _apply(self, img: Any) -> Any:
        if self.padding is not None:
            img = im.pad(img, self.padding, self.fill, self.padding_mode)
        height, width = im.size_of(img)
        missing = max(self.size[0] - height, 0), max(self.size[1] - width, 0)
        if self.pad_if_needed and any(missing):
            img = im.pad(img, (missing[1], missing[0]), self.fill, self.padding_mode)
            height, width = im.size_of(img)
        if height < self.size[0] or width < self.size[1]:
            raise ValueError(
                f"Required crop size {self.size} is larger than input image size {(height, width)}"
            )
        random = random_numbers(None)
        top = int(random.integers(height - self.size[0] + 1))
        left = int(random.integers(width - self.size[1] + 1))
        return im.crop(img, top, left, *self.size)


class RandomResizedCrop(Transform):
    """A random rectangle of random size and form, in a fixed size.

    Args:
        size: height and width of the result, or one number for both.
        scale: range of the rectangle's share of the area.
        ratio: range of its width divided by its height.
        interpolation: how new pixels come from old ones.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Any = InterpolationMode.BILINEAR,
    ) -> None:
        self.size = _pair(size)
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            raise ValueError(f"scale and ratio should be (min, max), got {scale} and {ratio}")
        self.scale = scale
        self.ratio = ratio
        self.interpolation = im.interpolation_mode(interpolation)

    def _apply(self, img: Any) -> Any:
        box = im.area_and_ratio(img, self.scale, self.ratio, random_numbers(None))
        return im.resize(im.crop(img, *box), self.size, self.interpolation)


class FiveCrop(Transform):
    """The four corners and the middle.

    Args:
        size: height and width, or one number for both.
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = _pair(size)

    def _apply(self, img: Any) -> tuple:
        height, width = im.size_of(img)
        h, w = self.size
        if h > height or w > width:
            raise ValueError(
                f"Requested crop size {self.size} is bigger than input size {(height, width)}"
            )
        corners = [(0, 0), (0, width - w), (height - h, 0), (height - h, width - w)]
        corners = [im.crop(img, top, left, h, w) for top, left in corners]
        return (*corners, im.center_crop(img, self.size))


class TenCrop(FiveCrop):
    """The four corners and the middle, and the same of the mirrored image.

    Args:
        size: height and width, or one number for both.
        vertical_flip: mirror upside down instead of left to right.
    """

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__(size)
        self.vertical_flip = vertical_flip

    def _apply(self, img: Any) -> tuple:
        mirrored = im.flip(img, horizontal=not self.vertical_flip)
        return (*super()._apply(img), *super()._apply(mirrored))


# --- mirrors


class RandomHorizontalFlip(Transform):
    """The image mirrored left to right, with a probability.

    Args:
        p: the probability.
    """

    _horizontal = True

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def _apply(self, img: Any) -> Any:
        apply = random_numbers(None).random() < self.p
        return im.flip(img, self._horizontal) if apply else img


class RandomVerticalFlip(RandomHorizontalFlip):
    """The image mirrored upside down, with a probability.

    Args:
        p: the probability.
    """

    _horizontal = False


# Names of earlier versions.
Scale = Resize
RandomSizedCrop = RandomResizedCrop
