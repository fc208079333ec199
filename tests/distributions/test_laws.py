"""Laws of distributions: gradients, supports, graphs, global tensors, draws."""

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.distributions.cases import PARAMETERS, assert_close, make, parameters, values

pytestmark = pytest.mark.one_in(2)

# Parameters without gradients: numbers of trials and of rows, and what PyTorch computes in float32.
_COUNTS = ("total_count", "dim")


def with_gradients(lib, key):
    """The distribution of a key, and its parameters, which require gradients."""
    given = parameters(lib, key)
    for name, tensor in given.items():
        if name not in _COUNTS and hasattr(tensor, "requires_grad_"):
            tensor.requires_grad_()
    made = getattr(lib.distributions, key.split()[0])(**given)
    leaves = [v for k, v in given.items() if k not in _COUNTS and hasattr(v, "requires_grad_")]
    return made, leaves


def gradients(result, leaves):
    """Gradients of the sum of a result."""
    (result.sum() + sum((0 * leaf).sum() for leaf in leaves)).backward()
    return [leaf.grad for leaf in leaves]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("key", PARAMETERS)
def test_gradients_of_densities(key):
    if key == "GeneralizedPareto exponential":
        pytest.skip("PyTorch's gradient of a concentration of 0 is 0")
    found = []
    for lib in (flow, torch):
        made, leaves = with_gradients(lib, key)
        found.append(gradients(made.log_prob(values(lib, key)), leaves))
    for mine, theirs in zip(*found, strict=True):
        if "factor" in key and theirs.ndim == 2:  # a triangle, above which nothing counts
            mine, theirs = mine.tril(), theirs.tril()
        if bool(torch.isfinite(theirs).all()):  # PyTorch's of probabilities of 0 are not
            assert_close(mine, theirs, rtol=1e-5)


def test_gradients_at_a_concentration_of_0():
    """They are those of concentrations close to it."""
    found = []
    for concentration in (0.0, 1e-6):
        leaf = flow.tensor(concentration, dtype=flow.float64, requires_grad=True)
        made = flow.distributions.GeneralizedPareto(0.5, 2.0, leaf)
        value = flow.tensor([0.7, 3.0], dtype=flow.float64)
        flow.manual_seed(2)
        made.log_prob(value).sum().backward()
        made.rsample((3,)).sum().backward()
        found.append(leaf.grad.item())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)


# Continuous distributions of numbers of which PyTorch differentiates the `cdf`.
WITH_CDF = (
    "Normal",
    "Uniform",
    "Exponential",
    "Laplace",
    "Cauchy",
    "Gumbel",
    "HalfNormal",
    "HalfCauchy",
    "LogNormal",
    "Weibull",
    "Pareto",
    "Kumaraswamy",
    "ContinuousBernoulli",
    "GeneralizedPareto",
)


@pytest.mark.parametrize("key", WITH_CDF)
def test_gradients_of_draws(key):
    """A draw moves so that the probability of less stays: ``dx = -d cdf(x) / density(x)``."""
    flow.manual_seed(7)
    ours, leaves = with_gradients(flow, key)
    drawn = ours.rsample()
    found = gradients(drawn, leaves)
    theirs, others = with_gradients(torch, key)
    fixed = torch.tensor(drawn.detach().numpy())
    density = theirs.log_prob(fixed).exp().detach()
    expected = gradients(-theirs.cdf(fixed) / density, others)
    for mine, other in zip(found, expected, strict=True):
        assert_close(mine, other, rtol=1e-5, atol=1e-6)


# Parts of a draw that come from the noise, and so do not change with parameters.
NOISE = {
    "MultivariateNormal factor": lambda p, x: flow.linalg.solve_triangular(
        p.scale_tril, (x - p.loc).unsqueeze(-1), upper=False
    ),
    "LogisticNormal": lambda p, x: p.base_dist.base_dist.cdf(p.transforms[0].inv(x)),
    "RelaxedBernoulli logits": lambda p, x: x.logit() * p.temperature - p.logits,
    "RelaxedOneHotCategorical": lambda p, x: (x.log() * p.temperature - p.logits).diff(),
}


@pytest.mark.parametrize("key", NOISE)
def test_gradients_of_draws_leave_the_noise(key):
    flow.manual_seed(7)
    made, leaves = with_gradients(flow, key)
    for gradient in gradients(NOISE[key](made, made.rsample()), leaves):
        if "factor" in key and gradient.ndim == 2:  # a triangle, above which nothing counts
            gradient = gradient.tril()
        np.testing.assert_allclose(gradient.numpy(), 0, atol=1e-8)


def test_gradients_of_straight_through_draws():
    logits = flow.tensor([0.2, 0.7, 0.4], requires_grad=True)
    made = flow.distributions.OneHotCategoricalStraightThrough(logits=logits)
    weights = flow.tensor([1.0, 2.0, 3.0])
    drawn = made.rsample()
    assert sorted(drawn.tolist()) == [0.0, 0.0, 1.0]
    (drawn * weights).sum().backward(retain_graph=True)
    found = logits.grad.numpy()
    logits.grad = None
    (made.probs * weights).sum().backward()
    np.testing.assert_allclose(found, logits.grad.numpy(), rtol=1e-6)


def constraint(found):
    """The name of a constraint, and the kinds of its bounds."""
    kind = type(found).__name__.lstrip("_").removesuffix("Counts")
    return kind, found.is_discrete, found.event_dim


@pytest.mark.parametrize("key", PARAMETERS)
def test_constraints_are_those_of_pytorch(key):
    ours, theirs = make(flow, key), make(torch, key)
    assert constraint(ours.support) == constraint(theirs.support)
    assert ours.has_rsample == theirs.has_rsample
    assert set(ours.arg_constraints) == set(theirs.arg_constraints)
    for name, expected in theirs.arg_constraints.items():
        if not torch.distributions.constraints.is_dependent(expected):
            mine = ours.arg_constraints[name]
            assert constraint(mine) == constraint(expected)
            if not isinstance(ours, flow.distributions.Uniform):  # whose bounds are tensors
                assert repr(mine) == repr(expected)


ELEMENTWISE = [
    "Normal", "Uniform", "Exponential", "Laplace", "Gumbel", "Weibull", "Gamma", "Bernoulli",
    "Poisson", "LogNormal", "VonMises", "GeneralizedPareto", "ContinuousBernoulli",
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("key", ELEMENTWISE)
def test_graphs(key):
    """A graph gives what eager mode gives, and draws anew in each call."""

    class Step(flow.nn.Graph):
        def build(self, value):
            made = make(flow, key)
            return made.log_prob(value), made.sample((100,)), made.mean

    step, value = Step(), values(flow, key)
    log_prob, drawn, mean = step(value)
    ours = make(flow, key)
    np.testing.assert_allclose(log_prob.numpy(), ours.log_prob(value).numpy(), rtol=1e-6)
    np.testing.assert_allclose(mean.numpy(), ours.mean.numpy(), rtol=1e-6)
    assert drawn.shape == (100, *ours.batch_shape)
    assert not np.array_equal(drawn.numpy(), step(value)[1].numpy())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("key", ELEMENTWISE)
def test_global_tensors(key):
    """Parameters that are split over devices give split densities and the draws of one device."""
    placement = flow.placement("cpu", [0, 1])

    def spread(numbers):
        everywhere = numbers.expand((4, 4)).to_global(placement, flow.sbp.broadcast)
        return everywhere.to_global(placement, flow.sbp.split(0))

    # The first distribution of the batch, sixteen times.
    first = {k: v.flatten()[0] for k, v in parameters(flow, key).items()}
    whole = getattr(flow.distributions, key)(**{k: v.expand((4, 4)) for k, v in first.items()})
    split = getattr(flow.distributions, key)(**{k: spread(v) for k, v in first.items()})
    value = values(flow, key).flatten()[0]
    found = split.log_prob(spread(value))
    assert found.is_global
    assert found.sbp == (flow.sbp.split(0),)
    np.testing.assert_allclose(found.numpy(), whole.log_prob(value).numpy(), rtol=1e-6)
    flow.manual_seed(5)
    drawn = split.sample((3,))
    assert drawn.is_global
    flow.manual_seed(5)
    np.testing.assert_allclose(drawn.numpy(), whole.sample((3,)).numpy(), rtol=1e-6)


def test_correlations_of_lkj_matrices():
    """Every correlation has the marginal variance of the density, whatever its place."""
    flow.manual_seed(3)
    for dim, concentration in ((2, 0.5), (4, 1.5)):
        factor = flow.distributions.LKJCholesky(dim, concentration).sample((20000,))
        matrices = (factor @ factor.mT).numpy()
        squares = (matrices**2).mean(0)[np.tril_indices(dim, -1)]
        # The beta distribution, on (-1, 1), of ``concentration + dim / 2 - 1`` twice.
        np.testing.assert_allclose(squares, 1 / (2 * concentration + dim - 1), atol=0.012)
        np.testing.assert_allclose(matrices.mean(0), np.eye(dim), atol=0.03)


def test_von_mises_of_any_concentration():
    """Mean resultant lengths are quotients of Bessel functions; angles stay within the circle."""
    flow.manual_seed(3)
    concentration = flow.tensor([1e-7, 0.5, 50.0, 1e6], dtype=flow.float64)
    made = flow.distributions.VonMises(flow.tensor(3.0, dtype=flow.float64), concentration)
    drawn = made.sample((20000,)).numpy()
    assert (np.abs(drawn) <= np.pi).all()
    lengths = np.cos(drawn - 3.0).mean(0)
    np.testing.assert_allclose(lengths, 1 - made.variance.numpy(), atol=0.02)
    bad = flow.distributions.VonMises(0.0, flow.tensor([-1.0, float("nan")]), validate_args=False)
    assert bad.sample().isnan().all()


def test_names_of_pytorch():
    missing = [
        name
        for name in dir(torch.distributions)
        if not name.startswith("_") and not hasattr(flow.distributions, name)
    ]
    assert missing == []
    for module in ("constraints", "transforms", "utils", "kl", "relaxed_bernoulli"):
        theirs = getattr(torch.distributions, module)
        names = getattr(theirs, "__all__", [])
        ours = getattr(flow.distributions, module)
        assert [name for name in names if not hasattr(ours, name)] == []


def test_representations():
    for lib in (flow, torch):
        tools = lib.distributions
        assert repr(tools.Normal(0.0, 1.5)) == "Normal(loc: 0.0, scale: 1.5)"
        assert repr(tools.transforms.ExpTransform()) == "ExpTransform()"
        assert repr(tools.constraints.positive) == "GreaterThan(lower_bound=0.0)"
    assert repr(flow.distributions.Normal(flow.zeros(2), 1.0)) == (
        "Normal(loc: oneflow.Size([2]), scale: oneflow.Size([2]))"
    )


def test_half_cauchy_has_no_formula_of_half_normal():
    half = flow.distributions.HalfCauchy(1.0)
    with pytest.raises(NotImplementedError, match="HalfCauchy"):
        flow.distributions.kl_divergence(half, half)
