"""Every module against PyTorch's: repr, names of its state, results and gradients.

One row per module: how to make it (with either library) and its inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.nn.twins import assert_twins_agree, random_array, twin

X = random_array(3, 4)
IMAGES = random_array(2, 4, 3, 3)
LABELS = np.array([0, 3, 1])
SIGNS = np.array([1.0, -1.0, 1.0])
PROBABILITIES = (X + 1.01) / 2.02


@dataclass(frozen=True)
class Row:
    """A module's name, its arguments, and the arrays it is called with."""

    name: str
    args: tuple
    inputs: tuple[np.ndarray, ...]
    kwargs: dict[str, Any]

    def make(self, library: Any) -> Any:
        """The module of either library."""
        return getattr(library.nn, self.name)(*self.args, **self.kwargs)

    def __str__(self) -> str:
        settings = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwargs.items())]
        return f"{self.name}({', '.join(settings)})"


def row(name: str, *args: Any, inputs: tuple = (X,), **kwargs: Any) -> Row:
    """A row of the table."""
    return Row(name, args, inputs, kwargs)


ACTIVATIONS = [
    *(row(name) for name in ("ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Hardsigmoid", "Hardswish")),
    *(row(name) for name in ("Sigmoid", "Tanh", "LogSigmoid", "Tanhshrink", "Softsign")),
    row("ReLU", inplace=True, inputs=(X,)),
    row("GELU"),
    row("GELU", approximate="tanh"),
    row("ELU", 0.5),
    row("CELU", 0.5),
    row("LeakyReLU", 0.1),
    row("PReLU"),
    row("PReLU", 4, 0.1),
    row("Softplus", 2, 10),
    row("Hardtanh", -0.5, 0.25),
    row("Hardshrink", 0.25),
    row("Softshrink", 0.25),
    row("Threshold", 0.1, -1.0),
    row("GLU", 1),
    row("Softmax", 1),
    row("LogSoftmax", dim=0),
    row("Softmin", 1),
    row("Softmax2d", inputs=(IMAGES,)),
]
LAYERS = [
    row("Identity", 3, key=4),
    row("Linear", 4, 5),
    row("Linear", 4, 5, bias=False),
    row("Bilinear", 4, 4, 2, inputs=(X, X + 1)),
    row("Flatten", inputs=(IMAGES,)),
    row("Flatten", 2, inputs=(IMAGES,)),
    row("Unflatten", 1, (2, 2)),
    row("Embedding", 5, 3, inputs=(LABELS,)),
    row("Embedding", 5, 3, padding_idx=3, max_norm=1.0, inputs=(LABELS,)),
    row("EmbeddingBag", 5, 3, mode="sum", inputs=(LABELS.reshape(1, 3),)),
    row("EmbeddingBag", 5, 3, padding_idx=1, inputs=(LABELS.reshape(1, 3),)),
    row("Unfold", 2, inputs=(IMAGES,)),
    row("Fold", (3, 3), 2, inputs=(IMAGES.reshape(2, 12, 3)[..., [0, 1, 2, 0]],)),
    row("PixelShuffle", 2, inputs=(IMAGES,)),
    row("PixelUnshuffle", 3, inputs=(IMAGES,)),
    row("ChannelShuffle", 2, inputs=(IMAGES,)),
    row("CosineSimilarity", inputs=(X, X[::-1].copy())),
    row("PairwiseDistance", 1.0, keepdim=True, inputs=(X, X[::-1].copy())),
]
VOLUMES = random_array(2, 1, 3, 3, 3)
PADDING = [
    row("ConstantPad1d", (1, 2), 3.5, inputs=(IMAGES[0],)),
    row("ConstantPad2d", 1, 3.5, inputs=(IMAGES,)),
    row("ConstantPad3d", 1, -1.0, inputs=(VOLUMES,)),
    row("ZeroPad1d", 2, inputs=(IMAGES[0],)),
    row("ZeroPad2d", (1, 2, 0, -1), inputs=(IMAGES,)),
    row("ReflectionPad1d", (1, 2), inputs=(IMAGES[0],)),
    row("ReflectionPad2d", (1, 2, 0, 1), inputs=(IMAGES,)),
    row("ReflectionPad3d", 1, inputs=(VOLUMES,)),
    row("ReplicationPad1d", 2, inputs=(IMAGES[0],)),
    row("ReplicationPad2d", 2, inputs=(IMAGES,)),
    row("ReplicationPad3d", (1, 2, 0, 1, 3, 0), inputs=(VOLUMES,)),
    row("CircularPad2d", (1, 2, 0, 1), inputs=(IMAGES,)),
]
SPATIAL = [
    row("Conv1d", 2, 3, 2, inputs=(IMAGES[:, :2, :, 0],)),
    row("Conv2d", 4, 6, 2, 1, 1, groups=2, inputs=(IMAGES,)),
    row("Conv2d", 4, 4, (2, 1), bias=False, padding_mode="circular", inputs=(IMAGES,)),
    row("Conv2d", 4, 3, 3, padding="same", padding_mode="reflect", inputs=(IMAGES,)),
    row("Conv3d", 1, 2, 2, inputs=(VOLUMES,)),
    row("ConvTranspose1d", 2, 3, 2, 2, inputs=(IMAGES[:, :2, :, 0],)),
    row("ConvTranspose2d", 4, 4, 3, 2, 1, 1, groups=2, inputs=(IMAGES,)),
    row("ConvTranspose3d", 1, 2, 2, inputs=(VOLUMES,)),
    row("MaxPool1d", 2, inputs=(IMAGES[0],)),
    row("MaxPool2d", 2, 1, 1, ceil_mode=True, inputs=(IMAGES,)),
    row("MaxPool3d", 2, inputs=(VOLUMES,)),
    row("AvgPool1d", 2, inputs=(IMAGES[0],)),
    row("AvgPool2d", 2, 1, 1, count_include_pad=False, inputs=(IMAGES,)),
    row("AvgPool3d", 2, inputs=(VOLUMES,)),
    row("AdaptiveAvgPool1d", 2, inputs=(IMAGES[0],)),
    row("AdaptiveAvgPool2d", (1, 2), inputs=(IMAGES,)),
    row("AdaptiveAvgPool3d", 2, inputs=(VOLUMES,)),
    row("AdaptiveMaxPool2d", 2, inputs=(IMAGES,)),
    row("LPPool2d", 3, 2, inputs=(np.abs(IMAGES) + 0.5,)),
    row("LPPool3d", 3, 2, inputs=(np.abs(VOLUMES) + 0.5,)),
    row("BatchNorm1d", 4, inputs=(X,)),
    row("BatchNorm2d", 4, momentum=None, inputs=(IMAGES,)),
    row("BatchNorm2d", 4, affine=False, track_running_stats=False, inputs=(IMAGES,)),
    row("BatchNorm3d", 1, 1e-3, 0.2, inputs=(VOLUMES,)),
    row("LayerNorm", 4, inputs=(X,)),
    row("LayerNorm", 4, elementwise_affine=False, inputs=(X,)),
    row("GroupNorm", 2, 4, inputs=(IMAGES,)),
    row("InstanceNorm1d", 4, inputs=(IMAGES[..., 0],)),
    row("InstanceNorm2d", 4, affine=True, track_running_stats=True, inputs=(IMAGES,)),
    row("RMSNorm", 4, 1e-5, inputs=(X,)),
    row("LocalResponseNorm", 2, inputs=(IMAGES,)),
    row("Dropout", 0.0, inputs=(X,)),
]
LOSSES = [
    row("CrossEntropyLoss", label_smoothing=0.1, inputs=(X, LABELS)),
    row("CrossEntropyLoss", ignore_index=3, reduction="sum", inputs=(X, LABELS)),
    row("NLLLoss", inputs=(X, LABELS)),
    row("MSELoss", inputs=(X, X[::-1].copy())),
    row("L1Loss", reduction="none", inputs=(X, X[::-1].copy())),
    row("SmoothL1Loss", beta=0.5, inputs=(X, X[::-1].copy())),
    row("HuberLoss", delta=0.5, inputs=(X, X[::-1].copy())),
    row("SoftMarginLoss", inputs=(X, np.sign(X[::-1]).astype(np.int64))),
    row("BCELoss", inputs=(PROBABILITIES, PROBABILITIES[::-1].copy())),
    row("BCEWithLogitsLoss", inputs=(X, PROBABILITIES)),
    row("KLDivLoss", reduction="batchmean", inputs=(X, PROBABILITIES)),
    row("PoissonNLLLoss", inputs=(X, PROBABILITIES)),
    row("GaussianNLLLoss", inputs=(X, X[::-1].copy(), PROBABILITIES)),
    row("MarginRankingLoss", 0.5, inputs=(X[:, 0], X[:, 1], SIGNS)),
    row("HingeEmbeddingLoss", inputs=(X[:, 0], SIGNS)),
    row("CosineEmbeddingLoss", 0.1, inputs=(X, X[::-1].copy(), SIGNS)),
    row("TripletMarginLoss", swap=True, inputs=(X, X[::-1].copy(), X[[1, 2, 0]])),
    row("TripletMarginWithDistanceLoss", margin=2.0, inputs=(X, X[::-1].copy(), X[[1, 2, 0]])),
    row("MultiMarginLoss", p=2, inputs=(X, LABELS)),
    row("MultiLabelMarginLoss", inputs=(X, np.array([[3, 0, -1, 1], [-1, 0, 1, 2], [2, 1, 0, 3]]))),
    row("MultiLabelSoftMarginLoss", inputs=(X, np.round(PROBABILITIES))),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("module", [*ACTIVATIONS, *LAYERS, *PADDING, *SPATIAL, *LOSSES], ids=str)
def test_module_is_pytorchs(module: Row) -> None:
    mine, theirs = twin(module.make)
    assert repr(mine) == repr(theirs)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    if module.kwargs.get("inplace"):
        # A leaf cannot be written to: the module gets a copy of it.
        make_flow, make_torch = mine.forward, theirs.forward
        mine.forward = lambda x: make_flow(x.clone())
        theirs.forward = lambda x: make_torch(x.clone())
    assert_twins_agree(mine, theirs, module.inputs)
