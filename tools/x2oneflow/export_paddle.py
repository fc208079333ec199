"""Export a network of Paddle; runs in the environment of `requirements/x2oneflow/paddle.txt`.

``python export_paddle.py PACKAGE FACTORY SIZE FOLDER`` writes ``model.onnx`` and ``values.npz``: an
input, the output, and the number of parameters.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import scipy.linalg  # noqa: F401  before paddle, whose zlib it would get otherwise

import paddle  # isort: skip

OPSET = 12


def packages_without_their_tools(name: str, *parts: str) -> None:
    """Make a package and the packages in it importable without running their `__init__`."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.submodule_search_locations
    path = Path(spec.submodule_search_locations[0])
    # paddleclas imports itself as `ppcls`.
    full = []
    for part in parts:
        full.append(part)
        module = ModuleType(".".join(full))
        module.__path__ = [str(path.joinpath(*full))]
        sys.modules[module.__name__] = module


def make(package: str, factory: str) -> paddle.nn.Layer:
    """Return a network of a package, with normalisations whose statistics will be one batch's."""
    if package == "paddleclas":
        packages_without_their_tools("paddleclas", "ppcls", "arch")
        source = importlib.import_module("ppcls.arch.backbone")
        importlib.import_module("ppcls.utils.logger").init_logger()
        options = {"class_num": 10}
    else:
        source = importlib.import_module("paddleseg.models")
        options = {"num_classes": 4}
    with paddle.utils.unique_name.guard():
        network = getattr(source, factory)(**options)
    for layer in network.sublayers():
        if hasattr(layer, "_momentum"):
            layer._momentum = 0.0
        if isinstance(layer, paddle.nn.Dropout):
            layer.p = 0.0
    return network


def first(value: object) -> paddle.Tensor:
    """Return the first of several outputs."""
    while isinstance(value, list | tuple):
        value = value[0]
    assert isinstance(value, paddle.Tensor)
    return value


def main(package: str, factory: str, size: int, folder: Path) -> None:
    """Export one network."""
    paddle.seed(0)
    network = make(package, factory)
    with paddle.no_grad():
        network.train()
        network(paddle.rand([4, 3, size, size]))
        network.eval()
        x = paddle.rand([2, 3, size, size])
        y = first(network(x))
    specification = [paddle.static.InputSpec([2, 3, size, size], "float32", "x")]
    paddle.onnx.export(
        network, str(folder / "model"), input_spec=specification, opset_version=OPSET
    )
    # Among its parameters are the statistics of normalisations, which gradients stop at.
    trained = [parameter for parameter in network.parameters() if not parameter.stop_gradient]
    count = sum(int(np.prod(tensor.shape)) for tensor in trained)
    np.savez(folder / "values.npz", input=x.numpy(), output=y.numpy(), parameters=count)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
