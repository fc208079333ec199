"""Normalizing flows and distributions of zuko."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import zuko
from tools.third_party.measure import array, arrays, numbers, set_values, step

_FLOWS: dict[str, Callable[[], torch.nn.Module]] = {
    "MAF": lambda: zuko.flows.MAF(3, 2, transforms=2, hidden_features=(8, 8)),
    "NSF": lambda: zuko.flows.NSF(3, 2, transforms=2, bins=4, hidden_features=(8, 8)),
    "NCSF": lambda: zuko.flows.NCSF(3, 2, transforms=2, bins=4, hidden_features=(8, 8)),
    "NICE": lambda: zuko.flows.NICE(3, 2, transforms=2, hidden_features=(8, 8)),
    "RealNVP": lambda: zuko.flows.RealNVP(3, 2, transforms=2, hidden_features=(8, 8)),
    "NAF": lambda: zuko.flows.NAF(3, 2, transforms=2, signal=4, hidden_features=(8,)),
    "UNAF": lambda: zuko.flows.UNAF(3, 2, transforms=1, signal=4, hidden_features=(8,)),
    "SOSPF": lambda: zuko.flows.SOSPF(3, 2, transforms=2, hidden_features=(8, 8)),
    "BPF": lambda: zuko.flows.BPF(3, 2, transforms=2, degree=4, hidden_features=(8, 8)),
    "GF": lambda: zuko.flows.GF(3, 2, transforms=2, components=3, hidden_features=(8, 8)),
    "GMM": lambda: zuko.mixtures.GMM(3, 2, components=3, hidden_features=(8, 8)),
}
_INVERTED = ("MAF", "NSF", "NICE", "RealNVP", "BPF", "GF")


def _flow(name: str) -> dict[str, Any]:
    x, context = numbers(4, 3).tanh().requires_grad_(), numbers(4, 2, seed=1)
    measured = step(_FLOWS[name](), lambda flow: flow(context).log_prob(x))
    return {**measured, "gradient of x": array(x.grad)}


def _inverse(name: str) -> dict[str, Any]:
    flow = _FLOWS[name]()
    set_values(flow)
    transform = flow.double()(numbers(2, seed=1)).transform
    x = numbers(4, 3).tanh()
    y, determinant = transform.call_and_ladj(x)
    return arrays({"y": y, "ladj": determinant, "x": transform.inv(y)})


_DISTRIBUTIONS: dict[str, Callable[[], Any]] = {
    "DiagNormal": lambda: zuko.distributions.DiagNormal(numbers(3), numbers(3, seed=1).exp()),
    "BoxUniform": lambda: zuko.distributions.BoxUniform(numbers(3) - 4, numbers(3) + 4),
    "GeneralizedNormal": lambda: zuko.distributions.GeneralizedNormal(numbers(3).exp()),
    "Mixture": lambda: zuko.distributions.Mixture(
        zuko.distributions.DiagNormal(numbers(2, 3), numbers(2, 3, seed=1).exp()), numbers(2)
    ),
    "Maximum": lambda: zuko.distributions.Maximum(
        torch.distributions.Normal(numbers(3), numbers(3, seed=1).exp()), 3
    ),
    "Minimum": lambda: zuko.distributions.Minimum(
        torch.distributions.Normal(numbers(3), numbers(3, seed=1).exp()), 3
    ),
    "Truncated": lambda: zuko.distributions.Truncated(
        torch.distributions.Normal(numbers(3), numbers(3, seed=1).exp()), -2.0, 2.0
    ),
    "Sort": lambda: zuko.distributions.Sort(
        torch.distributions.Normal(torch.zeros(1).double(), torch.ones(1).double()), 3
    ),
}


def _distribution(name: str) -> dict[str, Any]:
    x = (numbers(5, 3, seed=4) if name != "Sort" else numbers(5, 3, seed=4).sort()[0]).tanh()
    x.requires_grad_()
    probability = _DISTRIBUTIONS[name]().log_prob(x)
    if probability.requires_grad:
        probability.sum().backward()
    gradient = {} if x.grad is None else {"gradient: x": array(x.grad)}
    return {**arrays([probability]), **gradient}


CASES = {
    **{name: partial(_flow, name) for name in _FLOWS},
    **{f"{name} inverted": partial(_inverse, name) for name in _INVERTED},
    **{name: partial(_distribution, name) for name in _DISTRIBUTIONS},
}
