"""Transforms: modules that change one image; random ones draw from the default generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.base.dtype import DType
from oneflow.data.randomness import random_numbers
from oneflow.data.vision import conversion, image as im
from oneflow.data.vision.resize import (
    InterpolationMode,
    interpolation_mode,
    resize,
)
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


class ImageTransform(Module):
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
        return f"{type(self).__name__}({self.extra_repr()})"

    def extra_repr(self) -> str:
        """Return the options that the repr shows; all attributes unless a class names its own."""
        return self.options_repr(
            *(name for name in self.__dict__ if not name.startswith("_") and name != "training")
        )

    def options_repr(self, *names: str) -> str:
        """Return the attributes of these names with their values."""
        values = {name: getattr(self, name) for name in names}
        return ", ".join(
            f"{name}={value.value if isinstance(value, InterpolationMode) else value}"
            for name, value in values.items()
        )


# --- several transforms


class Compose(ImageTransform):
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

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
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

    Example:
        >>> from oneflow.utils.vision import transforms
        >>> issubclass(transforms.RandomOrder, transforms.RandomTransforms)
        True
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
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

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> flip = transforms.RandomApply([transforms.RandomHorizontalFlip(p=1.0)], p=1.0)
        >>> flip(flow.tensor([[[1, 2]]]))
        tensor([[[2, 1]]], dtype=oneflow.int64)
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]], p: float = 0.5) -> None:
        super().__init__(transforms)
        self.p = p

    def forward(self, img: Any) -> Any:
        return Compose.forward(self, img) if random_numbers().random() < self.p else img

    def __repr__(self) -> str:
        return super().__repr__().replace("(", f"(\n    p={self.p}", 1)


class RandomOrder(RandomTransforms):
    """All transforms in random order.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> flip = transforms.RandomHorizontalFlip(p=1.0)
        >>> both = transforms.RandomOrder([flip, flip])
        >>> both(flow.tensor([[[1, 2]]]))
        tensor([[[1, 2]]], dtype=oneflow.int64)
    """

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

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> choice = transforms.RandomChoice([transforms.RandomHorizontalFlip(p=1.0)])
        >>> choice(flow.tensor([[[1, 2]]]))
        tensor([[[2, 1]]], dtype=oneflow.int64)
    """

    def __init__(
        self, transforms: Sequence[Callable[..., Any]], p: Sequence[float] | None = None
    ) -> None:
        super().__init__(transforms)
        if p is not None and len(p) != len(transforms):
            raise ValueError(f"p must have {len(transforms)} numbers, got {len(p)}")
        self.p = p

    def forward(self, img: Any) -> Any:
        weights = None if self.p is None else np.divide(self.p, sum(self.p))
        return self.transforms[int(random_numbers().choice(len(self.transforms), p=weights))](img)

    def __repr__(self) -> str:
        return f"{super().__repr__()}(p={self.p})"


class Lambda(ImageTransform):
    """A function as a transform.

    Args:
        lambd: the function.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> transforms.Lambda(lambda image: image / 2)(flow.ones(1, 1, 2))
        tensor([[[0.5000, 0.5000]]], dtype=oneflow.float32)
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        super().__init__()
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__}")
        self.lambd = lambd

    def forward(self, img: Any) -> Any:
        return self.lambd(img)

    def extra_repr(self) -> str:
        return ""


# --- between images and tensors


class ToTensor(ImageTransform):
    """A Pillow image or an array ``[H, W, C]`` as a tensor ``[C, H, W]``.

    Bytes become numbers in [0, 1].

    Example:
        >>> from oneflow.utils.vision import transforms
        >>> from PIL import Image
        >>> transforms.ToTensor()(Image.new("L", (2, 1), 255))
        tensor([[[1., 1.]]], dtype=oneflow.float32)
    """

    def forward(self, img: Any) -> Tensor:
        return conversion.to_tensor(img)


class PILToTensor(ImageTransform):
    """A Pillow image as a tensor ``[C, H, W]``, with its numbers as they are.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> from PIL import Image
        >>> transforms.PILToTensor()(Image.new("RGB", (4, 2), "red")).shape
        oneflow.Size([3, 2, 4])
    """

    def forward(self, img: Any) -> Tensor:
        return conversion.pil_to_tensor(img)


class ToPILImage(ImageTransform):
    """A tensor ``[C, H, W]`` or an array ``[H, W, C]`` as a Pillow image.

    Args:
        mode: Pillow's color mode, default one that fits.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> transforms.ToPILImage()(flow.zeros(3, 2, 4)).size
        (4, 2)
    """

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def forward(self, img: Any) -> Any:
        return conversion.to_pil_image(img, self.mode)

    def extra_repr(self) -> str:
        return "" if self.mode is None else super().extra_repr()


class ConvertImageDtype(ImageTransform):
    """A tensor image in another dtype, with its numbers scaled.

    Args:
        dtype: the dtype.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> image = flow.tensor([[[0, 255]]], dtype=flow.uint8)
        >>> transforms.ConvertImageDtype(flow.float32)(image)
        tensor([[[0., 1.]]], dtype=oneflow.float32)
    """

    def __init__(self, dtype: DType) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, image: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return conversion.convert_image_dtype(image, self.dtype)

    def extra_repr(self) -> str:
        return ""


class Normalize(ImageTransform):
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

    def forward(self, tensor: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return conversion.normalize(tensor, self.mean, self.std, self.inplace)

    def extra_repr(self) -> str:
        return self.options_repr("mean", "std")


# --- sizes


class Resize(ImageTransform):
    """The image in another size.

    Args:
        size: height and width; one number is the length of the shorter side.
        interpolation: how new pixels come from old ones.
        max_size: limit of the longer side where `size` is one number.
        antialias: of a tensor, whether a pixel averages over all old ones it stands for.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> transforms.Resize((2, 6))(flow.ones(3, 8, 8)).shape
        oneflow.Size([3, 2, 6])
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


class Pad(ImageTransform):
    """The image with a border.

    Args:
        padding: the padding of all sides; of left/right and top/bottom; or of left, top, right,
            bottom.
        fill: value of a constant border.
        padding_mode: ``"constant"``, ``"edge"``, ``"reflect"`` or ``"symmetric"``.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> transforms.Pad(1, fill=9)(flow.zeros(1, 1, 2))
        tensor([[[9., 9., 9., 9.],
                 [9., 0., 0., 9.],
                 [9., 9., 9., 9.]]], dtype=oneflow.float32)
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


class CenterCrop(ImageTransform):
    """The middle of the image.

    Args:
        size: height and width, or one number for both.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> image = flow.arange(12).reshape(1, 3, 4)
        >>> transforms.CenterCrop(2)(image)
        tensor([[[1, 2],
                 [5, 6]]], dtype=oneflow.int64)
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = im.pair(size)

    def forward(self, img: Any) -> Any:
        return im.center_crop(img, self.size)


class FiveCrop(ImageTransform):
    """The four corners and the middle.

    Args:
        size: height and width, or one number for both.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> image = flow.arange(12).reshape(1, 3, 4)
        >>> [part.shape[-2:] for part in transforms.FiveCrop(2)(image)][0]
        oneflow.Size([2, 2])
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = im.pair(size)

    def forward(self, img: Any) -> tuple[Any, ...]:
        return im.five_crop(img, self.size)


class TenCrop(FiveCrop):
    """The four corners and the middle, and the same of the mirrored image.

    Args:
        size: height and width, or one number for both.
        vertical_flip: mirror upside down instead of left to right.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> image = flow.arange(12).reshape(1, 3, 4)
        >>> len(transforms.TenCrop(2)(image))
        10
    """

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__(size)
        self.vertical_flip = vertical_flip

    def forward(self, img: Any) -> tuple[Any, ...]:
        return im.ten_crop(img, self.size, self.vertical_flip)


# Name of earlier versions.
Scale = Resize
