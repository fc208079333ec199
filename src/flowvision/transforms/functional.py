"""Transforms as functions of one image: a Pillow image or a tensor ``[..., C, H, W]``.

Colors and geometry follow torchvision's: on Pillow images by Pillow, on tensors by operators, so
that tensors on any device and batches of them are transformed, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import oneflow as flow
from flowvision.transforms import functional_pil, functional_tensor
from flowvision.transforms.warping import inverse_affine_matrix, perspective_coefficients
from oneflow.data.vision.image import is_pil_image, pil_fill
from oneflow.data.vision.resize import interpolation_mode, pil_resampling
from oneflow.utils.vision.transforms.functional import (
    InterpolationMode as InterpolationMode,
    center_crop as center_crop,
    convert_image_dtype as convert_image_dtype,
    crop as crop,
    five_crop as five_crop,
    get_dimensions as get_dimensions,
    get_image_num_channels as get_image_num_channels,
    get_image_size as get_image_size,
    hflip as hflip,
    normalize as normalize,
    pad as pad,
    pil_to_tensor as pil_to_tensor,
    resize as resize,
    resized_crop as resized_crop,
    ten_crop as ten_crop,
    to_pil_image as to_pil_image,
    to_tensor as to_tensor,
    vflip as vflip,
)

# Names of earlier versions, which programs call.
_get_image_size, _is_pil_image = get_image_size, is_pil_image


def _implementation(img: Any) -> Any:
    """Return the module with the transforms of images of this kind.

    Raises:
        TypeError: it is neither a Pillow image nor a tensor image.
    """
    if is_pil_image(img):
        return functional_pil
    if isinstance(img, flow.Tensor) and img.ndim >= 2:
        return functional_tensor
    raise TypeError(f"img should be PIL Image or Tensor image. Got {type(img).__name__}")


def str_to_interp_mode(mode_str: str) -> InterpolationMode:
    """Return the interpolation mode with a name, such as ``"bicubic"``.

    Example:
        >>> from flowvision.transforms import functional
        >>> functional.str_to_interp_mode("bicubic")
        <InterpolationMode.BICUBIC: 'bicubic'>
    """
    return InterpolationMode(mode_str)


def str_to_pil_interp(mode_str: str) -> Any:
    """Return Pillow's constant of the interpolation mode with a name.

    Example:
        >>> from flowvision.transforms import functional
        >>> functional.str_to_pil_interp("bicubic").name
        'BICUBIC'
    """
    return pil_resampling(InterpolationMode(mode_str))


def scale(*args: Any, **kwargs: Any) -> Any:
    """Resize an image: an earlier name; see `flowvision.transforms.functional.resize`."""
    warnings.warn("transforms.functional.scale is now resize", DeprecationWarning, stacklevel=2)
    return resize(*args, **kwargs)


# --- colors


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Return the image between black (0) and itself (1), or brighter (2 is twice as bright).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> functional.adjust_brightness(flow.full((1, 1, 2), 0.25), 2.0).tolist()
        [[[0.5, 0.5]]]
    """
    return _implementation(img).adjust_brightness(img, brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Return the image between its mean gray (0) and itself (1), or with more contrast.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> functional.adjust_contrast(flow.tensor([[[0.0, 0.5]]]), 0.0)
        tensor([[[0.2500, 0.2500]]], dtype=oneflow.float32)
    """
    return _implementation(img).adjust_contrast(img, contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """Return the image between its grays (0) and itself (1), or with stronger colors.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> red = flow.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1)
        >>> functional.adjust_saturation(red, 0.0).reshape(-1)
        tensor([0.2989, 0.2989, 0.2989], dtype=oneflow.float32)
    """
    return _implementation(img).adjust_saturation(img, saturation_factor)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Return the image with its hues turned.

    Args:
        img: the image; without colors it stays as it is.
        hue_factor: part of a full turn, from -0.5 to 0.5; both ends give the complementary colors.

    Raises:
        ValueError: the factor is outside of this range.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> red = flow.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1)
        >>> functional.adjust_hue(red, 1 / 3).reshape(-1)
        tensor([0., 1., 0.], dtype=oneflow.float32)
    """
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    return _implementation(img).adjust_hue(img, hue_factor)


def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    """Return ``gain * img ** gamma`` of numbers in [0, 1]; above 1 dark regions become darker.

    Raises:
        ValueError: `gamma` is negative.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> functional.adjust_gamma(flow.tensor([[[0.5]]]), gamma=2)
        tensor([[[0.2500]]], dtype=oneflow.float32)
    """
    return _implementation(img).adjust_gamma(img, gamma, gain)


def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    """Return the image between a blurred one (0) and itself (1), or a sharpened one (2).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> functional.adjust_sharpness(flow.ones(1, 3, 3), 2.0).shape
        oneflow.Size([1, 3, 3])
    """
    return _implementation(img).adjust_sharpness(img, sharpness_factor)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Return the brightness of each pixel, in one channel or in three equal ones.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> image = flow.tensor([200, 100, 0], dtype=flow.uint8).reshape(3, 1, 1)
        >>> functional.rgb_to_grayscale(image)
        tensor([[[118]]], dtype=oneflow.uint8)
    """
    if is_pil_image(img):
        return functional_pil.to_grayscale(img, num_output_channels)
    return _implementation(img).rgb_to_grayscale(img, num_output_channels)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Return the brightness of each pixel of a Pillow image.

    Raises:
        TypeError: it is not a Pillow image.

    Example:
        >>> from PIL import Image
        >>> from flowvision.transforms import functional
        >>> functional.to_grayscale(Image.new("RGB", (2, 1), "red")).mode
        'L'
    """
    if not is_pil_image(img):
        raise TypeError(f"Input should be PIL Image, got {type(img).__name__}")
    return functional_pil.to_grayscale(img, num_output_channels)


def invert(img: Any) -> Any:
    """Return the negative: white becomes black.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> functional.invert(flow.tensor([[[0, 100, 200]]], dtype=flow.uint8))
        tensor([[[255, 155,  55]]], dtype=oneflow.uint8)
    """
    return _implementation(img).invert(img)


def posterize(img: Any, bits: int) -> Any:
    """Return an image of bytes with only the first `bits` (0 to 8) of the bits per channel.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> functional.posterize(flow.tensor([[[255, 100]]], dtype=flow.uint8), 2).tolist()
        [[[192, 64]]]
    """
    if not 0 <= bits <= 8:
        raise ValueError(f"The number of bits should be between 0 and 8. Got {bits}")
    return _implementation(img).posterize(img, bits)


def solarize(img: Any, threshold: float) -> Any:
    """Return the image with all numbers from `threshold` on inverted.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> functional.solarize(flow.tensor([[[0, 100, 200]]], dtype=flow.uint8), 150)
        tensor([[[  0, 100,  55]]], dtype=oneflow.uint8)
    """
    return _implementation(img).solarize(img, threshold)


def autocontrast(img: Any) -> Any:
    """Return each channel stretched so that its darkest pixel is black and its brightest white.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> functional.autocontrast(flow.tensor([[[0, 100, 200]]], dtype=flow.uint8))
        tensor([[[  0, 127, 255]]], dtype=oneflow.uint8)
    """
    return _implementation(img).autocontrast(img)


def equalize(img: Any) -> Any:
    """Return an image of bytes whose channels have histograms as even as can be.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> functional.equalize(flow.zeros(3, 4, 4, dtype=flow.uint8)).shape
        oneflow.Size([3, 4, 4])
    """
    return _implementation(img).equalize(img)


# --- filters, and parts of the image


def gaussian_blur(
    img: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Any:
    """Return the image blurred by a Gaussian; beyond its border it goes on as in a mirror.

    Args:
        img: the image.
        kernel_size: width and height of the Gaussian in pixels, odd, or one number for both.
        sigma: its standard deviation along both, or one number; by default ``0.15 * size + 0.35``.

    Raises:
        ValueError: an even kernel, or a deviation that is not positive.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> functional.gaussian_blur(flow.ones(1, 4, 4), kernel_size=3).shape
        oneflow.Size([1, 4, 4])
    """
    sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    if len(sizes) != 2 or any(size <= 0 or size % 2 == 0 for size in sizes):
        raise ValueError(f"kernel_size should have odd and positive integers. Got {kernel_size}")
    if sigma is None:
        sigma = [0.15 * size + 0.35 for size in sizes]
    sigma_xy = [sigma] * 2 if isinstance(sigma, int | float) else list(sigma)
    sigma_xy = sigma_xy * 2 if len(sigma_xy) == 1 else sigma_xy
    if len(sigma_xy) != 2 or any(number <= 0 for number in sigma_xy):
        raise ValueError(f"sigma should have positive values. Got {sigma}")
    return _on_tensor(img, functional_tensor.gaussian_blur, sizes, sigma_xy)


def _on_tensor(img: Any, function: Any, *args: Any) -> Any:
    """Return what a function of tensors makes of an image of either kind."""
    if _implementation(img) is functional_tensor:
        return function(img, *args)
    return to_pil_image(function(pil_to_tensor(img), *args), img.mode)


def erase(
    img: flow.Tensor, i: int, j: int, h: int, w: int, v: flow.Tensor | float, inplace: bool = False
) -> flow.Tensor:
    """Return a tensor image with a rectangle overwritten.

    Args:
        img: the image.
        i: the rectangle's first row.
        j: the rectangle's first column.
        h: its height.
        w: its width.
        v: what to write, of a shape that fits ``[..., C, h, w]``.
        inplace: change the image itself.

    Raises:
        TypeError: it is not a tensor.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> functional.erase(flow.ones(1, 2, 2), i=0, j=0, h=1, w=2, v=0.0)
        tensor([[[0., 0.],
                 [1., 1.]]], dtype=oneflow.float32)
    """
    if not isinstance(img, flow.Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(img).__name__}")
    changed = img if inplace else img.clone()
    changed[..., i : i + h, j : j + w] = v
    return changed


# --- geometry


def affine(
    img: Any,
    angle: float,
    translate: Sequence[int],
    scale: float,
    shear: float | Sequence[float],
    interpolation: Any = InterpolationMode.NEAREST,
    fill: Any = None,
    center: Sequence[float] | None = None,
) -> Any:
    """Return the image turned, moved, scaled and sheared around a point.

    Args:
        img: the image.
        angle: degrees, clockwise.
        translate: pixels to the right and downwards.
        scale: factor of lengths, positive.
        shear: degrees along x, or along x and y.
        interpolation: how new pixels come from old ones.
        fill: what comes from outside of the image: a number or one per channel.
        center: the fixed point (x, y), by default the middle.

    Raises:
        ValueError: not two translations or shears, or a scale that is not positive.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> image = flow.tensor([[[1, 2, 3]]])
        >>> functional.affine(image, angle=0, translate=[1, 0], scale=1.0, shear=0.0)
        tensor([[[0, 1, 2]]], dtype=oneflow.int64)
    """
    if len(translate) != 2:
        raise ValueError(f"translate should be a sequence of length 2, got {translate!r}")
    if scale <= 0.0:
        raise ValueError(f"Argument scale should be positive, got {scale}")
    angles = [shear, 0.0] if isinstance(shear, int | float) else list(shear)
    angles = angles * 2 if len(angles) == 1 else angles
    if len(angles) != 2:
        raise ValueError(f"Shear should be a sequence containing two values. Got {shear}")
    mode = interpolation_mode(interpolation)
    width, height = get_image_size(img)
    if _implementation(img) is functional_pil:
        center = (width * 0.5, height * 0.5) if center is None else center
        matrix = inverse_affine_matrix(center, angle, translate, scale, angles)
        return functional_pil.affine(img, matrix, mode, fill)
    middle = _from_middle(center, width, height)
    matrix = inverse_affine_matrix(middle, angle, translate, scale, angles)
    return functional_tensor.affine(img, matrix, mode.value, fill)


def _from_middle(center: Sequence[float] | None, width: int, height: int) -> list[float]:
    if center is None:
        return [0.0, 0.0]
    return [center[0] - width * 0.5, center[1] - height * 0.5]


def rotate(
    img: Any,
    angle: float,
    interpolation: Any = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: Any = None,
    resample: Any = None,
) -> Any:
    """Return the turned image.

    Args:
        img: the image.
        angle: degrees, counterclockwise.
        interpolation: how new pixels come from old ones.
        expand: make the result large enough for all of the image.
        center: the fixed point (x, y), by default the middle; not used with `expand`.
        fill: what comes from outside of the image: a number or one per channel.
        resample: earlier name of `interpolation`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> functional.rotate(flow.tensor([[[1, 2], [3, 4]]]), 90)
        tensor([[[2, 4],
                 [1, 3]]], dtype=oneflow.int64)
    """
    mode = interpolation_mode(interpolation if resample is None else resample)
    if _implementation(img) is functional_pil:
        return functional_pil.rotate(img, angle, mode, expand, center, fill)
    middle = _from_middle(center, *get_image_size(img))
    matrix = inverse_affine_matrix(middle, -angle, (0.0, 0.0), 1.0, (0.0, 0.0))
    return functional_tensor.rotate(img, matrix, mode.value, expand, fill)


def perspective(
    img: Any,
    startpoints: Sequence[Sequence[int]],
    endpoints: Sequence[Sequence[int]],
    interpolation: Any = InterpolationMode.BILINEAR,
    fill: Any = None,
) -> Any:
    """Return the image seen from another side.

    Args:
        img: the image.
        startpoints: four corners (x, y) in the image.
        endpoints: where they are in the result.
        interpolation: how new pixels come from old ones.
        fill: what comes from outside of the image: a number or one per channel.

    Raises:
        ValueError: there are not four of each.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> corners = [[0, 0], [3, 0], [3, 3], [0, 3]]
        >>> functional.perspective(flow.ones(1, 4, 4), corners, corners).shape
        oneflow.Size([1, 4, 4])
    """
    mode = interpolation_mode(interpolation)
    numbers = perspective_coefficients(startpoints, endpoints)
    if _implementation(img) is functional_pil:
        return functional_pil.perspective(img, numbers, mode, fill)
    return functional_tensor.perspective(img, numbers, mode.value, fill)


def elastic_transform(
    img: Any,
    displacement: flow.Tensor,
    interpolation: Any = InterpolationMode.BILINEAR,
    fill: Any = None,
) -> Any:
    """Return the image with each pixel displaced.

    Args:
        img: the image.
        displacement: ``[1, H, W, 2]``: how far each pixel looks to the right and downwards, as a
            part of half the width and height.
        interpolation: how new pixels come from old ones.
        fill: what comes from outside of the image: a number or one per channel.

    Raises:
        ValueError: a displacement of another shape.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import functional
        >>> functional.elastic_transform(flow.ones(1, 4, 4), flow.zeros(1, 4, 4, 2)).shape
        oneflow.Size([1, 4, 4])
    """
    _, height, width = get_dimensions(img)
    if tuple(displacement.shape) != (1, height, width, 2):
        raise ValueError(
            f"displacement should have the shape {(1, height, width, 2)}, "
            f"got {tuple(displacement.shape)}"
        )
    if is_pil_image(img) and fill is not None:
        fill = pil_fill(img, fill)
    mode = interpolation_mode(interpolation).value
    return _on_tensor(img, functional_tensor.elastic_transform, displacement, mode, fill)
