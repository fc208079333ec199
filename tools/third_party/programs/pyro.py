"""Inference of pyro, where it draws no numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyro
import pyro.distributions as dist
import pyro.optim
import torch
from pyro.contrib.gp import kernels, models
from pyro.infer import SVI, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.infer.autoguide import AutoDelta
from pyro.infer.mcmc.util import initialize_model
from pyro.nn import PyroModule, PyroParam, PyroSample
from tools.third_party.measure import array, arrays, integers, numbers, set_values

_DATA = {"x": numbers(12, 3), "y": numbers(12, seed=1)}


def _regression(x: torch.Tensor, y: torch.Tensor | None = None) -> torch.Tensor:
    weights = pyro.sample("weights", dist.Normal(x.new_zeros(3), 1.0).to_event(1))
    scale = pyro.sample("scale", dist.LogNormal(x.new_zeros(()), 1.0))
    with pyro.plate("data", x.shape[0]):
        return pyro.sample("y", dist.Normal(x @ weights, scale), obs=y)


@config_enumerate
def _mixture(x: torch.Tensor) -> None:
    weights = pyro.param("weights", x.new_tensor([0.3, 0.7]), dist.constraints.simplex)
    locations = pyro.param("locations", x.new_tensor([-1.0, 1.0]))
    with pyro.plate("data", x.shape[0]):
        chosen = pyro.sample("chosen", dist.Categorical(weights))
        pyro.sample("x", dist.Normal(locations[chosen], 1.0), obs=x)


@config_enumerate
def _chain(x: torch.Tensor) -> None:
    steps = pyro.param("steps", x.new_tensor([[0.8, 0.2], [0.3, 0.7]]), dist.constraints.simplex)
    locations = pyro.param("locations", x.new_tensor([-1.0, 1.0]))
    state: Any = 0
    for place in pyro.markov(range(5)):
        state = pyro.sample(f"state {place}", dist.Categorical(steps[state]))
        pyro.sample(f"x {place}", dist.Normal(locations[state], 1.0), obs=x[place])


def _inferred(model: Callable, guide: Any, loss: Any, *data: torch.Tensor) -> dict[str, Any]:
    inference = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), loss)
    losses = [inference.step(*data) for _ in range(4)]
    found = {name: array(value) for name, value in pyro.get_param_store().items()}
    return {"losses": array(torch.tensor(losses, dtype=torch.float64)), **found}


def _clear() -> None:
    pyro.clear_param_store()
    torch.set_default_dtype(torch.float64)


def _point() -> dict[str, Any]:
    _clear()
    start = {"weights": numbers(3, seed=3), "scale": numbers(seed=4).exp()}
    guide = AutoDelta(_regression, init_loc_fn=lambda site: start[site["name"]])
    return _inferred(_regression, guide, Trace_ELBO(), *_DATA.values())


def _enumerated(model: Callable) -> dict[str, Any]:
    _clear()
    loss = TraceEnum_ELBO(max_plate_nesting=1)
    return _inferred(model, lambda x: None, loss, _DATA["y"])


def _potential() -> dict[str, Any]:
    _clear()
    start = {"weights": numbers(3, seed=3), "scale": numbers(seed=4)}
    _, potential, _, _ = initialize_model(
        _regression, tuple(_DATA.values()), initial_params=dict(start)
    )
    values = {name: value.clone().requires_grad_() for name, value in start.items()}
    energy = potential(values)
    energy.backward()
    return {"energy": array(energy), **{n: array(v.grad) for n, v in values.items()}}


def _traced() -> dict[str, Any]:
    _clear()
    values = {"weights": numbers(3, seed=3), "scale": numbers(seed=4).exp()}
    conditioned = pyro.condition(_regression, data=values)
    trace = pyro.poutine.trace(conditioned).get_trace(*_DATA.values())
    trace.compute_log_prob()
    return {
        "whole": array(trace.log_prob_sum()),
        **{n: array(s["log_prob"]) for n, s in trace.nodes.items() if "log_prob" in s},
    }


class _Network(PyroModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = PyroModule[torch.nn.Linear](3, 2)
        self.layer.weight = PyroSample(dist.Normal(0.0, 1.0).expand([2, 3]).to_event(2))
        self.factor = PyroParam(torch.tensor(2.0), dist.constraints.positive)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) * self.factor


def _module() -> dict[str, Any]:
    _clear()
    network = _Network()
    set_values(network)
    conditioned = pyro.condition(network, data={"layer.weight": numbers(2, 3)})
    output = conditioned(_DATA["x"])
    output.cos().sum().backward()
    gradients = {n: array(p.grad) for n, p in network.named_parameters()}
    return {**arrays([output]), **gradients}


_DISTRIBUTIONS: dict[str, Callable[[], Any]] = {
    "Delta": lambda: dist.Delta(numbers(3)),
    "BetaBinomial": lambda: dist.BetaBinomial(numbers(3).exp(), numbers(3).exp(), 5.0),
    "ZeroInflatedPoisson": lambda: dist.ZeroInflatedPoisson(
        numbers(3).exp(), gate=numbers(3).sigmoid()
    ),
    "Dirichlet": lambda: dist.Dirichlet(numbers(3).exp()),
    "MaskedMixture": lambda: dist.MaskedMixture(
        torch.tensor([True, False, True]), dist.Normal(numbers(3), 1.0), dist.Normal(0.0, 2.0)
    ),
    "ProjectedNormal": lambda: dist.ProjectedNormal(numbers(3)),
    "VonMises3D": lambda: dist.VonMises3D(numbers(3)),
    "SkewLogistic": lambda: dist.SkewLogistic(0.1, 1.0, 0.7),
    "Stable": lambda: dist.Stable(1.5, 0.2, 1.0, 0.1).expand([3]),
    "AsymmetricLaplace": lambda: dist.AsymmetricLaplace(numbers(3), 1.0, 0.7),
    "expanded": lambda: dist.Normal(numbers(3), 1.0).expand([2, 3]).to_event(1).mask(True),
}


def _distribution(name: str) -> dict[str, Any]:
    _clear()
    distribution = _DISTRIBUTIONS[name]()
    values = {
        "Delta": numbers(3),
        "BetaBinomial": integers(3, below=5).double(),
        "ZeroInflatedPoisson": integers(3, below=3).double(),
        "Dirichlet": numbers(3, seed=2).softmax(0),
        "ProjectedNormal": torch.nn.functional.normalize(numbers(3, seed=2), dim=0),
        "VonMises3D": torch.nn.functional.normalize(numbers(3, seed=2), dim=0),
    }
    x = values.get(name, numbers(3, seed=2)).requires_grad_()
    probability = distribution.log_prob(x)
    if probability.requires_grad:
        probability.sum().backward()
    return arrays([probability, *([] if x.grad is None else [x.grad])])


def _process() -> dict[str, Any]:
    _clear()
    kernel = kernels.RBF(3, torch.tensor(1.5), torch.tensor(0.7))
    process = models.GPRegression(*_DATA.values(), kernel, noise=torch.tensor(0.2))
    mean, variance = process(numbers(4, 3, seed=7), full_cov=True)
    return arrays([mean, variance])


CASES = {
    "point": _point,
    "mixture": partial(_enumerated, _mixture),
    "chain": partial(_enumerated, _chain),
    "potential": _potential,
    "traced": _traced,
    "module": _module,
    "process": _process,
    **{name: partial(_distribution, name) for name in _DISTRIBUTIONS},
}
