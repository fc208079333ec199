"""Gaussian processes of gpytorch and botorch."""

from __future__ import annotations

from functools import partial
from typing import Any

import botorch
import gpytorch
import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from tools.third_party.measure import array, numbers, set_values, step

_KERNELS = {
    "rbf": lambda: gpytorch.kernels.RBFKernel(ard_num_dims=2),
    "matern": lambda: gpytorch.kernels.MaternKernel(nu=2.5),
    "periodic": lambda: gpytorch.kernels.PeriodicKernel(),
    "quadratic": lambda: gpytorch.kernels.RQKernel(),
    "linear": lambda: gpytorch.kernels.LinearKernel() + gpytorch.kernels.RBFKernel(),
}


class _Process(gpytorch.models.ExactGP):
    def __init__(self, kernel: Any, x: Any, y: Any, likelihood: Any) -> None:
        super().__init__(x, y, likelihood)
        self.mean, self.kernel = gpytorch.means.ConstantMean(), gpytorch.kernels.ScaleKernel(kernel)

    def forward(self, x: torch.Tensor) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


def _exact(name: str) -> dict[str, Any]:
    x, y = numbers(8, 2), numbers(8, seed=1)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = _Process(_KERNELS[name](), x, y, likelihood).double()
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)

    def call(module: Any) -> Any:
        module.train()
        return -marginal(module(x), y)

    measured = step(model, call)
    model.eval()
    with torch.no_grad():
        posterior = likelihood(model(numbers(3, 2, seed=2)))
    return {**measured, "mean": array(posterior.mean), "variance": array(posterior.variance)}


class _Variational(gpytorch.models.ApproximateGP):
    def __init__(self) -> None:
        points = numbers(4, 2, seed=3)
        distribution = gpytorch.variational.CholeskyVariationalDistribution(4)
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, distribution))
        self.mean, self.kernel = gpytorch.means.ZeroMean(), gpytorch.kernels.RBFKernel()

    def forward(self, x: torch.Tensor) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


def _variational() -> dict[str, Any]:
    x, y = numbers(8, 2), numbers(8, seed=1)
    model, likelihood = _Variational().double(), gpytorch.likelihoods.GaussianLikelihood().double()
    model.variational_strategy.variational_params_initialized.fill_(1)
    set_values(likelihood)
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=8)
    return step(model, lambda module: -bound(module(x), y), training=True)


def _bayesian(acquisition: Any, **options: Any) -> dict[str, Any]:
    x = numbers(6, 2).sigmoid()
    y = (x * 3).sin().sum(1, keepdim=True)
    model = SingleTaskGP(x, y)
    fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
    value = acquisition(model, **options)
    point = numbers(3, 1, 2, seed=5).sigmoid().requires_grad_()
    values = value(point)
    values.sum().backward()
    return {"values": array(values), "gradient: point": array(point.grad)}


def _sobol() -> dict[str, Any]:
    bounds = torch.tensor([[0.0, 0.0], [1.0, 2.0]], dtype=torch.float64)
    samples = botorch.utils.sampling.draw_sobol_samples(bounds, n=8, q=1, seed=3)
    return {"shape": array(torch.tensor(samples.shape)), "largest": array(samples.amax() <= 2)}


CASES = {
    **{name: partial(_exact, name) for name in _KERNELS},
    "variational": _variational,
    "improvement": partial(_bayesian, LogExpectedImprovement, best_f=0.5),
    "confidence bound": partial(_bayesian, UpperConfidenceBound, beta=0.5),
    "sobol": _sobol,
}
