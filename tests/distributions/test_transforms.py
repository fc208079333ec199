"""Transforms, constraints and their registries against PyTorch."""

import copy
import pickle

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.distributions.cases import assert_close
from tests.nn.twins import raised_by


def numbers(lib, *values):
    return lib.tensor(list(values), dtype=lib.float64)


VECTOR = (0.3, -1.2, 2.0)
MATRIX = ([0.3, -1.0], [0.5, -0.2])
# A transform of a library's tools, and arguments for it.
TRANSFORMS = {
    "abs": (lambda t, lib: t.AbsTransform(), VECTOR),
    "affine": (lambda t, lib: t.AffineTransform(1.0, -2.0), VECTOR),
    "affine tensors": (
        lambda t, lib: t.AffineTransform(numbers(lib, 1.0, 2.0, 3.0), numbers(lib, 0.5, -1.0, 2.0)),
        VECTOR,
    ),
    "affine event": (lambda t, lib: t.AffineTransform(1.0, -2.0, event_dim=1), VECTOR),
    "exp": (lambda t, lib: t.ExpTransform(), VECTOR),
    "power": (lambda t, lib: t.PowerTransform(numbers(lib, 2.0, -1.0, 0.5)), (0.3, 1.2, 2.0)),
    "sigmoid": (lambda t, lib: t.SigmoidTransform(), VECTOR),
    "softplus": (lambda t, lib: t.SoftplusTransform(), VECTOR),
    "tanh": (lambda t, lib: t.TanhTransform(), VECTOR),
    "cdf": (
        lambda t, lib: t.CumulativeDistributionTransform(
            lib.distributions.Normal(numbers(lib, 0.5), 2.0)
        ),
        VECTOR,
    ),
    "softmax": (lambda t, lib: t.SoftmaxTransform(), VECTOR),
    "stick breaking": (lambda t, lib: t.StickBreakingTransform(), VECTOR),
    "corr cholesky": (lambda t, lib: t.CorrCholeskyTransform(), VECTOR),
    "lower cholesky": (lambda t, lib: t.LowerCholeskyTransform(), MATRIX),
    "positive definite": (lambda t, lib: t.PositiveDefiniteTransform(), MATRIX),
    "reshape": (lambda t, lib: t.ReshapeTransform((3,), (3, 1)), VECTOR),
    "independent": (lambda t, lib: t.IndependentTransform(t.ExpTransform(), 1), VECTOR),
    "compose": (
        lambda t, lib: t.ComposeTransform(
            [t.AffineTransform(1.0, 2.0), t.TanhTransform(), t.ExpTransform()]
        ),
        VECTOR,
    ),
    "compose event": (
        lambda t, lib: t.ComposeTransform(
            [t.ExpTransform(), t.StickBreakingTransform(), t.AffineTransform(0.0, 2.0)]
        ),
        VECTOR,
    ),
    "identity": (lambda t, lib: t.identity_transform, VECTOR),
    "cat": (
        lambda t, lib: t.CatTransform(
            [t.ExpTransform(), t.TanhTransform()], dim=-1, lengths=[1, 2]
        ),
        VECTOR,
    ),
    "stack": (
        lambda t, lib: t.StackTransform([t.ExpTransform(), t.TanhTransform()], dim=-2),
        MATRIX,
    ),
}
NOT_DIFFERENTIABLE = ("abs", "softmax", "lower cholesky", "positive definite")


def both(name, flipped=False):
    """A transform of both libraries, or its inverse, and arguments of it."""
    make, arguments = TRANSFORMS[name]
    found = []
    for lib in (flow, torch):
        transform, x = make(lib.distributions.transforms, lib), numbers(lib, *arguments)
        found.append((transform.inv, transform(x)) if flipped else (transform, x))
    return found


@pytest.mark.parametrize("flipped", [False, True], ids=["forward", "inverse"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform(name, flipped):
    (ours, x), (theirs, other) = both(name, flipped)
    y, expected = ours(x), theirs(other)
    assert_close(y, expected)
    assert_close(ours.inv(y), theirs.inv(expected))
    assert ours.bijective == theirs.bijective
    for side in ("domain", "codomain"):
        assert getattr(ours, side).event_dim == getattr(theirs, side).event_dim
    assert tuple(ours.forward_shape(x.shape)) == tuple(theirs.forward_shape(other.shape))
    assert tuple(ours.inverse_shape(y.shape)) == tuple(theirs.inverse_shape(expected.shape))
    if name not in NOT_DIFFERENTIABLE:
        assert_close(ours.log_abs_det_jacobian(x, y), theirs.log_abs_det_jacobian(other, expected))


@pytest.mark.parametrize("name", ["exp", "affine", "tanh", "sigmoid", "softplus", "power", "cdf"])
def test_determinants_are_those_of_the_derivative(name):
    (ours, x), _ = both(name)
    x = x.detach().requires_grad_()
    y = ours(x)
    y.sum().backward()
    expected = torch.tensor(x.grad.abs().log().numpy())
    assert_close(ours.log_abs_det_jacobian(x, y).expand(x.shape), expected)
    sign = ours.sign
    assert ((x.grad > 0).numpy() == ((sign.numpy() if name == "power" else sign) > 0)).all()


def test_determinant_of_stick_breaking():
    (ours, x), _ = both("stick breaking")
    jacobian = flow.autograd.functional.jacobian(lambda v: ours(v)[..., :-1], x)
    determinant = np.linalg.slogdet(jacobian.numpy())[1]
    np.testing.assert_allclose(ours.log_abs_det_jacobian(x, ours(x)).item(), determinant)


CACHED = [name for name in TRANSFORMS if name != "identity"]


@pytest.mark.parametrize("name", CACHED)
def test_caches(name):
    (ours, x), _ = both(name)
    assert ours.inv.inv == ours or name == "compose event"
    cached = ours.with_cache()
    y = cached(x)
    if name not in ("compose", "compose event", "cat", "stack"):
        assert cached(x) is y
        assert cached.inv(y) is x
    else:
        assert_close(cached.inv(y), torch.tensor(x.numpy()))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_equality(name):
    """Two transforms are equal where PyTorch says so."""
    make = TRANSFORMS[name][0]
    found = [
        make(lib.distributions.transforms, lib) == make(lib.distributions.transforms, lib)
        for lib in (flow, torch)
    ]
    # PyTorch compares these by identity.
    assert found[0] == (found[1] or name == "corr cholesky")


CONSTRAINTS = {
    "boolean": ([0.0, 1.0, 0.5],),
    "one_hot": ([[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]],),
    "nonnegative_integer": ([0.0, 3.0, -1.0, 0.5],),
    "positive_integer": ([0.0, 3.0, -1.0, 0.5],),
    "integer_interval": ([0.0, 3.0, -1.0, 0.5, 4.0], 0, 3),
    "real": ([0.0, float("nan"), float("inf")],),
    "real_vector": ([[0.0, float("nan")], [1.0, 2.0]],),
    "positive": ([0.0, 1.0, -1.0],),
    "nonnegative": ([0.0, 1.0, -1.0],),
    "greater_than": ([0.0, 2.0, 3.0], 2.0),
    "greater_than_eq": ([0.0, 2.0, 3.0], 2.0),
    "less_than": ([0.0, 2.0, 3.0], 2.0),
    "multinomial": ([[1.0, 2.0], [3.0, 1.0], [-1.0, 1.0]], 3),
    "unit_interval": ([0.0, 1.0, 1.1, -0.1],),
    "interval": ([0.0, 2.0, 3.0, 3.1], 2.0, 3.0),
    "half_open_interval": ([0.0, 2.0, 3.0, 3.1], 2.0, 3.0),
    "simplex": ([[0.3, 0.7], [0.3, 0.8], [-0.1, 1.1]],),
    "lower_triangular": ([[[1.0, 0.0], [2.0, 3.0]], [[1.0, 1.0], [2.0, 3.0]]],),
    "lower_cholesky": ([[[1.0, 0.0], [2.0, 3.0]], [[-1.0, 0.0], [2.0, 3.0]]],),
    "corr_cholesky": ([[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.9]]],),
    "square": ([[[1.0, 0.0], [0.6, 0.8]]],),
    "symmetric": ([[[1.0, 0.5], [0.5, 0.8]], [[1.0, 0.0], [0.6, 0.9]]],),
    "positive_semidefinite": ([[[1.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]],),
    "positive_definite": ([[[1.0, 0.5], [0.5, 0.8]], [[1.0, 2.0], [2.0, 1.0]]],),
}


def constraint(lib, name):
    arguments = CONSTRAINTS[name][1:]
    found = getattr(lib.distributions.constraints, name)
    return found(*arguments) if arguments else found


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraint(name):
    value = CONSTRAINTS[name][0]
    ours, theirs = constraint(flow, name), constraint(torch, name)
    assert_close(ours.check(numbers(flow, *value)), theirs.check(numbers(torch, *value)))
    assert ours.is_discrete == theirs.is_discrete
    assert ours.event_dim == theirs.event_dim


def test_constraints_of_parts():
    for lib in (flow, torch):
        found = lib.distributions.constraints
        both = found.cat([found.positive, found.real], dim=-1, lengths=[1, 2])
        assert both.check(numbers(lib, -1.0, -1.0, 1.0)).tolist() == [False, True, True]
        stacked = found.stack([found.positive, found.real], dim=0)
        assert stacked.check(numbers(lib, [-1.0], [-1.0])).tolist() == [[False], [True]]
        assert (both.event_dim, stacked.is_discrete, stacked.event_dim) == (0, False, 0)
        rectangle = lib.ones(2, 3)
        for transform in (found.square, found.symmetric, found.positive_definite):
            assert not transform.check(rectangle).any()
        assert repr(found.independent(found.real, 2)) == "IndependentConstraint(Real(), 2)"
        assert found.is_dependent(found.dependent)
        with pytest.raises(ValueError, match="dependent"):
            found.dependent.check(rectangle)
        with pytest.raises(NotImplementedError, match="event_dim"):
            _ = found.dependent.event_dim
        assert found.dependent(is_discrete=True, event_dim=1).event_dim == 1
        with pytest.raises(ValueError, match="Expected value"):
            found.real_vector.check(lib.tensor(1.0))


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_registry(registry, name):
    """Constraints that have a transform in PyTorch have one, which gives the same values."""
    try:
        theirs = getattr(torch.distributions, registry)(constraint(torch, name))
    except NotImplementedError:
        with pytest.raises(NotImplementedError, match="Cannot transform"):
            getattr(flow.distributions, registry)(constraint(flow, name))
        return
    ours = getattr(flow.distributions, registry)(constraint(flow, name))
    arguments = MATRIX if constraint(flow, name).event_dim == 2 and "corr" not in name else VECTOR
    y = ours(numbers(flow, *arguments))
    assert_close(y, theirs(numbers(torch, *arguments)))
    assert constraint(flow, name).check(y).all()


def test_registry_of_parts():
    for registry in ("biject_to", "transform_to"):
        found = []
        for lib in (flow, torch):
            tools, get = lib.distributions.constraints, getattr(lib.distributions, registry)
            cat = get(tools.cat([tools.positive, tools.unit_interval], dim=-1, lengths=[1, 2]))
            stack = get(tools.stack([tools.positive, tools.unit_interval], dim=-2))
            low = get(tools.greater_than(numbers(lib, 1.0, 2.0, 3.0)))
            x = numbers(lib, *VECTOR)
            found.append([cat(x), stack(numbers(lib, *MATRIX)), low(x)])
        for ours, theirs in zip(*found, strict=True):
            assert_close(ours, theirs)


def test_registering():
    tools = flow.distributions

    class Even(tools.constraints.Constraint):
        pass

    registry = tools.constraint_registry.ConstraintRegistry()
    registry.register(Even, lambda constraint: tools.AffineTransform(0.0, 2.0))
    assert registry(Even())(flow.tensor(3.0)).item() == 6.0
    with pytest.raises(TypeError, match="Constraint subclass or instance"):
        registry.register(int, lambda constraint: tools.ExpTransform())


def transformed(lib):
    """Distributions of transformed values, and values of them."""
    tools = lib.distributions
    normal = tools.Normal(numbers(lib, 0.5, -1.0), numbers(lib, 1.0, 2.0))
    vector = tools.MultivariateNormal(numbers(lib, 0.5, -1.0), lib.eye(2, dtype=lib.float64))
    return {
        "exp": (tools.TransformedDistribution(normal, tools.ExpTransform()), (0.3, 2.0)),
        "decreasing": (
            tools.TransformedDistribution(
                normal, [tools.AffineTransform(1.0, -2.0), tools.SigmoidTransform()]
            ),
            (0.3, 0.8),
        ),
        "vector": (
            tools.TransformedDistribution(normal, tools.StickBreakingTransform()),
            (0.3, 0.5, 0.2),
        ),
        "of a vector": (tools.TransformedDistribution(vector, tools.ExpTransform()), (0.3, 2.0)),
        "expanded": (
            tools.TransformedDistribution(
                tools.Normal(numbers(lib, 0.5).squeeze(), 1.0),
                tools.AffineTransform(numbers(lib, 1.0, 2.0), 3.0),
            ),
            (0.3, 2.0),
        ),
        "nothing": (tools.TransformedDistribution(normal, []), (0.3, 2.0)),
    }


@pytest.mark.parametrize(
    "name", ["exp", "decreasing", "vector", "of a vector", "expanded", "nothing"]
)
def test_transformed_distribution(name):
    (ours, value), (theirs, _) = transformed(flow)[name], transformed(torch)[name]
    x, other = numbers(flow, *value), numbers(torch, *value)
    assert_close(ours.log_prob(x), theirs.log_prob(other))
    assert ours.batch_shape == tuple(theirs.batch_shape)
    assert ours.event_shape == tuple(theirs.event_shape)
    assert ours.support.event_dim == theirs.support.event_dim
    assert ours.has_rsample == theirs.has_rsample
    assert ours.sample((5,)).shape == (5, *theirs.batch_shape, *theirs.event_shape)
    larger = (4, *theirs.batch_shape)
    assert_close(ours.expand(larger).log_prob(x), theirs.expand(larger).log_prob(other))
    assert ours.expand(larger).rsample((2,)).shape == (2, *larger, *theirs.event_shape)
    if not theirs.event_shape:
        assert_close(ours.cdf(x), theirs.cdf(other))
        level = numbers(flow, 0.3, 0.7), numbers(torch, 0.3, 0.7)
        assert_close(ours.icdf(level[0]), theirs.icdf(level[1]))


MISUSES = [
    lambda tools, lib: tools.ExpTransform(cache_size=2),
    lambda tools, lib: tools.TransformedDistribution(tools.Normal(0.0, 1.0), [1]),
    lambda tools, lib: tools.TransformedDistribution(
        tools.Normal(0.0, 1.0), tools.StickBreakingTransform()
    ),
    lambda tools, lib: tools.ReshapeTransform((2,), (3,)),
    lambda tools, lib: tools.ReshapeTransform((2,), (1, 2)).forward_shape((3,)),
    lambda tools, lib: tools.ReshapeTransform((2, 1), (1, 2)).forward_shape((2,)),
    lambda tools, lib: tools.ReshapeTransform((2,), (1, 2)).event_dim,
    lambda tools, lib: tools.StickBreakingTransform().forward_shape(()),
    lambda tools, lib: tools.CorrCholeskyTransform().forward_shape((2,)),
    lambda tools, lib: tools.CorrCholeskyTransform().inverse_shape((2, 3)),
    lambda tools, lib: tools.CorrCholeskyTransform().inverse_shape((2,)),
    lambda tools, lib: tools.IndependentTransform(tools.ExpTransform(), 2)(lib.ones(2)),
    lambda tools, lib: tools.StickBreakingTransform().sign,
    lambda tools, lib: lib.distributions.utils.vec_to_tril_matrix(lib.ones(2)),
]


@pytest.mark.parametrize("misuse", MISUSES)
def test_errors_are_of_pytorchs_type(misuse):
    with pytest.raises(raised_by(lambda: misuse(torch.distributions, torch))):
        misuse(flow.distributions, flow)


def test_triangles_and_vectors():
    for diag in (0, -1):
        found = []
        for lib in (flow, torch):
            tools = lib.distributions.utils
            vector = lib.arange(12, dtype=lib.float64).reshape(2, 6)
            matrix = tools.vec_to_tril_matrix(vector, diag)
            found.append((matrix, tools.tril_matrix_to_vec(matrix, diag)))
        for ours, theirs in zip(*found, strict=True):
            assert_close(ours, theirs)


def test_parameters_learn_through_transforms():
    """A normalizing flow: gradients reach what a transform is made of."""
    scale = flow.tensor(2.0, requires_grad=True)
    tools = flow.distributions
    model = tools.TransformedDistribution(
        tools.Normal(0.0, 1.0), [tools.AffineTransform(0.0, scale), tools.TanhTransform()]
    )
    model.log_prob(flow.tensor(0.5)).backward()
    x = np.arctanh(0.5)
    np.testing.assert_allclose(scale.grad.item(), x**2 / 2.0**3 - 1 / 2.0, rtol=1e-5)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_has_one_inverse(name):
    """It is the same object each time, and its inverse is the transform; copies have their own."""
    for lib in (torch, flow):
        transform = TRANSFORMS[name][0](lib.distributions.transforms, lib)
        for member in (transform, transform.inv):
            assert member.inv is member.inv
            assert member.inv.inv is member
            assert member.with_cache(0) is member
            cached = member.with_cache(1)
            assert cached is not member
            assert cached._cache_size in (0, 1)
    copied = copy.deepcopy(transform)
    assert copied.inv is not transform.inv
    assert copied.inv.inv is copied
    assert repr(pickle.loads(pickle.dumps(transform.inv))) == repr(transform.inv)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_triangles_beside_any_diagonal(size):
    matrix = np.arange(1.0, size * size + 1).reshape(size, size)
    for diag in range(-size, size):
        results = []
        for lib in (torch, flow):
            tools = lib.distributions.utils
            vector = tools.tril_matrix_to_vec(lib.tensor(matrix), diag)
            results.append(tools.vec_to_tril_matrix(vector, diag))
        assert_close(results[1], results[0])


@pytest.mark.parametrize(
    "name", ["HalfCauchy", "HalfNormal", "Gumbel", "Pareto", "Weibull", "Kumaraswamy"]
)
def test_distributions_are_transforms_of_their_base(name: str) -> None:
    numbers = [0.7, 1.5] if name in ("Gumbel", "Pareto", "Weibull", "Kumaraswamy") else [1.5]
    theirs = getattr(torch.distributions, name)(*map(torch.tensor, numbers))
    ours = getattr(flow.distributions, name)(*map(flow.tensor, numbers))
    assert isinstance(ours, flow.distributions.TransformedDistribution)
    assert issubclass(type(ours), flow.distributions.TransformedDistribution)
    base, their_base = ours.base_dist, theirs.base_dist
    assert type(base).__name__ == type(their_base).__name__
    for key in their_base.arg_constraints:
        if hasattr(base, key) and key not in ("probs", "logits"):
            assert getattr(base, key).item() == pytest.approx(getattr(their_base, key).item())
    draw, their_draw = flow.tensor(0.4), torch.tensor(0.4)
    for part, their_part in zip(ours.transforms, theirs.transforms, strict=True):
        draw, their_draw = part(draw), their_part(their_draw)
        assert draw.item() == pytest.approx(their_draw.item(), rel=1e-5)
