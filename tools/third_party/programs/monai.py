"""Networks, losses, metrics and transforms of monai."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from monai import data, inferers, losses, metrics, networks, transforms
from tools.third_party.measure import array, arrays, integers, numbers, set_values, step

_2D = {"spatial_dims": 2, "in_channels": 1, "out_channels": 2}
_NETWORKS: dict[str, dict[str, Any]] = {
    "UNet": {**_2D, "channels": (4, 8, 16), "strides": (2, 2), "num_res_units": 1},
    "BasicUNet": {**_2D, "features": (4, 4, 8, 8, 16, 4)},
    "AttentionUnet": {**_2D, "channels": (4, 8), "strides": (2,)},
    "AutoEncoder": {**_2D, "channels": (4, 8), "strides": (2, 2)},
    "SegResNet": {**_2D, "init_filters": 8, "blocks_down": (1, 1), "blocks_up": (1,)},
    "UNETR": {
        **_2D,
        "img_size": 32,
        "feature_size": 4,
        "hidden_size": 24,
        "mlp_dim": 16,
        "num_heads": 2,
    },
    "ViT": {
        "in_channels": 1,
        "img_size": (16, 16),
        "patch_size": (8, 8),
        "hidden_size": 16,
        "mlp_dim": 16,
        "num_layers": 2,
        "num_heads": 2,
        "spatial_dims": 2,
        "classification": True,
        "num_classes": 3,
    },
    "DenseNet": {**_2D, "init_features": 8, "growth_rate": 4, "block_config": (1, 2)},
    "ResNet": {
        "block": "basic",
        "layers": [1, 1, 1, 1],
        "block_inplanes": [4, 4, 8, 8],
        "spatial_dims": 3,
        "n_input_channels": 1,
        "num_classes": 2,
    },
    "DynUNet": {
        **_2D,
        "kernel_size": [3, 3, 3],
        "strides": [1, 2, 2],
        "upsample_kernel_size": [2, 2],
        "filters": [4, 8, 8],
    },
    "HighResNet": {**_2D, "dropout_prob": 0.0},
}
_SIZES = {"ViT": (2, 1, 16, 16), "ResNet": (2, 1, 16, 16, 16)}


def _network(name: str) -> dict[str, Any]:
    module = getattr(networks.nets, name)(**_NETWORKS[name])
    images = numbers(*_SIZES.get(name, (2, 1, 32, 32)))
    return step(module, lambda network: network(images))


_LOSSES: dict[str, Callable[[], Any]] = {
    "DiceLoss": lambda: losses.DiceLoss(softmax=True, to_onehot_y=True),
    "DiceCELoss": lambda: losses.DiceCELoss(softmax=True, to_onehot_y=True),
    "DiceFocalLoss": lambda: losses.DiceFocalLoss(sigmoid=True, to_onehot_y=True),
    "GeneralizedDiceLoss": lambda: losses.GeneralizedDiceLoss(softmax=True, to_onehot_y=True),
    "FocalLoss": lambda: losses.FocalLoss(to_onehot_y=True),
    "TverskyLoss": lambda: losses.TverskyLoss(softmax=True, to_onehot_y=True),
    "HausdorffDTLoss": lambda: losses.HausdorffDTLoss(softmax=True, to_onehot_y=True),
    "SSIMLoss": lambda: losses.SSIMLoss(2),
    "LocalNormalizedCrossCorrelationLoss": lambda: losses.LocalNormalizedCrossCorrelationLoss(2),
    "GlobalMutualInformationLoss": lambda: losses.GlobalMutualInformationLoss(),
}
_OF_IMAGES = ("SSIMLoss", "LocalNormalizedCrossCorrelationLoss", "GlobalMutualInformationLoss")


def _loss(name: str) -> dict[str, Any]:
    dtype = torch.float32
    x = numbers(2, 3, 16, 16, dtype=dtype).requires_grad_()
    of_images = name in _OF_IMAGES
    target = (
        numbers(2, 3, 16, 16, seed=1, dtype=dtype) if of_images else integers(2, 1, 16, 16, below=3)
    )
    value = _LOSSES[name]()(x.sigmoid() if of_images else x, target)
    value.backward()
    return {**arrays([value]), "gradient: x": array(x.grad)}


_METRICS: dict[str, Callable[[], Any]] = {
    "DiceMetric": lambda: metrics.DiceMetric(include_background=False),
    "MeanIoU": lambda: metrics.MeanIoU(),
    "HausdorffDistanceMetric": lambda: metrics.HausdorffDistanceMetric(percentile=95),
    "SurfaceDistanceMetric": lambda: metrics.SurfaceDistanceMetric(),
    "ConfusionMatrixMetric": lambda: metrics.ConfusionMatrixMetric(metric_name="f1 score"),
}


def _metric(name: str) -> dict[str, Any]:
    metric = _METRICS[name]()
    masks = [networks.one_hot(integers(2, 1, 8, 8, below=3, seed=s), 3) for s in (0, 1)]
    steps = arrays([metric(*masks)], "step")
    whole = metric.aggregate()
    return {**steps, **arrays(list(whole) if isinstance(whole, list) else [whole], "whole")}


_TRANSFORMS: dict[str, Callable[[], Any]] = {
    "ScaleIntensity": lambda: transforms.ScaleIntensity(0.0, 1.0),
    "NormalizeIntensity": lambda: transforms.NormalizeIntensity(channel_wise=True),
    "ThresholdIntensity": lambda: transforms.ThresholdIntensity(0.1),
    "AdjustContrast": lambda: transforms.AdjustContrast(1.5),
    "GaussianSmooth": lambda: transforms.GaussianSmooth(1.0),
    "Resize": lambda: transforms.Resize((6, 6), mode="bilinear"),
    "Rotate": lambda: transforms.Rotate(0.3),
    "Rotate90": lambda: transforms.Rotate90(),
    "Flip": lambda: transforms.Flip(0),
    "Zoom": lambda: transforms.Zoom(1.3),
    "SpatialPad": lambda: transforms.SpatialPad((12, 12)),
    "CenterSpatialCrop": lambda: transforms.CenterSpatialCrop((4, 4)),
    "Affine": lambda: transforms.Affine(
        rotate_params=0.2, scale_params=(1.1, 0.9), image_only=True
    ),
    "AsDiscrete": lambda: transforms.AsDiscrete(argmax=True, to_onehot=2),
}


def _transform(name: str) -> dict[str, Any]:
    images = numbers(2, 8, 8, dtype=torch.float32)
    result = _TRANSFORMS[name]()(data.MetaTensor(images))
    return arrays([result.as_tensor()])


def _window() -> dict[str, Any]:
    network = networks.nets.BasicUNet(**_NETWORKS["BasicUNet"])
    set_values(network)
    images = numbers(1, 1, 40, 40, dtype=torch.float32)
    with torch.no_grad():
        result = inferers.sliding_window_inference(
            images, (32, 32), 2, network.eval(), overlap=0.5, mode="gaussian"
        )
    return arrays([result])


def _loader() -> dict[str, Any]:
    steps = transforms.Compose(
        [
            transforms.EnsureChannelFirstd(["image"], channel_dim="no_channel"),
            transforms.ScaleIntensityd(["image"]),
            transforms.Flipd(["image"], 0),
        ]
    )
    samples = [{"image": numbers(8, 8, seed=s, dtype=torch.float32)} for s in range(4)]
    loader = data.DataLoader(data.CacheDataset(samples, steps, progress=False), batch_size=2)
    return arrays([batch["image"].as_tensor() for batch in loader])


CASES = {
    **{name: partial(_network, name) for name in _NETWORKS},
    **{name: partial(_loss, name) for name in _LOSSES},
    **{name: partial(_metric, name) for name in _METRICS},
    **{name: partial(_transform, name) for name in _TRANSFORMS},
    "window": _window,
    "loader": _loader,
}
