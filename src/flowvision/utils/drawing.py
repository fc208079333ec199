"""Boxes and masks drawn into images."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import oneflow as flow
from oneflow.data.vision.pillow import Image, ImageColor, ImageDraw, ImageFont
from oneflow.utils.vision.transforms.functional import pil_to_tensor, to_pil_image

Color = str | tuple[int, int, int]
Colors = Color | Sequence[Color] | None
# The share of its colour in the inside of a box, of 255.
_ALPHA = 100


def draw_bounding_boxes(
    image: flow.Tensor,
    boxes: flow.Tensor,
    labels: Sequence[str] | None = None,
    colors: Colors = None,
    fill: bool = False,
    width: int = 1,
    font: str | Path | None = None,
    font_size: int | None = None,
) -> flow.Tensor:
    """Return an image with boxes.

    Args:
        image: ``[C, H, W]`` with one or three channels, uint8, or floating point numbers in [0, 1].
        boxes: ``[N, 4]`` of (x1, y1, x2, y2) in pixels.
        labels: a text for each box.
        colors: one for all or one for each box: a name, or red, green and blue; by default colours
            that differ.
        fill: colour the inside, too, lightly.
        width: pixels of a line.
        font: a TrueType file for the texts, by default Pillow's own.
        font_size: its size, by default 10.

    Returns:
        ``[3, H, W]``, in the dtype of `image`.

    Raises:
        TypeError: `image` is no tensor.
        ValueError: other shapes or dtypes, too few labels or colours, or a corner (x2, y2) before
            (x1, y1).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.utils import draw_bounding_boxes
        >>> image = flow.zeros(3, 4, 5, dtype=flow.uint8)
        >>> draw_bounding_boxes(image, flow.tensor([[1, 1, 3, 2]]), colors="red")[0].tolist()
        [[0, 0, 0, 0, 0], [0, 255, 255, 255, 0], [0, 255, 255, 255, 0], [0, 0, 0, 0, 0]]
    """
    _check_image(image)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"`boxes` must have shape [N, 4], got {list(boxes.shape)}")
    corners = boxes.tolist()
    if not all(x1 <= x2 and y1 <= y2 for x1, y1, x2, y2 in corners):
        raise ValueError("`boxes` must have x1 <= x2 and y1 <= y2, without NaN")
    if labels is not None and len(labels) != len(corners):
        raise ValueError(f"there are {len(corners)} boxes, but {len(labels)} labels")
    pil_image = _as_pil_image(image)
    draw = ImageDraw.Draw(pil_image, "RGBA" if fill else "RGB")
    text_font = _font(font, font_size)
    colors_of_boxes = _colors(colors, len(corners))
    for index, (box, color) in enumerate(zip(corners, colors_of_boxes, strict=True)):
        draw.rectangle(box, (*color, _ALPHA) if fill else None, color, width)
        if labels is not None:
            corner = (box[0] + width + 1, box[1] + width + 1)
            draw.text(corner, labels[index], color, text_font)
    return _as_tensor(pil_image, image)


def draw_segmentation_masks(
    image: flow.Tensor, masks: flow.Tensor, alpha: float = 0.8, colors: Colors = None
) -> flow.Tensor:
    """Return an image with coloured masks.

    Args:
        image: ``[C, H, W]`` with one or three channels, uint8, or floating point numbers in [0, 1].
        masks: bool ``[N, H, W]`` or ``[H, W]``; pixels of several are black, as in torchvision.
        alpha: how much of a pixel is the colour, in [0, 1].
        colors: see `draw_bounding_boxes`.

    Returns:
        ``[3, H, W]``, in the dtype of `image`.

    Raises:
        TypeError: `image` is no tensor.
        ValueError: other shapes or dtypes, or too few colours.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.utils import draw_segmentation_masks
        >>> image = flow.full((3, 1, 2), 100, dtype=flow.uint8)
        >>> mask = flow.tensor([[True, False]])
        >>> draw_segmentation_masks(image, mask, alpha=0.5, colors=(200, 0, 0)).tolist()
        [[[150, 100]], [[50, 100]], [[50, 100]]]
    """
    _check_image(image)
    layers = masks.unsqueeze(0) if masks.ndim == 2 else masks
    if layers.dtype != flow.bool or layers.shape[1:] != image.shape[1:]:
        raise ValueError(
            f"`masks` must be bool with the height and width of the image, "
            f"{list(image.shape[1:])}, got {layers.dtype} {list(layers.shape)}"
        )
    max_value = 255 if image.dtype == flow.uint8 else 1
    plain = image.expand(3, -1, -1).float()
    if not len(layers):
        return plain.to(image.dtype)
    result = plain
    for layer, color in zip(layers, _colors(colors, len(layers)), strict=True):
        fill_color = flow.tensor(color, dtype=flow.float32, device=image.device) * (max_value / 255)
        result = flow.where(layer, fill_color.reshape(3, 1, 1), result)
    result = flow.where(layers.sum(0) > 1, 0.0, result)
    return (plain * (1 - alpha) + result * alpha).to(image.dtype)


def _check_image(image: Any) -> None:
    if not isinstance(image, flow.Tensor):
        raise TypeError(f"`image` must be a tensor, got {type(image).__name__}")
    if image.ndim != 3 or image.shape[0] not in (1, 3):
        raise ValueError(f"`image` must have shape [1 or 3, H, W], got {list(image.shape)}")
    if image.dtype != flow.uint8 and not image.dtype.is_floating_point:
        raise ValueError(f"`image` must be uint8 or floating point, got {image.dtype}")


def _colors(colors: Colors, count: int) -> list[tuple[int, int, int]]:
    """Return red, green and blue for each of `count` things."""
    if colors is None:
        # Hues that are far apart however many there are: steps of the golden section.
        return [_from_hue(index * 0.618 % 1) for index in range(count)]
    color_list = [colors] * count if isinstance(colors, str | tuple) else list(colors)
    if len(color_list) < count:
        raise ValueError(f"there are {count} things to draw, but {len(color_list)} colors")
    return [_numbers(color) for color in color_list[:count]]


def _numbers(color: Any) -> tuple[int, int, int]:
    red, green, blue, *_ = ImageColor.getrgb(color) if isinstance(color, str) else color
    return red, green, blue


def _from_hue(hue: float) -> tuple[int, int, int]:
    red, green, blue = colorsys.hsv_to_rgb(hue, 1, 1)
    return round(red * 255), round(green * 255), round(blue * 255)


def _font(font: str | Path | None, size: int | None) -> Any:
    if font is None:
        return ImageFont.load_default(size or 10)
    return ImageFont.truetype(str(font), size or 10)


def _as_pil_image(image: flow.Tensor) -> Image.Image:
    rgb = image if image.dtype == flow.uint8 else (image * 255).clamp(0, 255).to(flow.uint8)
    return to_pil_image(rgb).convert("RGB")


def _as_tensor(pil_image: Image.Image, image: flow.Tensor) -> flow.Tensor:
    result = pil_to_tensor(pil_image).to(image.device)
    return result if image.dtype == flow.uint8 else result.to(image.dtype) / 255
