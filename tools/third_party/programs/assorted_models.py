"""Models and losses of smaller libraries: segmentation, normalizing flows, tables, metrics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import geomloss
import lpips
import nflows.distributions
import nflows.flows
import nflows.transforms
import normflows
import numpy as np
import pytorch_metric_learning.losses as metric_losses
import pytorch_metric_learning.miners as metric_miners
import pytorch_msssim
import segment_anything.modeling as segment_anything
import segmentation_models_pytorch as segmentation
import torch
import torchcde
from efficientnet_pytorch import EfficientNet
from pytorch_tabnet.tab_network import TabNet
from tools.third_party.measure import array, integers, numbers, step

_SIZE = 64


def _segmentation(name: str) -> dict[str, np.ndarray]:
    model = getattr(segmentation, name)(
        "resnet18",
        encoder_weights=None,
        in_channels=3,
        classes=2,
        decoder_channels=(16, 8, 8, 4, 4),
    )
    loss = segmentation.losses.DiceLoss("multiclass")
    labels = integers(2, _SIZE, _SIZE, below=2)
    return step(model, lambda m: loss(m(numbers(2, 3, _SIZE, _SIZE)), labels))


def _segmentation_loss(name: str, options: dict[str, Any]) -> dict[str, np.ndarray]:
    model = torch.nn.Conv2d(3, 2, 3, padding=1)
    loss = getattr(segmentation.losses, name)(**options)
    labels = integers(2, 8, 8, below=2)
    # Some make numbers of their own in float32.
    images = numbers(2, 3, 8, 8, dtype=torch.float32)
    return step(model, lambda m: loss(m(images), labels), dtype=torch.float32)


def _segment_anything() -> dict[str, np.ndarray]:
    model = segment_anything.ImageEncoderViT(
        img_size=_SIZE,
        patch_size=16,
        embed_dim=16,
        depth=2,
        num_heads=2,
        out_chans=8,
        use_rel_pos=True,
        window_size=2,
        global_attn_indexes=(1,),
    )
    return step(model, lambda m: m(numbers(1, 3, _SIZE, _SIZE)))


def _prompts() -> dict[str, np.ndarray]:
    model = torch.nn.ModuleDict(
        {
            "prompts": segment_anything.PromptEncoder(16, (4, 4), (_SIZE, _SIZE), 4),
            "masks": segment_anything.MaskDecoder(
                transformer_dim=16,
                transformer=segment_anything.TwoWayTransformer(2, 16, 2, 32),
            ),
        }
    )

    def call(model: Any) -> Any:
        points = (numbers(1, 2, 2, dtype=torch.float32).abs() * 9, integers(1, 2, below=2))
        sparse, dense = model["prompts"](points, None, None)
        images = numbers(1, 16, 4, 4, dtype=torch.float32)
        return model["masks"](images, model["prompts"].get_dense_pe(), sparse, dense, True)

    return step(model, call, dtype=torch.float32)


def _flow(kinds: list[Callable[[], Any]]) -> dict[str, np.ndarray]:
    transform = nflows.transforms.CompositeTransform([kind() for kind in kinds])
    model = nflows.flows.Flow(transform, nflows.distributions.StandardNormal([4]))
    return step(model, lambda m: -m.log_prob(numbers(6, 4)).mean())


_FLOWS: dict[str, list[Callable[[], Any]]] = {
    "affine": [
        partial(nflows.transforms.ReversePermutation, 4),
        partial(nflows.transforms.MaskedAffineAutoregressiveTransform, 4, 8),
    ],
    "spline": [
        partial(
            nflows.transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform,
            features=4,
            hidden_features=8,
            tails="linear",
            tail_bound=3.0,
        )
    ],
    "linear": [partial(nflows.transforms.LULinear, 4), partial(nflows.transforms.BatchNorm, 4)],
}


def _normalizing_flow(name: str) -> dict[str, np.ndarray]:
    layers: list[Any] = []
    for _ in range(2):
        if name == "coupling":
            layers.append(
                normflows.flows.AffineCouplingBlock(normflows.nets.MLP([1, 8, 2], init_zeros=False))
            )
            layers.append(normflows.flows.Permute(2, mode="swap"))
        elif name == "planar":
            layers.append(normflows.flows.Planar((2,)))
        else:
            layers.append(normflows.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8))
            layers.append(normflows.flows.LULinearPermute(2))
    model = normflows.NormalizingFlow(normflows.distributions.DiagGaussian(2), layers)
    if name == "planar":
        return step(model, lambda m: [flow(numbers(5, 2)) for flow in m.flows])
    return step(model, lambda m: m.forward_kld(numbers(5, 2)))


def _metric_loss(name: str) -> dict[str, np.ndarray]:
    classes, size = 3, 4
    options = {} if name not in _WITH_WEIGHTS else {"num_classes": classes, "embedding_size": size}
    model = torch.nn.ModuleDict(
        {"net": torch.nn.Linear(5, size), "loss": getattr(metric_losses, name)(**options)}
    )
    labels = torch.tensor([0, 0, 1, 1, 2, 2])
    miner = metric_miners.MultiSimilarityMiner() if name == "MultiSimilarityLoss" else None

    def call(model: Any) -> Any:
        embedded = model["net"](numbers(6, 5))
        chosen = () if miner is None else (miner(embedded, labels),)
        return model["loss"](embedded, labels, *chosen)

    return step(model, call)


_WITH_WEIGHTS = ("ArcFaceLoss", "CosFaceLoss", "ProxyAnchorLoss", "ProxyNCALoss", "SoftTripleLoss")
_METRIC_LOSSES = (
    *_WITH_WEIGHTS,
    "CircleLoss",
    "ContrastiveLoss",
    "LiftedStructureLoss",
    "MultiSimilarityLoss",
    "NTXentLoss",
    "SupConLoss",
    "TripletMarginLoss",
)


def _optimal_transport(kind: str) -> dict[str, np.ndarray]:
    model = torch.nn.Linear(3, 2)
    loss = geomloss.SamplesLoss(kind, p=2, blur=0.1, backend="tensorized")
    return step(model, lambda m: loss(m(numbers(6, 3)), numbers(5, 2, seed=1)))


def _perceptual() -> dict[str, np.ndarray]:
    model = lpips.LPIPS(pretrained=False, net="alex", pnet_rand=True, lpips=True, verbose=False)
    images = [numbers(1, 3, _SIZE, _SIZE, seed=seed).tanh() for seed in range(2)]
    measured = step(model, lambda m: m(*images))
    # Its weights would be tens of megabytes.
    return {name: value for name, value in measured.items() if value.size < 10_000}


def _similarity(name: str) -> dict[str, np.ndarray]:
    images = [numbers(1, 2, 180, 180, seed=seed).sigmoid() for seed in range(2)]
    images[0].requires_grad_()
    found = getattr(pytorch_msssim, name)(*images, data_range=1.0)
    found.backward()
    return {"value": array(found), "gradient: image": array(images[0].grad)}


def _tables() -> dict[str, np.ndarray]:
    groups = torch.eye(6, dtype=torch.float64)
    model = TabNet(6, 3, 4, 4, 2, cat_idxs=[0], cat_dims=[3], group_attention_matrix=groups)
    rows = torch.cat([integers(8, 1, below=3).double(), numbers(8, 5)], 1)
    return step(model, lambda m: m(rows), training=True)


class _Field(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3 * 2)

    def forward(self, t: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        """Return the matrix that a change of the path is multiplied by."""
        return self.layer(z).tanh().view(*z.shape, 2)


def _controlled_differential_equation() -> dict[str, np.ndarray]:
    rows = numbers(2, 5, 2)
    coefficients = torchcde.hermite_cubic_coefficients_with_backward_differences(rows)
    path = torchcde.CubicSpline(coefficients)
    return step(
        _Field(),
        lambda m: torchcde.cdeint(
            X=path,
            func=m,
            z0=numbers(2, 3),
            t=path.interval,
            method="rk4",
            adjoint=False,
            options={"step_size": 0.5},
        ),
    )


def _efficientnet() -> dict[str, np.ndarray]:
    model = EfficientNet.from_name("efficientnet-b0", num_classes=3, image_size=32)
    return step(model, lambda m: m.extract_endpoints(numbers(1, 3, 32, 32))["reduction_2"])


_LOSS_OPTIONS: dict[str, dict[str, Any]] = {
    "JaccardLoss": {"mode": "multiclass"},
    "FocalLoss": {"mode": "multiclass"},
    "LovaszLoss": {"mode": "multiclass"},
    "TverskyLoss": {"mode": "multiclass", "alpha": 0.3, "beta": 0.7},
    "SoftCrossEntropyLoss": {"smooth_factor": 0.1},
}
CASES: dict[str, Callable[[], dict[str, np.ndarray]]] = {
    "segmentation Unet": partial(_segmentation, "Unet"),
    **{f"segmentation {n}": partial(_segmentation_loss, n, o) for n, o in _LOSS_OPTIONS.items()},
    "segment_anything images": _segment_anything,
    "segment_anything prompts": _prompts,
    **{f"nflows {name}": partial(_flow, kinds) for name, kinds in _FLOWS.items()},
    **{f"normflows {n}": partial(_normalizing_flow, n) for n in ("coupling", "planar", "spline")},
    **{f"metric {name}": partial(_metric_loss, name) for name in _METRIC_LOSSES},
    **{
        f"geomloss {kind}": partial(_optimal_transport, kind)
        for kind in ("sinkhorn", "gaussian", "laplacian", "energy")
    },
    "lpips": _perceptual,
    **{f"msssim {name}": partial(_similarity, name) for name in ("ssim", "ms_ssim")},
    "tabnet": _tables,
    "torchcde": _controlled_differential_equation,
    "efficientnet": _efficientnet,
}
