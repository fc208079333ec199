"""Random numbers have the distribution they claim: Kolmogorov-Smirnov distance, moments, ranges."""

import math

import numpy as np
import pytest
import torch

import oneflow as flow

pytestmark = pytest.mark.one_in(3)

COUNT = 20_000
# The distance that a right sample exceeds once in about a million runs.
LIMIT = 2.7 / math.sqrt(COUNT)


@pytest.fixture(autouse=True)
def _seed():
    flow.manual_seed(11)


def distance(sample: flow.Tensor, cdf) -> float:
    """Kolmogorov and Smirnov's distance between a sample and a distribution function."""
    ordered = np.sort(sample.numpy().astype(np.float64).ravel())
    levels = cdf(ordered)
    steps = np.arange(len(ordered) + 1) / len(ordered)
    return max(np.abs(levels - steps[:-1]).max(), np.abs(levels - steps[1:]).max())


def by_torch(distribution):
    return lambda x: distribution.cdf(torch.from_numpy(x)).numpy()


D = torch.distributions
CONTINUOUS = {
    "rand": (lambda: flow.rand(COUNT), D.Uniform(0.0, 1.0, validate_args=False)),
    "rand float64": (
        lambda: flow.rand(COUNT, dtype=flow.float64),
        D.Uniform(0.0, 1.0, validate_args=False),
    ),
    "uniform_": (
        lambda: flow.empty(COUNT).uniform_(-3, 5),
        D.Uniform(-3.0, 5.0, validate_args=False),
    ),
    "randn": (lambda: flow.randn(COUNT), D.Normal(0.0, 1.0)),
    "randn float64": (lambda: flow.randn(COUNT, dtype=flow.float64), D.Normal(0.0, 1.0)),
    "normal": (lambda: flow.normal(2.0, 3.0, (COUNT,)), D.Normal(2.0, 3.0)),
    "normal_": (lambda: flow.empty(COUNT).normal_(-1, 0.5), D.Normal(-1.0, 0.5)),
    "exponential_": (lambda: flow.empty(COUNT).exponential_(2.5), D.Exponential(2.5)),
    "log_normal_": (lambda: flow.empty(COUNT).log_normal_(0.3, 0.7), D.LogNormal(0.3, 0.7)),
    "cauchy_": (lambda: flow.empty(COUNT).cauchy_(1.0, 2.0), D.Cauchy(1.0, 2.0)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_distribution(name):
    draw, distribution = CONTINUOUS[name]
    sample = draw()
    assert distance(sample, by_torch(distribution)) < LIMIT
    assert np.isfinite(sample.numpy()).all()


def test_truncated_normal():
    normal = D.Normal(0.5, 2.0)
    low, high = (normal.cdf(torch.tensor(end)).item() for end in (-1.0, 3.0))
    sample = flow.empty(COUNT).trunc_normal_(0.5, 2.0, -1.0, 3.0)
    level = by_torch(normal)
    assert distance(sample, lambda x: (level(x) - low) / (high - low)) < LIMIT
    assert sample.min().item() >= -1
    assert sample.max().item() <= 3


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_every_float_type(name):
    dtype = getattr(flow, name)
    uniform, normal = flow.rand(COUNT, dtype=dtype), flow.randn(COUNT, dtype=dtype)
    assert uniform.dtype is dtype
    assert normal.dtype is dtype
    values = uniform.numpy().astype(np.float64)
    assert values.min() >= 0
    assert values.max() < 1
    assert abs(values.mean() - 0.5) < 0.015
    values = normal.numpy().astype(np.float64)
    assert abs(values.mean()) < 0.04
    assert abs(values.std() - 1) < 0.03


def test_uniform_numbers_use_the_whole_mantissa():
    single, double = flow.rand(COUNT).numpy(), flow.rand(COUNT, dtype=flow.float64).numpy()
    for values, digits in ((single.astype(np.float64), 24), (double, 53)):
        whole = values * 2.0**digits
        assert (whole == np.floor(whole)).all()
        assert abs((whole % 2).mean() - 0.5) < 0.02


def test_complex_numbers():
    values = flow.randn(COUNT, dtype=flow.complex64).numpy()
    assert abs(values.real.var() - 0.5) < 0.03
    assert abs(values.imag.var() - 0.5) < 0.03
    assert abs((values.real * values.imag).mean()) < 0.02
    values = flow.rand(COUNT, dtype=flow.complex128).numpy()
    for part in (values.real, values.imag):
        assert 0 <= part.min() < 0.01
        assert 0.99 < part.max() < 1
        assert abs(part.var() - 1 / 12) < 0.005
    assert abs(np.corrcoef(values.real, values.imag)[0, 1]) < 0.05


def counts(sample: flow.Tensor, low: int, high: int) -> np.ndarray:
    values = sample.numpy().astype(np.int64)
    assert values.min() >= low
    assert values.max() < high
    return np.bincount(values - low, minlength=high - low)


def chi_square(found: np.ndarray, probabilities: np.ndarray) -> float:
    """Pearson's statistic in standard deviations above its mean."""
    expected = found.sum() * probabilities
    statistic = ((found - expected) ** 2 / expected).sum()
    freedom = len(found) - 1
    return (statistic - freedom) / math.sqrt(2 * freedom)


def test_randint_is_uniform():
    assert chi_square(counts(flow.randint(-3, 14, (COUNT,)), -3, 14), np.full(17, 1 / 17)) < 6


def test_randint_over_wide_ranges():
    values = flow.randint(-(2**63), 2**63 - 1, (COUNT,)).numpy()
    assert abs((values < 0).mean() - 0.5) < 0.02
    assert values.min() < -(2**62)
    assert values.max() > 2**62
    values = flow.randint(0, 3 * 2**61, (COUNT,)).numpy()
    assert abs(values.mean() / (3 * 2**60) - 1) < 0.02


def test_random_covers_what_the_type_holds():
    assert (
        chi_square(
            counts(flow.empty(COUNT, dtype=flow.uint8).random_(), 0, 256), np.full(256, 1 / 256)
        )
        < 6
    )
    assert flow.empty(COUNT, dtype=flow.int8).random_().numpy().max() == 127
    assert flow.empty(COUNT).random_().numpy().max() <= 2**24
    assert flow.empty(COUNT, dtype=flow.int64).random_().numpy().max() > 2**62
    assert set(flow.empty(100, dtype=flow.bool).random_().tolist()) == {True, False}
    assert counts(flow.empty(COUNT).random_(5), 0, 5).min() > 0
    assert counts(flow.empty(COUNT).random_(2, 5), 2, 5).min() > 0


def test_bernoulli():
    p = flow.tensor([0.0, 0.1, 0.5, 1.0]).expand(COUNT, 4)
    means = flow.bernoulli(p).mean(0).numpy()
    np.testing.assert_allclose(means, [0, 0.1, 0.5, 1], atol=0.02)
    assert means[0] == 0
    assert means[3] == 1
    assert abs(flow.bernoulli(flow.zeros(COUNT), 0.3).mean().item() - 0.3) < 0.02
    assert abs(flow.zeros(COUNT, dtype=flow.int64).bernoulli_(0.3).numpy().mean() - 0.3) < 0.02
    assert flow.bernoulli(flow.ones(3, dtype=flow.float64)).dtype is flow.float64


def test_geometric():
    found = flow.empty(COUNT).geometric_(0.3).numpy()
    assert found.min() == 1
    tail = np.bincount(np.minimum(found, 8).astype(int), minlength=9)[1:]
    probabilities = 0.3 * 0.7 ** np.arange(8)
    probabilities[-1] = 1 - probabilities[:-1].sum()
    assert chi_square(tail, probabilities) < 6


def fits(sample: flow.Tensor, distribution, low: int, high: int) -> None:
    """Counts outside ``[low, high]`` go with its ends."""
    found = np.bincount(np.clip(sample.numpy().ravel(), low, high).astype(int) - low)
    at = torch.arange(low, high + 1, dtype=torch.float64)
    probabilities = distribution.log_prob(at).exp().numpy()
    far = torch.arange(0, low, dtype=torch.float64)
    probabilities[0] += distribution.log_prob(far).exp().sum().item()
    probabilities[-1] += 1 - probabilities.sum()
    assert chi_square(found, probabilities) < 6


@pytest.mark.parametrize(
    ("rate", "low", "high"), [(0.5, 0, 3), (4.0, 0, 9), (12.0, 4, 22), (300.0, 260, 340)]
)
def test_poisson(rate, low, high):
    sample = flow.poisson(flow.full((COUNT,), rate))
    assert (sample.numpy() >= 0).all()
    fits(sample, D.Poisson(torch.tensor(rate, dtype=torch.float64)), low, high)


def test_poisson_rates_of_each_element():
    rates = flow.tensor([0.0, 1.0, 50.0, 1e9], dtype=flow.float64)
    sample = flow.poisson(rates.expand(1000, 4)).numpy()
    assert (sample == np.floor(sample)).all()
    assert (sample[:, 0] == 0).all()
    assert abs(sample[:, 1].mean() - 1) < 0.2
    assert abs(sample[:, 2].var() - 50) < 15
    assert abs(sample[:, 3].std() / math.sqrt(1e9) - 1) < 0.15
    assert flow.poisson(flow.tensor([math.inf])).item() == math.inf
    assert flow.poisson(flow.ones(2, 0, dtype=flow.float16)).dtype is flow.float16


def test_poisson_rates_get_zero_gradients():
    rates = flow.tensor([2.0, 30.0], requires_grad=True)
    flow.poisson(rates).sum().backward()
    assert rates.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("trials", "p", "low", "high"),
    [(5, 0.3, 0, 4), (60, 0.9, 48, 59), (40, 0.5, 13, 27), (1000, 0.7, 665, 735)],
)
def test_binomial(trials, p, low, high):
    count = flow.full((COUNT,), float(trials))
    sample = flow.binomial(count, flow.full((COUNT,), p))
    assert (sample.numpy() >= 0).all()
    assert (sample.numpy() <= trials).all()
    p = torch.tensor(p, dtype=torch.float64)
    fits(sample, D.Binomial(trials, p, validate_args=False), low, high)


def test_binomial_of_each_element():
    count = flow.tensor([0.0, 3.0, 3.0, 5.0, math.inf, -2.0])
    p = flow.tensor([0.5, 0.0, 1.0, math.nan, 0.5, 0.5])
    np.testing.assert_array_equal(flow.binomial(count, p).numpy(), [0, 0, 3, np.nan, np.inf, 0])
    assert flow.binomial(flow.ones(3, 1), flow.ones(2)).tolist() == [[1.0, 1.0]] * 3


@pytest.mark.parametrize("name", ["poisson", "binomial"])
def test_counts_repeat_with_the_seed(name):
    mean = flow.tensor([3.0, 70.0]).expand(50, 2)
    arguments = (mean,) if name == "poisson" else (mean * 2, flow.full((50, 2), 0.5))
    drawn = []
    for seed in (1, 1, 2):
        generator = flow.Generator().manual_seed(seed)
        drawn.append(getattr(flow, name)(*arguments, generator=generator).tolist())
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_randperm():
    for n in (0, 1, 2, 1000):
        assert sorted(flow.randperm(n).tolist()) == list(range(n))
    heads = [flow.randperm(3).tolist() for _ in range(300)]
    found = np.unique(np.array(heads) @ [9, 3, 1], return_counts=True)[1]
    assert chi_square(found, np.full(6, 1 / 6)) < 6
    assert flow.randperm(5, dtype=flow.float32).dtype is flow.float32


def test_multinomial_with_replacement():
    weights = flow.tensor([[0.0, 1.0, 3.0, 4.0], [5.0, 0.0, 5.0, 0.0]])
    found = flow.multinomial(weights, 4000, replacement=True).numpy()
    first, second = (np.bincount(row, minlength=4) for row in found)
    assert first[0] == second[1] == second[3] == 0
    assert chi_square(first[1:], np.array([1, 3, 4]) / 8) < 6
    assert chi_square(second[[0, 2]], np.array([0.5, 0.5])) < 6


def test_multinomial_without_replacement():
    weights = flow.tensor([0.0, 1.0, 3.0, 4.0]).expand(6000, 4)
    found = flow.multinomial(weights, 3).numpy()
    assert (np.sort(found, axis=1) == [1, 2, 3]).all()
    assert chi_square(np.bincount(found[:, 0], minlength=4)[1:], np.array([1, 3, 4]) / 8) < 6
    second = np.bincount(found[found[:, 0] == 3, 1], minlength=4)[1:3]
    assert chi_square(second, np.array([0.25, 0.75])) < 6


def test_normal_with_tensors():
    mean, std = flow.tensor([[0.0], [100.0]]), flow.tensor([1.0, 0.0, 5.0])
    assert flow.normal(mean, std).shape == (2, 3)
    assert flow.normal(mean, 0.0).tolist() == [[0.0], [100.0]]
    assert abs(flow.normal(3.0, flow.full((COUNT,), 2.0)).mean().item() - 3) < 0.1


def test_shapes_dtypes_and_devices():
    like = flow.zeros(2, 3, dtype=flow.float64)
    for made in (flow.rand_like(like), flow.randn_like(like)):
        assert made.shape == (2, 3)
        assert made.dtype is flow.float64
    # As OneFlow does; PyTorch takes the dtype of the tensor.
    assert flow.randint_like(like, 5).dtype is flow.int64
    assert flow.randint(5, (2,)).dtype is flow.int64
    assert flow.rand(size=(2, 0)).shape == (2, 0)
    assert flow.rand([]).shape == ()
    assert flow.randn(2, requires_grad=True).requires_grad
    out = flow.zeros(3)
    assert flow.rand(3, out=out) is out
    assert out.sum().item() > 0


def test_in_place_results_are_the_tensor_itself():
    x = flow.zeros(3, 2)
    row = x[1]
    assert row.normal_() is row
    assert (x[0] == 0).all().item()
    assert (x[1] != 0).all().item()


ERRORS = [
    (lambda lib: lib.rand(2, dtype=lib.int64), "randint"),
    (lambda lib: lib.randint(3, 3, (2,)), "random_ expects 'from' to be less than 'to'"),
    (lambda lib: lib.zeros(2, dtype=lib.uint8).random_(0, 300), "to - 1 is out of bounds"),
    (lambda lib: lib.zeros(2, dtype=lib.uint8).random_(-1, 3), "from is out of bounds"),
    (lambda lib: lib.zeros(2, dtype=lib.bool).random_(0, 3), "to - 1 is out of bounds"),
    (lambda lib: lib.zeros(2, dtype=lib.float16).random_(0, 70000), "to - 1 is out of bounds"),
    (lambda lib: lib.zeros(2, dtype=lib.int32).random_(0, 2**33), "to - 1 is out of bounds"),
    (lambda lib: lib.randperm(-1), "non-negative"),
    (lambda lib: lib.randperm(300, dtype=lib.uint8), "at most 256"),
    (lambda lib: lib.randperm(300, out=lib.empty(0, dtype=lib.uint8)), "at most 256"),
    (lambda lib: lib.randperm(4000, dtype=lib.float16), "at most 2049"),
    (lambda lib: lib.normal(0.0, lib.tensor([-1.0, 1.0])).tolist(), "all elements of std"),
    (lambda lib: lib.normal(lib.zeros(2), lib.tensor(-1.0)).tolist(), "all elements of std"),
    (lambda lib: lib.normal(lib.zeros(2), lib.zeros(2) + 1j), "non-complex"),
    (lambda lib: lib.normal(0.0, -1.0, (2,)), "normal expects std >= 0.0, but found std -1"),
    (lambda lib: lib.zeros(2).normal_(0, -1), "normal expects std >= 0.0, but found std -1"),
    (lambda lib: lib.normal(0.0, math.nan, (2,)), "normal expects std >= 0.0, but found std nan"),
    (lambda lib: lib.zeros(2).normal_(0, math.nan), "normal expects std >= 0.0, but found std nan"),
    (lambda lib: lib.normal(0.0, lib.tensor([math.nan])).tolist(), "all elements of std"),
    (lambda lib: lib.zeros(2).exponential_(math.nan), "exponential_ expects lambda > 0.0"),
    (lambda lib: lib.zeros(2).cauchy_(0, math.nan), "cauchy_ expects sigma > 0.0"),
    (lambda lib: lib.zeros(2).log_normal_(0, math.nan), "log_normal_ expects std > 0.0"),
    (lambda lib: lib.zeros(2).geometric_(math.nan), "geometric_ expects p to be in (0, 1)"),
    (lambda lib: lib.zeros(2).uniform_(3, 1), "uniform_ expects to return a [from, to) range"),
    (lambda lib: lib.zeros(2).uniform_(-3e38, 3e38), "to - from is out of bounds"),
    (lambda lib: lib.zeros(2, dtype=lib.float64).uniform_(-1.7e308, 1.7e308), "to - from is out"),
    (lambda lib: lib.zeros(2, dtype=lib.float16).uniform_(0, 1e6), "to is out of bounds"),
    (lambda lib: lib.zeros(2).exponential_(0), "exponential_ expects lambda > 0.0"),
    (lambda lib: lib.zeros(2).geometric_(1.0), "geometric_ expects p to be in (0, 1)"),
    (lambda lib: lib.zeros(2).cauchy_(0, -1), "cauchy_ expects sigma > 0.0"),
    (lambda lib: lib.zeros(2).log_normal_(0, -1), "log_normal_ expects std > 0.0"),
    (lambda lib: lib.zeros(2).bernoulli_(1.5), "bernoulli_ expects p to be in [0, 1]"),
    (lambda lib: lib.bernoulli(lib.tensor([1.5])).sum().item(), "Expected p_in >= 0 && p_in <= 1"),
    (lambda lib: lib.zeros(2, dtype=lib.int64).normal_(), ""),
    (lambda lib: lib.zeros(2, dtype=lib.int64).uniform_(), ""),
    (lambda lib: lib.zeros(2, requires_grad=True).normal_(), "a leaf Variable that requires grad"),
    (lambda lib: lib.multinomial(lib.ones(2), 0), "cannot sample n_sample <= 0 samples"),
    (lambda lib: lib.multinomial(lib.ones(2), 3), "cannot sample n_sample > prob_dist.size(-1)"),
    (lambda lib: lib.multinomial(lib.ones(2, 2, 2), 1), "prob_dist must be 1 or 2 dim"),
    (
        lambda lib: lib.multinomial(lib.tensor([-1.0, 2.0]), 1).tolist(),
        "probability tensor contains",
    ),
    (lambda lib: lib.multinomial(lib.zeros(2), 1).tolist(), "invalid multinomial distribution"),
    (lambda lib: lib.poisson(lib.tensor([1.0, -2.0])).tolist(), "invalid Poisson rate"),
    (lambda lib: lib.poisson(lib.tensor([1])), ""),
    (lambda lib: lib.binomial(lib.tensor([1]), lib.tensor([0.5])), "only supports floating-point"),
    (lambda lib: lib.binomial(lib.ones(2), lib.ones(2, dtype=lib.float64)), ""),
    (lambda lib: lib.binomial(lib.ones(2), 0.5), "must be Tensor, not float"),
    (lambda lib: lib.nn.functional.dropout(lib.ones(2), 1.5), "has to be between 0 and 1"),
]


def test_draws_do_not_follow_the_parameters_of_normal():
    for lib in (torch, flow):
        mean, std = (lib.ones(2, requires_grad=True) for _ in range(2))
        lib.normal(mean[:, None], std).sum().backward()
        assert mean.grad.tolist() == std.grad.tolist() == [0, 0]


@pytest.mark.parametrize("position", range(len(ERRORS)))
def test_errors_are_those_of_pytorch(position):
    case, message = ERRORS[position]
    with pytest.raises((RuntimeError, ValueError, TypeError, NotImplementedError)) as theirs:
        case(torch)
    with pytest.raises(theirs.type) as ours:
        case(flow)
    assert ours.type is theirs.type
    assert message in str(ours.value)


def test_draws_never_fall_on_weights_of_zero():
    """XLA's cumulative sums of many weights may rise where a weight is 0."""
    weights = np.random.default_rng(0).random(100_000).astype(np.float32)
    weights[::2] = 0
    for seed in range(3):
        flow.manual_seed(seed)
        drawn = flow.multinomial(flow.tensor(weights), 100_000, replacement=True)
        assert weights[drawn.numpy()].all()
