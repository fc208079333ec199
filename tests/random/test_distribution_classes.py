"""`oneflow.distributions` against PyTorch."""

import numpy as np
import pytest
import torch

import oneflow as flow

PARAMETERS = {
    "Normal": {"loc": [0.5, -1.0], "scale": [[1.0], [2.0], [0.3]]},
    "Uniform": {"low": [0.0, -1.0], "high": [[1.0], [2.0], [3.0]]},
    "Bernoulli": {"probs": [0.2, 0.7]},
    "Bernoulli logits": {"logits": [0.2, -1.7]},
    "Categorical": {"probs": [[0.2, 0.7, 0.4], [1.0, 0.0, 3.0]]},
    "Categorical logits": {"logits": [[0.2, 0.7, 0.4], [1.0, float("-inf"), 3.0]]},
}
VALUES = {
    "Normal": [0.3, 0.9],
    "Uniform": [0.3, 0.9],
    "Bernoulli": [1.0, 0.0],
    "Categorical": [[2], [0]],
}


@pytest.fixture(params=PARAMETERS)
def both(request):
    """A distribution in OneFlow and in PyTorch, and values for it."""
    name, numbers = request.param.split()[0], PARAMETERS[request.param]
    made = [
        getattr(lib.distributions, name)(**{k: lib.tensor(v) for k, v in numbers.items()})
        for lib in (flow, torch)
    ]
    return *made, VALUES[name]


def assert_close(ours, theirs):
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


def test_probabilities_and_entropy(both):
    ours, theirs, values = both
    kind = "long" if type(ours).__name__ == "Categorical" else "float"
    value = [getattr(lib.tensor(values), kind)() for lib in (flow, torch)]
    assert_close(ours.log_prob(value[0]), theirs.log_prob(value[1]))
    assert_close(ours.entropy(), theirs.entropy())
    assert_close(ours.perplexity(), theirs.perplexity())
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)


@pytest.mark.parametrize("name", ["mean", "variance", "stddev", "mode"])
def test_moments(both, name):
    ours, theirs, _ = both
    try:
        found = getattr(ours, name)
    except NotImplementedError:
        return
    assert_close(found, getattr(theirs, name))


def test_cdf(both):
    ours, theirs, values = both
    if type(ours).__name__ not in ("Normal", "Uniform"):
        return
    assert_close(ours.cdf(flow.tensor(values)), theirs.cdf(torch.tensor(values)))
    assert_close(ours.icdf(flow.tensor(values)), theirs.icdf(torch.tensor(values)))


def test_samples(both):
    ours, theirs, _ = both
    drawn = ours.sample((4000,))
    assert not drawn.requires_grad
    assert tuple(drawn.shape) == (4000, *theirs.batch_shape)
    reference = theirs.sample((4000,)).numpy()
    spread = reference.std(0) / 60 * 5 + 1e-9
    assert (np.abs(drawn.numpy().mean(0) - reference.mean(0)) <= 1.5 * spread).all()
    assert ours.sample().shape == ours.batch_shape
    assert ours.sample_n(2).shape == (2, *ours.batch_shape)


def test_expanded(both):
    ours, theirs, _ = both
    shape = (5, *theirs.batch_shape)
    assert_close(ours.expand(shape).entropy(), theirs.expand(shape).entropy())


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
