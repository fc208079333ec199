"""Operations on images of kornia."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import kornia
import torch
from tools.third_party.measure import array, arrays, numbers


def _points() -> torch.Tensor:
    return torch.tensor([[[0.0, 0.0], [7.0, 0.0], [7.0, 7.0], [0.0, 7.0]]], dtype=torch.float64)


_MATRIX = [[[1.0, 0.1, 0.5], [-0.1, 0.9, 0.2], [0.001, 0.0, 1.0]]]
_FUNCTIONS: dict[str, Callable[[torch.Tensor], Any]] = {
    "rgb_to_hsv": kornia.color.rgb_to_hsv,
    "rgb_to_lab": kornia.color.rgb_to_lab,
    "rgb_to_ycbcr": kornia.color.rgb_to_ycbcr,
    "rgb_to_grayscale": kornia.color.rgb_to_grayscale,
    "gaussian_blur2d": lambda x: kornia.filters.gaussian_blur2d(x, (3, 3), (1.5, 1.5)),
    "median_blur": lambda x: kornia.filters.median_blur(x, (3, 3)),
    "bilateral_blur": lambda x: kornia.filters.bilateral_blur(x, (3, 3), 0.1, (1.5, 1.5)),
    "sobel": kornia.filters.sobel,
    "laplacian": lambda x: kornia.filters.laplacian(x, 3),
    "canny": lambda x: kornia.filters.canny(x)[0],
    "spatial_gradient": kornia.filters.spatial_gradient,
    "unsharp_mask": lambda x: kornia.filters.unsharp_mask(x, (3, 3), (1.5, 1.5)),
    "rotate": lambda x: kornia.geometry.rotate(x, torch.tensor([30.0, 10.0], dtype=x.dtype)),
    "resize": lambda x: kornia.geometry.resize(x, (5, 6)),
    "warp_perspective": lambda x: kornia.geometry.warp_perspective(
        x, torch.tensor(_MATRIX * 2, dtype=x.dtype), (8, 8)
    ),
    "warp_affine": lambda x: kornia.geometry.warp_affine(
        x, torch.tensor(_MATRIX * 2, dtype=x.dtype)[:, :2], (8, 8)
    ),
    "pyrdown": kornia.geometry.pyrdown,
    "elastic_transform2d": lambda x: kornia.geometry.elastic_transform2d(
        x, numbers(2, 2, 8, 8), (3, 3)
    ),
    "dilation": lambda x: kornia.morphology.dilation(x, torch.ones(3, 3, dtype=x.dtype)),
    "erosion": lambda x: kornia.morphology.erosion(x, torch.ones(3, 3, dtype=x.dtype)),
    "equalize": lambda x: kornia.enhance.equalize_clahe(x.float(), grid_size=(2, 2)),
    "adjust_hue": lambda x: kornia.enhance.adjust_hue(x, 0.3),
    "normalize": lambda x: kornia.enhance.normalize(
        x, torch.tensor([0.5] * 3, dtype=x.dtype), torch.tensor([0.2] * 3, dtype=x.dtype)
    ),
    "histogram": lambda x: kornia.enhance.image_histogram2d(x, n_bins=4)[0],
    "harris_response": lambda x: kornia.feature.harris_response(x[:, :1]),
    "sift_descriptor": lambda x: kornia.feature.SIFTDescriptor(8).to(x.dtype)(x[:, :1]),
    "ssim_loss": lambda x: kornia.losses.ssim_loss(x, x * 0.5, 3),
    "dice_loss": lambda x: kornia.losses.dice_loss(x, (x[:, 0] * 3).long()),
    "focal_loss": lambda x: kornia.losses.focal_loss(x, (x[:, 0] * 3).long(), 0.5),
    "total_variation": kornia.losses.total_variation,
}


def _function(name: str) -> dict[str, Any]:
    images = numbers(2, 3, 8, 8).sigmoid().requires_grad_()
    result = _FUNCTIONS[name](images)
    measured = arrays([result])
    if result.requires_grad:
        result.double().cos().sum().backward()
        measured["gradient: images"] = array(images.grad)
    return measured


def _homography() -> dict[str, Any]:
    target = _points() + numbers(1, 4, 2) * 0.1
    found = kornia.geometry.get_perspective_transform(_points(), target)
    linear = kornia.geometry.find_homography_dlt(_points(), target)
    return {"perspective": array(found), "linear": array(linear / linear[:, 2:, 2:])}


def _rotations() -> dict[str, Any]:
    vectors = numbers(3, 3)
    quaternions = kornia.geometry.axis_angle_to_quaternion(vectors)
    matrices = kornia.geometry.axis_angle_to_rotation_matrix(vectors)
    return {
        "quaternions": array(quaternions),
        "matrices": array(matrices),
        "back": array(kornia.geometry.rotation_matrix_to_axis_angle(matrices)),
    }


def _augmentation() -> dict[str, Any]:
    steps = kornia.augmentation.AugmentationSequential(
        kornia.augmentation.RandomHorizontalFlip(p=1.0),
        kornia.augmentation.CenterCrop((6, 6), p=1.0),
        kornia.augmentation.Normalize(torch.zeros(3), torch.ones(3) * 0.5, p=1.0),
        data_keys=["input", "mask"],
    )
    images = numbers(2, 3, 8, 8, dtype=torch.float32)
    return arrays(list(steps(images, images[:, :1])))


CASES = {
    **{name: partial(_function, name) for name in _FUNCTIONS},
    "homography": _homography,
    "rotations": _rotations,
    "augmentation": _augmentation,
}
