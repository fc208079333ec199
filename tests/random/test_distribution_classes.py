"""`oneflow.distributions` against PyTorch."""

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.nn.twins import raised_by

_SCALE, _COLUMN = [0.4, 2.5], [[1.0], [2.0], [0.3]]
# Arguments by class, and what follows the class to tell several apart.
PARAMETERS = {
    "Normal": {"loc": [0.5, -1.0], "scale": _COLUMN},
    "Uniform": {"low": [0.0, -1.0], "high": [[1.0], [2.0], [3.0]]},
    "Bernoulli": {"probs": [0.2, 0.7]},
    "Bernoulli logits": {"logits": [0.2, -1.7]},
    "Categorical": {"probs": [[0.2, 0.7, 0.4], [1.0, 0.0, 3.0]]},
    "Categorical logits": {"logits": [[0.2, 0.7, 0.4], [1.0, float("-inf"), 3.0]]},
    "Exponential": {"rate": _SCALE},
    "Laplace": {"loc": [0.5, -1.0], "scale": _COLUMN},
    "Cauchy": {"loc": [0.5, -1.0], "scale": _COLUMN},
    "Gumbel": {"loc": [0.5, -1.0], "scale": _COLUMN},
    "HalfNormal": {"scale": _SCALE},
    "HalfCauchy": {"scale": _SCALE},
    "LogNormal": {"loc": [0.5, -1.0], "scale": _COLUMN},
    "Weibull": {"scale": _SCALE, "concentration": [[1.2], [3.0]]},
    "Pareto": {"scale": [0.1, 0.2], "alpha": [[0.9], [1.5], [4.0]]},
    "Kumaraswamy": {"concentration1": [0.8, 3.0], "concentration0": [[2.0], [1.5]]},
    "Gamma": {"concentration": [0.3, 1.0, 7.0], "rate": [[2.0], [0.5]]},
    "Chi2": {"df": [0.5, 4.0]},
    "InverseGamma": {"concentration": [0.8, 1.5, 3.0], "rate": [[2.0], [0.5]]},
    "Beta": {"concentration1": [0.5, 3.0], "concentration0": [[2.0], [1.5]]},
    "Dirichlet": {"concentration": [[0.5, 1.0, 3.0], [0.5, 0.3, 0.4]]},
    "StudentT": {"df": [0.8, 1.5, 5.0], "loc": [[0.5], [-1.0]], "scale": [2.0]},
    "FisherSnedecor": {"df1": [1.0, 5.0], "df2": [[1.5], [3.0], [9.0]]},
    "Poisson": {"rate": [0.5, 30.0]},
    "Geometric": {"probs": [0.2, 0.7]},
    "Geometric logits": {"logits": [0.2, -1.7]},
    "Binomial": {"total_count": [5.0], "probs": [0.2, 0.7]},
    "Binomial logits": {"total_count": [5.0], "logits": [[0.2], [-0.7]]},
    "NegativeBinomial": {"total_count": [1.0, 5.0], "probs": [[0.2], [0.7]]},
    "OneHotCategorical": {"probs": [[0.2, 0.7, 0.4], [1.0, 0.0, 3.0]]},
    "Multinomial": {"total_count": 3, "probs": [[0.2, 0.7, 0.4], [1.0, 0.5, 3.0]]},
    "MultivariateNormal": {
        "loc": [[0.5, -1.0], [0.0, 1.0]],
        "covariance_matrix": [[2.0, 0.5], [0.5, 1.0]],
    },
    "MultivariateNormal precision": {
        "loc": [0.5, -1.0],
        "precision_matrix": [[2.0, 0.5], [0.5, 1.0]],
    },
    "MultivariateNormal factor": {"loc": [0.5, -1.0], "scale_tril": [[2.0, 0.0], [0.5, 1.0]]},
}
# Values by class, in place of these.
SOME = [0.3, 0.9]
VALUES = {
    "Bernoulli": [1.0, 0.0],
    "Categorical": [2, 0],
    "Gamma": [[0.3], [0.9]],
    "InverseGamma": [[0.3], [0.9]],
    "StudentT": [[0.3], [0.9]],
    "Dirichlet": [0.2, 0.3, 0.5],
    "Poisson": [0.0, 25.0],
    "Geometric": [0.0, 3.0],
    "Binomial": [1.0, 4.0],
    "NegativeBinomial": [0.0, 7.0],
    "OneHotCategorical": [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]],
    "Multinomial": [[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]],
}


def tensors(lib, numbers):
    return {k: lib.tensor(v) if isinstance(v, list) else v for k, v in numbers.items()}


@pytest.fixture(params=PARAMETERS)
def both(request):
    """A distribution in OneFlow and in PyTorch, and values for it."""
    name, numbers = request.param.split()[0], PARAMETERS[request.param]
    made = [getattr(lib.distributions, name)(**tensors(lib, numbers)) for lib in (flow, torch)]
    return *made, VALUES.get(name, SOME)


def assert_close(ours, theirs):
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


def both_or_neither(*calls):
    """The results of both libraries, or None if PyTorch has no formula."""
    try:
        reference = calls[1]()
    except NotImplementedError:
        return None
    return calls[0](), reference


def test_probabilities_and_entropy(both):
    ours, theirs, values = both
    kind = "long" if type(ours).__name__ == "Categorical" else "float"
    value = [getattr(lib.tensor(values), kind)() for lib in (flow, torch)]
    assert_close(ours.log_prob(value[0]), theirs.log_prob(value[1]))
    found = both_or_neither(ours.entropy, theirs.entropy)
    if found is not None:
        assert_close(*found)
        assert_close(ours.perplexity(), theirs.perplexity())
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)


@pytest.mark.parametrize("name", ["mean", "variance", "stddev", "mode"])
def test_moments(both, name):
    ours, theirs, _ = both
    found = both_or_neither(lambda: getattr(ours, name), lambda: getattr(theirs, name))
    # PyTorch's mode of this one is not where its density is largest.
    if found is not None and (type(ours).__name__, name) != ("Kumaraswamy", "mode"):
        assert_close(*found)


@pytest.mark.parametrize("name", ["cdf", "icdf"])
def test_cdf(both, name):
    ours, theirs, values = both
    found = both_or_neither(
        lambda: getattr(ours, name)(flow.tensor(values)),
        lambda: getattr(theirs, name)(torch.tensor(values)),
    )
    if found is not None:
        assert_close(*found)


def test_samples(both, sample):
    ours, theirs, _ = both
    sample.take(f"samples of {ours}", one_in=2)
    count = 4000
    drawn = ours.sample((count,))
    assert not drawn.requires_grad
    assert tuple(drawn.shape) == (count, *theirs.batch_shape, *theirs.event_shape)
    reference = theirs.sample((count,)).numpy().reshape(count, -1)
    # Kolmogorov and Smirnov: with as many draws two samples of one distribution differ less.
    limit = 2.2 * (2 / count) ** 0.5
    for mine, other in zip(drawn.numpy().reshape(count, -1).T, reference.T, strict=True):
        places = np.quantile(other, np.linspace(0.05, 0.95, 19))
        shares = [(each[:, None] <= places).mean(0) for each in (mine, other)]
        assert np.abs(shares[0] - shares[1]).max() < limit
    whole = (*ours.batch_shape, *ours.event_shape)
    assert tuple(ours.sample().shape) == whole
    assert tuple(ours.sample_n(2).shape) == (2, *whole)


def test_expanded(both, sample):
    ours, theirs, values = both
    sample.take(f"expanded {ours}", one_in=3)
    shape = (5, *theirs.batch_shape)
    kind = "long" if type(ours).__name__ == "Categorical" else "float"
    value = [getattr(lib.tensor(values), kind)() for lib in (flow, torch)]
    made = ours.expand(shape), theirs.expand(shape)
    assert_close(made[0].log_prob(value[0]), made[1].log_prob(value[1]))
    assert tuple(made[0].batch_shape) == shape


def test_support(both):
    ours, theirs, _ = both
    assert ours.has_enumerate_support == theirs.has_enumerate_support
    if ours.has_enumerate_support:
        for expand in (True, False):
            assert_close(ours.enumerate_support(expand), theirs.enumerate_support(expand))


def test_gradients_flow_through_draws():
    loc, scale = flow.zeros(3, requires_grad=True), flow.ones(3, requires_grad=True)
    flow.manual_seed(1)
    drawn = flow.distributions.Normal(loc, scale).rsample()
    drawn.sum().backward()
    assert loc.grad.tolist() == [1.0, 1.0, 1.0]
    np.testing.assert_allclose(scale.grad.numpy(), drawn.detach().numpy(), rtol=1e-6)


def test_policy_gradient():
    def case(lib):
        logits = lib.tensor([[0.1, 0.5, -0.2]], requires_grad=True)
        policy = lib.distributions.Categorical(logits=logits)
        (-policy.log_prob(lib.tensor([1])) * 2.0 - 0.1 * policy.entropy()).sum().backward()
        return logits.grad.numpy()

    np.testing.assert_allclose(case(flow), case(torch), rtol=1e-5)


WRONG = [
    (lambda lib: lib.distributions.Normal(0.0, -1.0), "`scale` must be positive"),
    (lambda lib: lib.distributions.Uniform(1.0, 1.0), "`low` must be less than `high`"),
    (lambda lib: lib.distributions.Uniform(0.0, 1.0).log_prob(lib.tensor(2.0)), "outside"),
    (lambda lib: lib.distributions.Bernoulli(1.5), "between 0 and 1"),
    (lambda lib: lib.distributions.Bernoulli(), "either `probs` or `logits`"),
    (lambda lib: lib.distributions.Bernoulli(0.5, 0.5), "either `probs` or `logits`"),
    (lambda lib: lib.distributions.Bernoulli(0.5).log_prob(lib.tensor(0.5)), "must be 0 or 1"),
    (lambda lib: lib.distributions.Categorical(lib.tensor([-1.0, 2.0])), "must not be negative"),
    (lambda lib: lib.distributions.Categorical(lib.tensor(1.0)), "at least one-dimensional"),
    (lambda lib: lib.distributions.Categorical(lib.ones(2)).log_prob(lib.tensor(2)), "outside"),
]


@pytest.mark.parametrize("position", range(len(WRONG)))
def test_errors_are_those_of_pytorch(position):
    case, message = WRONG[position]
    with pytest.raises(ValueError, match=message):
        case(flow)
    with pytest.raises(ValueError, match=r"."):
        case(torch)


def test_checks_can_be_turned_off():
    flow.distributions.Normal(0.0, -1.0, validate_args=False)


# Draws whose gradients are those of the same uniform numbers are compared by the mean.
GAMMAS = {
    "Gamma": {"concentration": 0.7, "rate": 2.0},
    "Beta": {"concentration1": 0.7, "concentration0": 2.0},
    "StudentT": {"df": 5.0, "loc": 0.5, "scale": 2.0},
}


@pytest.mark.parametrize("name", GAMMAS)
def test_gradients_of_draws_are_those_of_the_mean(name):
    flow.manual_seed(3)
    found = []
    for draws in (True, False):
        given = {k: flow.tensor(v, requires_grad=True) for k, v in GAMMAS[name].items()}
        made = getattr(flow.distributions, name)(**given)
        result = made.rsample((40000,)).mean() if draws else made.mean
        (result + 0 * sum(given.values())).backward()
        found.append([each.grad.item() for each in given.values()])
    np.testing.assert_allclose(found[0], found[1], rtol=0.05, atol=0.03)


def test_gamma_numbers_of_bad_concentrations_are_nan():
    drawn = flow.distributions.Gamma(flow.tensor([-1.0, 0.0]), 1.0, False).sample()
    assert drawn.isnan().all()


PAIRS = {
    "Normal": {"loc": [0.0, 1.0], "scale": [2.0, 1.0]},
    "LogNormal": {"loc": [0.0, 1.0], "scale": [2.0, 1.0]},
    "HalfNormal": {"scale": [2.0, 1.0]},
    "Uniform": {"low": [0.0, -1.0], "high": [0.8, 2.0]},
    "Bernoulli": {"probs": [0.4, 0.9]},
    "Binomial": {"total_count": 5, "probs": [0.4, 0.9]},
    "Geometric": {"probs": [0.4, 0.9]},
    "Categorical": {"probs": [[0.4, 0.3, 0.3], [0.5, 0.0, 0.5]]},
    "OneHotCategorical": {"probs": [[0.4, 0.3, 0.3], [0.5, 0.2, 0.3]]},
    "Poisson": {"rate": [3.0, 0.5]},
    "Exponential": {"rate": [3.0, 0.5]},
    "Laplace": {"loc": [0.0, 1.0], "scale": [2.0, 1.0]},
    "Pareto": {"scale": [0.05, 0.3], "alpha": [2.0, 3.0]},
    "Gamma": {"concentration": [3.0, 0.5], "rate": [1.0, 2.0]},
    "Chi2": {"df": [3.0, 0.5]},
    "Beta": {"concentration1": [3.0, 0.5], "concentration0": [1.0, 2.0]},
    "Dirichlet": {"concentration": [[3.0, 0.5, 1.0], [1.0, 1.0, 2.0]]},
    "MultivariateNormal": {
        "loc": [[0.0, 1.0], [1.0, 1.0]],
        "covariance_matrix": [[1.0, 0.2], [0.2, 3.0]],
    },
}
FIRST = {**PARAMETERS, "Binomial": {"total_count": 5, "probs": [0.2, 0.7]}}


@pytest.mark.parametrize("name", PAIRS)
def test_divergence(name):
    results = []
    for lib in (flow, torch):
        make = getattr(lib.distributions, name)
        p, q = make(**tensors(lib, FIRST[name])), make(**tensors(lib, PAIRS[name]))
        if name == "Gamma":
            p = make(lib.tensor([0.3, 1.0]), lib.tensor([2.0, 0.5]))
        results.append(lib.distributions.kl_divergence(p, q))
    assert_close(*results)


def test_formulas_of_users(monkeypatch):
    tools = flow.distributions
    with pytest.raises(NotImplementedError, match="Normal and q type Uniform"):
        tools.kl_divergence(tools.Normal(0.0, 1.0), tools.Uniform(0.0, 1.0))

    class Mine(tools.Normal):
        pass

    tools.register_kl(Mine, tools.Normal)(lambda p, q: p.loc * 0 + 7)
    assert tools.kl_divergence(Mine(0.0, 1.0), tools.Normal(0.0, 1.0)).item() == 7
    assert tools.kl_divergence(tools.Normal(0.0, 1.0), Mine(0.0, 1.0)).item() == 0
    with pytest.raises(TypeError, match="a class of distributions"):
        tools.register_kl(int, Mine)


def composed(lib):
    """Distributions made of others, by what tells them apart."""
    tools = lib.distributions
    loc, scale = lib.tensor([[0.5, -1.0, 2.0], [0.0, 1.0, 3.0]]), lib.tensor([1.0, 2.0, 0.5])
    normals = tools.Normal(loc, scale)
    which = tools.Categorical(lib.tensor([[1.0, 2.0, 3.0], [1.0, 0.5, 1.0]]))
    points = tools.Independent(tools.Normal(loc.unsqueeze(-1).expand(2, 3, 2), 1.0), 1)
    return {
        "none": (tools.Independent(normals, 0), lib.tensor([0.2, 0.1, 1.0])),
        "one": (tools.Independent(normals, 1), lib.tensor([0.2, 0.1, 1.0])),
        "both": (tools.Independent(normals, 2), lib.tensor([0.2, 0.1, 1.0])),
        "mixture": (tools.MixtureSameFamily(which, normals), lib.tensor([0.2, 1.5])),
        "mixture of points": (
            tools.MixtureSameFamily(which, points),
            lib.tensor([[0.2, 1.5], [0.0, 1.0]]),
        ),
    }


@pytest.mark.parametrize("name", ["none", "one", "both", "mixture", "mixture of points"])
def test_composed_distributions(name):
    (ours, value), (theirs, other) = composed(flow)[name], composed(torch)[name]
    assert_close(ours.log_prob(value), theirs.log_prob(other))
    assert_close(ours.mean, theirs.mean)
    assert_close(ours.variance, theirs.variance)
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)
    drawn = ours.sample((3000,))
    assert tuple(drawn.shape) == (3000, *theirs.batch_shape, *theirs.event_shape)
    spread = theirs.stddev.numpy() / 3000**0.5
    assert (np.abs(drawn.numpy().mean(0) - theirs.mean.numpy()) < 5 * spread).all()
    assert_close(
        ours.expand((4, *ours.batch_shape)).log_prob(value),
        theirs.expand((4, *theirs.batch_shape)).log_prob(other),
    )
    if name == "mixture":
        assert_close(ours.cdf(value), theirs.cdf(other))
    elif name == "one":
        found = [
            lib.distributions.kl_divergence(each, each)
            for lib, each in ((flow, ours), (torch, theirs))
        ]
        assert_close(*found)
        assert_close(ours.entropy(), theirs.entropy())


MISUSES = [
    lambda tools, lib: tools.Exponential(lib.tensor([-1.0])),
    lambda tools, lib: tools.Geometric(lib.tensor([0.0])),
    lambda tools, lib: tools.Geometric(),
    lambda tools, lib: tools.Dirichlet(lib.tensor(1.0)),
    lambda tools, lib: tools.Gamma(1.0, 1.0).log_prob(lib.tensor(-1.0)),
    lambda tools, lib: tools.Beta(1.0, 1.0).log_prob(lib.tensor(2.0)),
    lambda tools, lib: tools.Multinomial(1.5, lib.ones(2)),
    lambda tools, lib: tools.MultivariateNormal(lib.ones(2)),
    lambda tools, lib: tools.MultivariateNormal(lib.tensor(1.0), lib.eye(2)),
    lambda tools, lib: tools.Independent(tools.Normal(0.0, 1.0), 1),
    lambda tools, lib: tools.MixtureSameFamily(tools.Normal(0.0, 1.0), tools.Normal(0.0, 1.0)),
    lambda tools, lib: tools.MixtureSameFamily(
        tools.Categorical(lib.ones(3)), tools.Normal(lib.ones(2), 1.0)
    ),
    lambda tools, lib: tools.Binomial(lib.tensor([1.0, 2.0]), lib.tensor(0.5)).enumerate_support(),
]


@pytest.mark.parametrize("misuse", MISUSES)
def test_errors_are_of_pytorchs_type(misuse):
    with pytest.raises(raised_by(lambda: misuse(torch.distributions, torch))):
        misuse(flow.distributions, flow)


def test_mode_of_kumaraswamys_distribution():
    made = flow.distributions.Kumaraswamy(2.0, 3.0)
    values = flow.linspace(0.01, 0.99, 99)
    best = values[made.log_prob(values).argmax()]
    assert abs(best.item() - made.mode.item()) <= 0.01
