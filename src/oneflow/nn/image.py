"""Modules that decode, resize and normalise images."""

from oneflow.nn.modules.image import (
    ImageBatchAlign as batch_align,
    ImageDecode as decode,
    ImageFlip as flip,
    ImageNormalize as normalize,
    ImageResize as Resize,
)

__all__ = ["Resize", "batch_align", "decode", "flip", "normalize"]
