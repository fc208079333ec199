"""`oneflow.distributions` against PyTorch."""

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.distributions.cases import PARAMETERS, assert_close, make, values
from tests.nn.twins import raised_by


@pytest.fixture(params=PARAMETERS, scope="module")
def both(request):
    """A distribution in OneFlow and in PyTorch, and values for it."""
    key = request.param
    return make(flow, key), make(torch, key), (values(flow, key), values(torch, key))


def both_or_neither(*calls):
    """The results of both libraries, or None if PyTorch has no formula."""
    try:
        reference = calls[1]()
    except NotImplementedError:
        return None
    return calls[0](), reference


def test_probabilities_and_entropy(both):
    ours, theirs, value = both
    assert_close(ours.log_prob(value[0]), theirs.log_prob(value[1]))
    found = both_or_neither(ours.entropy, theirs.entropy)
    if found is not None:
        assert_close(*found)
        assert_close(ours.perplexity(), theirs.perplexity())
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)


# PyTorch's mode of this one is not where its density is largest.
WRONG_MOMENTS = [("Kumaraswamy", "mode")]


@pytest.mark.parametrize("name", ["mean", "variance", "stddev", "mode"])
def test_moments(both, name):
    ours, theirs, _ = both
    found = both_or_neither(lambda: getattr(ours, name), lambda: getattr(theirs, name))
    if found is None or (type(ours).__name__, name) in WRONG_MOMENTS:
        return
    if isinstance(theirs, torch.distributions.GeneralizedPareto):
        # PyTorch's infinite moments come out as NaN.
        found = found[0], found[1].nan_to_num(nan=float("inf"))
    assert_close(*found)


@pytest.mark.parametrize("name", ["cdf", "icdf"])
def test_cdf(both, name):
    ours, theirs, value = both
    found = both_or_neither(
        lambda: getattr(ours, name)(value[0]),
        lambda: getattr(theirs, name)(value[1]),
    )
    if found is not None:
        assert_close(*found)


# PyTorch draws another matrix of the Wishart distribution where rounding made one singular.
@pytest.mark.one_in(2)
@pytest.mark.filterwarnings("ignore:Singular sample detected")
def test_samples(both):
    ours, theirs, _ = both
    if isinstance(ours, flow.distributions.LKJCholesky):
        pytest.skip("PyTorch's draws have other moments than its density")
    count = 4000
    drawn = ours.sample((count,))
    assert not drawn.requires_grad
    assert tuple(drawn.shape) == (count, *theirs.batch_shape, *theirs.event_shape)
    reference = theirs.sample((count,)).numpy().reshape(count, -1)
    # Kolmogorov and Smirnov: with as many draws two samples of one distribution differ less.
    limit = 2.2 * (2 / count) ** 0.5
    for mine, other in zip(drawn.numpy().reshape(count, -1).T, reference.T, strict=True):
        places = np.quantile(other, np.linspace(0.05, 0.95, 19))
        shares = [(samples[:, None] <= places).mean(0) for samples in (mine, other)]
        assert np.abs(shares[0] - shares[1]).max() < limit
    whole = (*ours.batch_shape, *ours.event_shape)
    assert tuple(ours.sample().shape) == whole
    assert tuple(ours.sample_n(2).shape) == (2, *whole)


@pytest.mark.one_in(3)
def test_expanded(both):
    ours, theirs, value = both
    shape = (5, *theirs.batch_shape)
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
    (lambda lib: lib.distributions.Normal(0.0, -1.0), r"`scale`.*GreaterThan\(lower_bound=0.0\)"),
    (lambda lib: lib.distributions.Uniform(1.0, 1.0), r"`low`.*LessThan\(upper_bound="),
    (lambda lib: lib.distributions.Uniform(0.0, 1.0).log_prob(lib.tensor(2.0)), "the support"),
    (lambda lib: lib.distributions.Bernoulli(1.5), "`probs`.*lower_bound=0.0, upper_bound=1.0"),
    (lambda lib: lib.distributions.Bernoulli(), "Either `probs` or `logits`"),
    (lambda lib: lib.distributions.Bernoulli(0.5, 0.5), "Either `probs` or `logits`"),
    (lambda lib: lib.distributions.Bernoulli(0.5).log_prob(lib.tensor(0.5)), r"Boolean\(\)"),
    (lambda lib: lib.distributions.Categorical(lib.tensor([-1.0, 2.0])), r"Simplex\(\)"),
    (lambda lib: lib.distributions.Categorical(lib.tensor(1.0)), "at least one-dimensional"),
    (
        lambda lib: lib.distributions.Categorical(lib.ones(2)).log_prob(lib.tensor(2)),
        "IntegerInterval.lower_bound=0, upper_bound=1",
    ),
    (lambda lib: lib.distributions.Normal(0.0, 1.0).log_prob(0.0), "must be a Tensor"),
    (
        lambda lib: lib.distributions.Normal(lib.ones(2), 1.0).log_prob(lib.ones(3)),
        "not broadcastable with batch_shape",
    ),
    (
        lambda lib: lib.distributions.Dirichlet(lib.ones(2)).log_prob(lib.ones(3)),
        "right-most size of value must match event_shape",
    ),
    (lambda lib: lib.distributions.Wishart(0.5, lib.eye(2)), r"`df`.*GreaterThan\(lower_bound=1\)"),
    (lambda lib: lib.distributions.LKJCholesky(1), "greater than or equal to 2"),
    (
        lambda lib: lib.distributions.MultivariateNormal(lib.ones(2), -lib.eye(2)),
        r"`covariance_matrix`.*PositiveDefinite\(\)",
    ),
    (
        lambda lib: lib.distributions.LowRankMultivariateNormal(
            lib.ones(2), lib.ones(3, 1), lib.ones(2)
        ),
        "cov_factor must be a batch of matrices with shape 2 x m",
    ),
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
        found.append([tensor.grad.item() for tensor in given.values()])
    np.testing.assert_allclose(found[0], found[1], rtol=0.05, atol=0.03)


def test_gamma_numbers_of_bad_concentrations_are_nan():
    drawn = flow.distributions.Gamma(flow.tensor([-1.0, float("nan")]), 1.0, False).sample()
    assert drawn.isnan().all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gamma_numbers_at_the_ends_of_concentrations(dtype):
    ends = [0.0, float("inf")]
    ours = flow.distributions.Gamma(flow.tensor(ends, dtype=getattr(flow, dtype)), 1.0, False)
    theirs = torch.distributions.Gamma(torch.tensor(ends, dtype=getattr(torch, dtype)), 1.0, False)
    assert ours.sample().tolist() == theirs.sample().tolist()


@pytest.mark.parametrize("total_count", [0.0, 3.0])
def test_no_failures_are_drawn_where_none_are_awaited(total_count):
    for lib in (torch, flow):
        probs = lib.tensor([0.0, 0.9])
        drawn = lib.distributions.NegativeBinomial(lib.tensor(total_count), probs).sample((20,))
        assert drawn[:, 0].sum().item() == 0
        assert (drawn[:, 1].sum().item() == 0) == (total_count == 0)


def test_parameters_that_are_computed_have_gradients_under_no_grad():
    for lib in (torch, flow):
        probs = lib.tensor([0.2, 0.7], requires_grad=True)
        distribution = lib.distributions.Bernoulli(probs)
        with lib.no_grad():
            logits = distribution.logits
        logits.sum().backward()
        assert probs.grad is not None


def test_formulas_of_users(monkeypatch):
    tools = flow.distributions
    with pytest.raises(NotImplementedError, match="Normal and q type Categorical"):
        tools.kl_divergence(tools.Normal(0.0, 1.0), tools.Categorical(flow.ones(2)))

    class Mine(tools.Normal):
        pass

    tools.register_kl(Mine, tools.Normal)(lambda p, q: p.loc * 0 + 7)
    assert tools.kl_divergence(Mine(0.0, 1.0), tools.Normal(0.0, 1.0)).item() == 7
    assert tools.kl_divergence(tools.Normal(0.0, 1.0), Mine(0.0, 1.0)).item() == 0
    with pytest.raises(TypeError, match="a class of distributions"):
        tools.register_kl("Normal", Mine)


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
            lib.distributions.kl_divergence(distribution, distribution)
            for lib, distribution in ((flow, ours), (torch, theirs))
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


@pytest.mark.parametrize("kind", ["Binomial", "NegativeBinomial"])
@pytest.mark.parametrize("parameter", ["probs", "logits"])
def test_whole_numbers_of_trials(kind, parameter):
    def found(lib):
        counts = lib.tensor([[3], [5]])
        distribution = getattr(lib.distributions, kind)(
            counts, **{parameter: lib.tensor([0.25, 0.5], dtype=lib.float64)}
        )
        sample = distribution.sample()
        log_probabilities = distribution.log_prob(lib.ones(2, 2, dtype=lib.float64))
        return str(sample.dtype).rpartition(".")[2], tuple(sample.shape), log_probabilities

    (*mine, ours), (*its, theirs) = found(flow), found(torch)
    assert mine == its
    assert_close(ours, theirs)


@pytest.mark.parametrize("value", [0, 1, 2.5])
def test_gamma_takes_numbers_as_values(value):
    for make_distribution in (
        lambda lib: lib.distributions.Gamma(lib.tensor([1.0, 2.0]), lib.tensor(2.0)),
        lambda lib: lib.distributions.Chi2(lib.tensor([2.0, 3.0])),
    ):
        ours, theirs = make_distribution(flow), make_distribution(torch)
        assert_close(ours.log_prob(value), theirs.log_prob(value))


@pytest.mark.parametrize("concentration", [1e-3, 0.01, 0.3])
def test_draws_of_small_concentrations_are_positive(concentration):
    """In single precision most of their gammas are too small."""
    flow.manual_seed(0)
    alpha = flow.full((4000, 2), concentration, requires_grad=True)
    draws = {
        "Gamma": flow.distributions.Gamma(alpha, 1.0).rsample(),
        "Dirichlet": flow.distributions.Dirichlet(alpha).rsample(),
        "Beta": flow.distributions.Beta(alpha[:, 0], alpha[:, 1]).rsample(),
    }
    for name, draw in draws.items():
        assert bool((draw > 0).all()), name
        (gradient,) = flow.autograd.grad(draw.sum(), alpha, retain_graph=True)
        assert bool(gradient.isfinite().all()), name
    for name in ("Dirichlet", "Beta"):
        assert bool((draws[name] < 1).all()), name
        first = draws[name].reshape(4000, -1)[:, 0]
        assert abs(first.mean().item() - 0.5) < 0.03, name
        # Two gammas that are both too small would share equally, and the variance be too small.
        assert abs(first.var().item() - 0.25 / (2 * concentration + 1)) < 0.02, name
