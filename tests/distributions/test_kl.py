"""Kullback-Leibler divergences against PyTorch, over all pairs of classes it has formulas for."""

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.distributions.cases import assert_close, tensors

# Pairs of arguments of each class: of the first and of the second distribution.
ARGUMENTS = {
    "Normal": {"loc": [0.5, -1.0], "scale": [1.0, 0.3]},
    "HalfNormal": {"scale": [0.4, 2.5]},
    "LogNormal": {"loc": [0.5, -1.0], "scale": [1.0, 0.3]},
    "InverseGamma": {"concentration": [3.0, 0.5], "rate": [1.0, 2.0]},
    "Uniform": {"low": [0.1, -1.0], "high": [0.8, 2.0]},
    "Bernoulli": {"probs": [0.4, 0.9]},
    "Binomial": {"total_count": [5.0, 5.0], "probs": [0.4, 0.9]},
    "ContinuousBernoulli": {"probs": [0.4, 0.9]},
    "Geometric": {"probs": [0.4, 0.9]},
    "Categorical": {"probs": [[0.4, 0.3, 0.3], [0.5, 0.0, 0.5]]},
    "OneHotCategorical": {"probs": [[0.4, 0.3, 0.3], [0.5, 0.2, 0.3]]},
    "Poisson": {"rate": [3.0, 0.5]},
    "Exponential": {"rate": [3.0, 0.5]},
    "Cauchy": {"loc": [0.5, -1.0], "scale": [1.0, 0.3]},
    "Gumbel": {"loc": [0.5, -1.0], "scale": [1.0, 2.3]},
    "Laplace": {"loc": [0.0, 1.0], "scale": [2.0, 1.0]},
    "Pareto": {"scale": [0.05, 0.3], "alpha": [2.0, 3.0]},
    "Gamma": {"concentration": [3.0, 0.5], "rate": [1.0, 2.0]},
    "Chi2": {"df": [3.0, 0.5]},
    "Beta": {"concentration1": [3.0, 0.5], "concentration0": [1.0, 2.0]},
    "Dirichlet": {"concentration": [[3.0, 0.5, 1.0], [1.0, 1.0, 2.0]]},
    "MultivariateNormal": {
        "loc": [[0.0, 1.0], [1.0, 1.0]],
        "covariance_matrix": [[[1.0, 0.2], [0.2, 3.0]], [[1.0, 0.0], [0.0, 2.0]]],
    },
    "LowRankMultivariateNormal": {
        "loc": [[0.0, 1.0], [1.0, 1.0]],
        "cov_factor": [[[1.0], [0.2]], [[0.5], [2.0]]],
        "cov_diag": [[1.0, 2.0], [0.5, 0.7]],
    },
}


def made(lib, name):
    return getattr(lib.distributions, name)(**tensors(lib, ARGUMENTS[name]))


def reversed_batch(distribution):
    """The distribution with its batch of two in the opposite order."""
    name = type(distribution).__name__
    lib = flow if isinstance(distribution, flow.distributions.Distribution) else torch
    turned = {k: v[::-1] for k, v in ARGUMENTS[name].items()}
    return getattr(lib.distributions, name)(**tensors(lib, turned))


def has_formula(p, q):
    try:
        torch.distributions.kl_divergence(p, q)
    except NotImplementedError:
        return False
    return True


@pytest.mark.parametrize("p", ARGUMENTS)
def test_divergences(p, sample):
    # Found here: PyTorch imports much more of itself for them.
    others = [q for q in ARGUMENTS if has_formula(made(torch, p), reversed_batch(made(torch, q)))]
    assert p in others
    for q in others:
        if q == p or sample.includes(f"divergence of {p} from {q}", one_in=2):
            found = [
                lib.distributions.kl_divergence(made(lib, p), reversed_batch(made(lib, q)))
                for lib in (flow, torch)
            ]
            assert_close(*found)


def test_all_formulas_of_pytorch_are_there():
    """Every pair of classes of PyTorch has a formula."""
    registry = torch.distributions.kl._KL_REGISTRY
    ours = {(p.__name__, q.__name__) for p, q in flow.distributions.kl._KL_FORMULA}
    assert {(p.__name__, q.__name__) for p, q in registry} <= ours


FAMILIES = [
    "Normal", "Bernoulli", "Exponential", "Gamma", "Beta", "Dirichlet", "ContinuousBernoulli",
]  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_log_normalizers_agree_with_the_formulas(name):
    """Entropy and divergence of exponential families, by their log-normalizer."""
    p, q = made(flow, name), reversed_batch(made(flow, name))
    base = flow.distributions.ExponentialFamily
    by_normalizer = flow.distributions.kl._KL_FORMULA[base, base]
    assert_close(by_normalizer(p, q), torch.tensor(flow.distributions.kl_divergence(p, q).numpy()))
    assert_close(base.entropy(p), torch.tensor(p.entropy().numpy()))


def test_wishart_distributions():
    """The divergence of exponential families where no formula of the class's own exists."""

    def case(lib, df, matrix):
        return lib.distributions.Wishart(df, lib.tensor(matrix, dtype=lib.float64))

    first, second = (4.0, [[2.0, 0.5], [0.5, 1.0]]), (3.0, [[1.0, -0.2], [-0.2, 1.0]])
    found = [
        lib.distributions.kl_divergence(case(lib, *first), case(lib, *second))
        for lib in (flow, torch)
    ]
    assert_close(*found)
    base = flow.distributions.ExponentialFamily
    p = case(flow, *first)
    assert_close(base.entropy(p), torch.tensor(p.entropy().numpy()))
    batch = case(flow, 4.0, [first[1], second[1]])
    assert flow.distributions.kl_divergence(batch, batch).shape == (2,)
    np.testing.assert_allclose(flow.distributions.kl_divergence(batch, batch).numpy(), 0, atol=1e-9)


def test_divergence_of_different_families_is_an_error():
    tools = flow.distributions
    with pytest.raises(NotImplementedError, match="different exponential families"):
        tools.kl_divergence(tools.Normal(0.0, 1.0), tools.Poisson(1.0))
    double = tools.TransformedDistribution(tools.Normal(0.0, 1.0), tools.ExpTransform())
    tanh = tools.TransformedDistribution(tools.Normal(0.0, 1.0), tools.TanhTransform())
    with pytest.raises(NotImplementedError, match="transforms"):
        tools.kl_divergence(double, tanh)
