"""Image transforms as functions of one image: a Pillow image, a tensor or an array."""

from oneflow.data.vision.conversion import (
    convert_image_dtype as convert_image_dtype,
    normalize as normalize,
    pil_to_tensor as pil_to_tensor,
    to_pil_image as to_pil_image,
    to_tensor as to_tensor,
)
from oneflow.data.vision.image import (
    center_crop as center_crop,
    crop as crop,
    five_crop as five_crop,
    get_dimensions as get_dimensions,
    get_image_num_channels as get_image_num_channels,
    get_image_size as get_image_size,
    hflip as hflip,
    pad as pad,
    ten_crop as ten_crop,
    vflip as vflip,
)
from oneflow.data.vision.resize import (
    InterpolationMode as InterpolationMode,
    resize as resize,
    resized_crop as resized_crop,
)
