"""Pillow's modules, imported when they are used: whoever works on tensors alone needs none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneflow.base.extras import DeferredModule

if TYPE_CHECKING:
    from PIL import (
        Image as Image,
        ImageColor as ImageColor,
        ImageDraw as ImageDraw,
        ImageEnhance as ImageEnhance,
        ImageFilter as ImageFilter,
        ImageFont as ImageFont,
        ImageOps as ImageOps,
    )
else:

    def _deferred(name: str) -> DeferredModule:
        return DeferredModule(f"PIL.{name}", "vision", "an image")

    Image = _deferred("Image")
    ImageColor = _deferred("ImageColor")
    ImageDraw = _deferred("ImageDraw")
    ImageEnhance = _deferred("ImageEnhance")
    ImageFilter = _deferred("ImageFilter")
    ImageFont = _deferred("ImageFont")
    ImageOps = _deferred("ImageOps")
