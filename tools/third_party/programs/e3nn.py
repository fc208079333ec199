"""Equivariant layers and functions of e3nn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import e3nn.nn
import torch
from e3nn import o3
from e3nn.math import soft_one_hot_linspace, soft_unit_step
from tools.third_party.measure import array, arrays, numbers, step

_IRREPS = "4x0e + 2x1o + 1x2e"
_MODULES: dict[str, tuple[Callable[[], torch.nn.Module], tuple[str, ...]]] = {
    "Linear": (lambda: o3.Linear(_IRREPS, "3x0e + 2x1o"), (_IRREPS,)),
    "Linear with biases": (lambda: o3.Linear(_IRREPS, "3x0e + 2x1o", biases=True), (_IRREPS,)),
    "FullyConnectedTensorProduct": (
        lambda: o3.FullyConnectedTensorProduct(_IRREPS, "1x0e + 1x1o", "3x0e + 2x1o + 1x2e"),
        (_IRREPS, "1x0e + 1x1o"),
    ),
    "FullTensorProduct": (lambda: o3.FullTensorProduct("2x1o", "1x1o"), ("2x1o", "1x1o")),
    "ElementwiseTensorProduct": (
        lambda: o3.ElementwiseTensorProduct("2x0e + 2x1o", "2x1o + 2x0e"),
        ("2x0e + 2x1o", "2x1o + 2x0e"),
    ),
    "TensorSquare": (lambda: o3.TensorSquare("2x0e + 1x1o", "3x0e + 1x1o"), ("2x0e + 1x1o",)),
    "Norm": (lambda: o3.Norm(_IRREPS), (_IRREPS,)),
    "BatchNorm": (lambda: e3nn.nn.BatchNorm(_IRREPS), (_IRREPS,)),
    "Gate": (
        lambda: e3nn.nn.Gate("3x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o"),
        ("5x0e + 2x1o",),
    ),
    "NormActivation": (
        lambda: e3nn.nn.NormActivation(o3.Irreps(_IRREPS), torch.sigmoid, bias=True),
        (_IRREPS,),
    ),
    "Activation": (
        lambda: e3nn.nn.Activation("4x0e + 2x0o", [torch.relu, torch.tanh]),
        ("4x0e + 2x0o",),
    ),
    "Extract": (lambda: e3nn.nn.Extract(_IRREPS, ["2x1o"], [(1,)]), (_IRREPS,)),
    "FullyConnectedNet": (
        lambda: e3nn.nn.FullyConnectedNet([5, 8, 3], torch.nn.functional.silu),
        ("5x0e",),
    ),
    "S2Activation": (lambda: e3nn.nn.S2Activation("1x0e + 1x1o", torch.tanh, 6), ("1x0e + 1x1o",)),
}


def _module(name: str, *, training: bool) -> dict[str, Any]:
    make, irreps = _MODULES[name]
    inputs = [
        numbers(5, o3.Irreps(member).dim, seed=seed).requires_grad_()
        for seed, member in enumerate(irreps)
    ]
    measured = step(make(), lambda module: module(*inputs), training=training)
    gradients = arrays([member.grad for member in inputs], "gradient of inputs")
    return {**measured, **gradients}


class _Convolution(torch.nn.Module):
    """Messages along edges, as in e3nn's documentation."""

    def __init__(self) -> None:
        super().__init__()
        harmonics = o3.Irreps.spherical_harmonics(2)
        self.harmonics = harmonics
        self.product = o3.FullyConnectedTensorProduct(
            "2x0e", harmonics, "2x0e + 1x1o", shared_weights=False
        )
        self.weights = e3nn.nn.FullyConnectedNet([4, 8, self.product.weight_numel], torch.relu)

    def forward(self, features: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        source, target = torch.tensor([0, 1, 2, 3, 0]), torch.tensor([1, 2, 3, 0, 2])
        vectors = positions[target] - positions[source]
        directions = o3.spherical_harmonics(self.harmonics, vectors, True, "component")
        lengths = soft_one_hot_linspace(vectors.norm(dim=1), 0.0, 3.0, 4, "smooth_finite", True)
        messages = self.product(features[source], directions, self.weights(lengths))
        return torch.zeros(4, messages.shape[1], dtype=messages.dtype).index_add(
            0, target, messages
        )


def _convolution() -> dict[str, Any]:
    features, positions = numbers(4, 2).requires_grad_(), numbers(4, 3, seed=1).requires_grad_()
    measured = step(_Convolution(), lambda module: module(features, positions))
    return {**measured, **arrays([features.grad, positions.grad], "gradient of inputs")}


def _functions() -> dict[str, Any]:
    angles = [numbers(4, seed=seed) for seed in range(3)]
    rotation = o3.angles_to_matrix(*angles)
    x = numbers(4, 3, seed=5).requires_grad_()
    harmonics = o3.spherical_harmonics([0, 1, 2, 3], x, True)
    harmonics.cos().sum().backward()
    return arrays(
        {
            "wigner_D": o3.wigner_D(2, *angles),
            "wigner_3j": o3.wigner_3j(1, 2, 1).double(),
            "matrix": rotation,
            "angles": o3.matrix_to_angles(rotation),
            "axis": o3.matrix_to_axis_angle(rotation)[0],
            "quaternion": o3.matrix_to_quaternion(rotation),
            "representation": o3.Irreps(_IRREPS).D_from_matrix(rotation),
            "harmonics": harmonics,
            "step": soft_unit_step(numbers(6)),
        }
    ) | {"gradient: x": array(x.grad)}


CASES = {
    **{name: partial(_module, name, training=False) for name in _MODULES},
    "BatchNorm training": partial(_module, "BatchNorm", training=True),
    "convolution": _convolution,
    "functions": _functions,
}
