"""The facts that the models are held against, and their twins in torchvision and timm."""

from __future__ import annotations

import csv
import functools
import gzip
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

import oneflow as flow

_DATA = Path(__file__).parent / "data"

# torchvision's and timm's CPU builds for this PyTorch lack the library with these operators; with
# their schemas declared the packages import, and only the operators themselves do not run.
_LIBRARY = torch.library.Library("torchvision", "FRAGMENT")
for _schema in ("nms", "qnms"):
    if not hasattr(torch.ops.torchvision, _schema):
        _LIBRARY.define(f"{_schema}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


@functools.cache
def model_facts() -> dict[str, dict[str, str]]:
    """Return the row of each model by name: see the header of `data/models.tsv`."""
    with (_DATA / "models.tsv").open() as file:
        return {row["name"]: row for row in csv.DictReader(file, delimiter="\t")}


@functools.cache
def state_dict_shapes() -> dict[str, dict[str, list[int]]]:
    """Return the names and shapes in the state dict of each model."""
    with gzip.open(_DATA / "state_dicts.jsonl.gz", "rt") as file:
        rows = map(json.loads, file)
        return {row["name"]: row["state_dict"] for row in rows}


def twin(name: str, **options: Any) -> torch.nn.Module:
    """Return the model of torchvision or timm with the same parameter names as `name`."""
    row = model_facts()[name]
    if row["torchvision"]:
        import torchvision

        if name in ("googlenet", "inception_v3"):
            options = {"init_weights": False, **options}  # SciPy's draws take half a minute
        return torchvision.models.get_model(row["torchvision"], weights=None, **options)
    import timm

    timm_name, _, classes = row["timm"].removesuffix(")").partition("(num_classes=")
    if classes:
        options["num_classes"] = int(classes)
    return timm.create_model(timm_name, **options)


def timm_module(name: str) -> ModuleType:
    """Return a module of timm, such as "models.xcit"."""
    return importlib.import_module(f"timm.{name}")


def calibrate(model: torch.nn.Module, images: torch.Tensor) -> None:
    """Give `model` weights with which its output depends on its input.

    Fresh networks often say nothing: heads that begin at zero, layer scales of 1e-6, running
    statistics that are not those of the data. Constant parameters are redrawn, and one pass with
    normalizations in training mode sets the running statistics.
    """
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.numel() and (parameter == parameter.flatten()[0]).all():
                centre = 1.0 if parameter.flatten()[0] == 1 else 0.0
                noise = torch.randn(parameter.shape, generator=generator)
                parameter.copy_(centre + 0.1 * noise)
    norms = [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    before = [norm.momentum for norm in norms]
    model.eval()
    for norm in norms:
        norm.momentum = 1.0
        norm.train()
    with torch.no_grad():
        model(images)
    for norm, momentum in zip(norms, before, strict=True):
        norm.momentum = momentum
    model.eval()


def load_from_torch(
    model: flow.nn.Module, source: torch.nn.Module, rename: Callable[[str], str] = str
) -> None:
    """Copy the state of `source` into `model`.

    Args:
        model: ours; buffers that `source` does not keep stay as they are.
        source: whose shapes are ours, up to dimensions of size 1.
        rename: maps a name in `source` to ours.
    """
    state = model.state_dict()
    parameters = {name for name, _ in model.named_parameters()}
    for name, value in source.state_dict().items():
        shape = tuple(state[rename(name)].shape)
        state[rename(name)] = flow.tensor(value.numpy().reshape(shape))
        parameters.discard(rename(name))
    assert not parameters, parameters
    model.load_state_dict(state)


# In single precision the rounding errors of deep networks grow as large as what a wrong model
# would differ by; only models too large for it are not compared in double precision.
_MOST_PARAMETERS_IN_DOUBLE_PRECISION = 150_000_000


def assert_same_up_to_spread(
    actual: Any, expected: torch.Tensor, tolerance: float, least_spread: float = 0.0
) -> None:
    """Assert that the difference is at most `tolerance` times the spread of what is expected."""
    wanted = expected.detach().numpy()
    spread = max(wanted.std(), least_spread)
    assert spread > 0
    error = np.abs(actual.detach().numpy().reshape(wanted.shape) - wanted).max()
    assert error <= tolerance * spread, f"error {error:.2e} at a spread of {spread:.2e}"


def assert_equal_to_twin(
    model: flow.nn.Module,
    reference: torch.nn.Module,
    images: torch.Tensor,
    rename: Callable[[str], str] = str,
) -> None:
    """Assert that both give the same logits and the same gradients with the same weights.

    Args:
        model: ours; it gets the weights of `reference`.
        reference: the twin.
        images: of shape (N, 3, H, W), N at least 2.
        rename: maps the name of a parameter of the twin to ours.
    """
    calibrate(reference, images)
    count = sum(parameter.numel() for parameter in reference.parameters())
    double = count <= _MOST_PARAMETERS_IN_DOUBLE_PRECISION
    if double:
        reference, images, model = reference.double(), images.double(), model.double()
    load_from_torch(model, reference, rename)
    model.eval()
    expected = reference(images)
    difference = (expected[0] - expected[1]).abs().max()
    assert difference > 1e-2 * expected.std(), "the twin ignores its input"
    actual = model(flow.tensor(images.numpy()))
    if isinstance(actual, tuple | list):  # upstream's GoogLeNet and Inception give (logits, None)
        actual = actual[0]
    assert_same_up_to_spread(actual, expected, 1e-8 if double else 1e-4)
    expected.square().mean().backward()
    for parameter in reference.parameters():
        parameter.data = parameter.new_empty(0)  # its gradient is all that is still needed
    actual.square().mean().backward()
    assert_same_gradients(model, reference, 1e-6 if double else 2e-3, rename)


def assert_same_gradients(
    model: flow.nn.Module,
    reference: torch.nn.Module,
    tolerance: float,
    rename: Callable[[str], str] = str,
) -> None:
    """Assert that the gradients differ by at most `tolerance` times their spread.

    Args:
        model: ours.
        reference: the twin.
        tolerance: see `assert_same_up_to_spread`.
        rename: maps the name of a parameter of the twin to ours.
    """
    ours = dict(model.named_parameters())
    wanted = {rename(name): parameter.grad for name, parameter in reference.named_parameters()}
    # Gradients that are zero in exact arithmetic, such as that of a bias before a normalisation,
    # have a spread of rounding errors.
    typical = np.median([feature.std() for feature in wanted.values() if feature is not None])
    for name, gradient in wanted.items():
        if gradient is not None:
            assert ours[name].grad is not None, name
            assert_same_up_to_spread(ours[name].grad, gradient, tolerance, 0.01 * typical)
