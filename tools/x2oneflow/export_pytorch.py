"""Export a network of PyTorch; runs in the environment of `requirements/x2oneflow/pytorch.txt`.

``python export_pytorch.py PACKAGE FACTORY SIZE FOLDER`` writes ``model.onnx`` and ``values.npz``:
an input, the output, and the number of parameters.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

OPSET = 17


def make(package: str, factory: str) -> nn.Module:
    """Return a network of a package, with normalisations whose statistics will be one batch's."""
    if package == "timm":
        network = importlib.import_module("timm").create_model(factory)
    elif package == "pytorchcv":
        network = importlib.import_module("pytorchcv.model_provider").get_model(factory)
    else:
        branches = factory in ("googlenet", "inception_v3")
        options = {"init_weights": False, "aux_logits": False} if branches else {}
        network = getattr(importlib.import_module("torchvision.models"), factory)(**options)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 1.0
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return network


def prepare_torchvision() -> list[torch.library.Library]:
    """Import torchvision, also where its own operators need a library of CUDA."""
    try:
        importlib.import_module("torchvision")
    except RuntimeError:
        for name in [module for module in sys.modules if module.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        # With their schemas declared the package imports; no network here needs them.
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        return [library]
    return []


def main(package: str, factory: str, size: int, folder: Path) -> None:
    """Export one network."""
    torch.manual_seed(0)
    libraries = prepare_torchvision()
    network = make(package, factory)
    with torch.no_grad():
        network.train()(torch.rand(4, 3, size, size))
        x = torch.rand(2, 3, size, size)
        y = network.eval()(x)
    torch.onnx.export(
        network,
        (x,),
        str(folder / "model.onnx"),
        opset_version=OPSET,
        training=torch.onnx.TrainingMode.PRESERVE,
        do_constant_folding=False,
        dynamo=False,
    )
    count = sum(parameter.numel() for parameter in network.parameters())
    np.savez(folder / "values.npz", input=x.numpy(), output=y.numpy(), parameters=count)
    libraries.clear()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
