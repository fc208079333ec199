"""Functions on batches of images that readers read."""

# Generated from `base/old_modules.py` by `tools/make_stubs.py` (make stubs).
from oneflow.data.readers.images import (
    batch_align as batch_align,
    crop_mirror_normalize as CropMirrorNormalize,
    crop_mirror_normalize as crop_mirror_normalize,
    decode as decode,
    flip as flip,
    normalize as normalize,
    random_crop as random_crop,
    resize as Resize,
    resize as resize,
    target_resize as target_resize,
)

# fmt: off
__all__ = [
    "CropMirrorNormalize", "Resize", "batch_align", "crop_mirror_normalize", "decode", "flip",
    "normalize", "random_crop", "resize", "target_resize",
]
# fmt: on
