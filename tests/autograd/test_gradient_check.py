"""`gradcheck` and `gradgradcheck`: what they accept and what they find, against PyTorch."""

from __future__ import annotations

import itertools

import pytest
import torch

import oneflow as flow
from tests.autograd.both import agree, outcome

VALUES = {
    "float64": [0.5, -1.5],
    "complex128": [0.5 + 1.0j, -1.5 + 0.25j],
    "float32": [0.5, -1.5],
    "complex64": [0.5 + 1.0j, -1.5 + 0.25j],
}


def _wrong(lib, factor):
    """The identity with a gradient that is `factor` times the right one."""

    class Wrong(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * factor

    return Wrong.apply


FUNCTIONS = {
    "square": lambda lib: lambda x: x * x,
    "times i": lambda lib: lambda x: x * 1j,
    "conj": lambda lib: lambda x: (x * x).conj(),
    "real": lambda lib: lambda x: (x * x).real,
    "abs": lambda lib: lambda x: x.abs(),
    "exp": lambda lib: lambda x: x.exp() * x,
    "complex of": lambda lib: lambda x: lib.complex(x.abs(), x.abs() * 2),
    "several": lambda lib: lambda x: (x * x, x.abs()),
    "with an integer": lambda lib: lambda x: (x * x, x.abs().round().long()),
    "with a constant": lambda lib: lambda x: (x * x, x.detach() * 2),
    "constant": lambda lib: lambda x: lib.ones(2, dtype=x.dtype),
    "detached": lambda lib: lambda x: x.detach() * 2,
    "linear": lambda lib: lambda x: x.sum() * 2,
    "twice the gradient": lambda lib: _wrong(lib, 2),
    "rotated gradient": lambda lib: _wrong(lib, 1j),
    "right gradient": lambda lib: _wrong(lib, 1),
}
OPTIONS = {
    "default": {},
    "rough": {"eps": 1e-2, "atol": 5e-2, "rtol": 5e-2},
}


def _check(name, function, dtype, options):
    def case(lib):
        x = lib.tensor(VALUES[dtype], dtype=getattr(lib, dtype), requires_grad=True)
        check = getattr(lib.autograd, function)
        return check(FUNCTIONS[name](lib), (x,), raise_exception=False, **OPTIONS[options])

    return case


CASES = [
    (*case, *kind)
    for case in itertools.product(FUNCTIONS, ["gradcheck", "gradgradcheck"])
    # Without any output that requires grad PyTorch's gradgradcheck mixes up its arguments.
    if case not in [("constant", "gradgradcheck"), ("detached", "gradgradcheck")]
    for kind in [
        ("float64", "default"),
        ("complex128", "default"),
        ("float32", "rough"),
        ("complex64", "rough"),
    ]
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "function", "dtype", "options"), CASES)
def test_checks_find_what_pytorchs_find(name, function, dtype, options):
    case = _check(name, function, dtype, options)
    ours, theirs = outcome(case, flow), outcome(case, torch)
    if isinstance(theirs, tuple):
        assert isinstance(ours, tuple), (ours, theirs)
    else:
        assert ours == theirs


def _pair(lib):
    make = {"dtype": lib.float64, "requires_grad": True}
    return lib.tensor([0.5, 2.0], **make), lib.tensor([1.0, -1.0], **make)


OTHERS = {
    "an unused input": lambda lib: lib.autograd.gradcheck(lambda x, y: x * x, _pair(lib)),
    "an unused input, second": lambda lib: lib.autograd.gradgradcheck(
        lambda x, y: x * x, _pair(lib)
    ),
    "given gradients": lambda lib: lib.autograd.gradgradcheck(
        lambda x, y: x * x * y, _pair(lib), (_pair(lib)[1],)
    ),
    "one given gradient": lambda lib: lib.autograd.gradgradcheck(
        lambda x, y: x * x * y, _pair(lib), _pair(lib)[1].detach()
    ),
    "a number among inputs": lambda lib: lib.autograd.gradcheck(
        lambda x, k: x * k, (_pair(lib)[0], 3.0)
    ),
    "no gradient wanted": lambda lib: lib.autograd.gradcheck(
        lambda x: x, (_pair(lib)[0].detach(),)
    ),
    "options": lambda lib: lib.autograd.gradgradcheck(
        lambda x: x * x,
        (_pair(lib)[0],),
        gen_non_contig_grad_outputs=True,
        check_undefined_grad=False,
        fast_mode=False,
        nondet_tol=0.0,
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_inputs_of_other_kinds(name):
    ours, theirs = (outcome(OTHERS[name], lib) for lib in (flow, torch))
    assert ours == theirs if theirs is True else ours[0] == theirs[0]


# Relative changes of the gradient from pass to pass, and whether they are only roundings.
PASSES = {0.0: True, 1e-14: True, 1e-10: False, 1e-3: False}


@pytest.mark.parametrize("change", PASSES)
def test_second_passes_may_round_otherwise(change):
    class Changing(flow.autograd.Function):
        passes = 0

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            Changing.passes += 1
            return g * (1 + change * Changing.passes)

    def check(scale, **options):
        x = flow.tensor([0.5, 1e-9], dtype=flow.float64, requires_grad=True)
        return flow.autograd.gradcheck(
            lambda x: Changing.apply(x) * scale, x, raise_exception=False, **options
        )

    assert check(1.0) == check(1e-3) == PASSES[change]
    assert check(1.0, nondet_tol=1.0, rtol=1.0)


def test_gradients_without_end_are_the_same_again():
    x = flow.tensor([0.0, 4.0], dtype=flow.float64, requires_grad=True)
    for function, fits in ((lambda x: x.sqrt(), False), (lambda x: x * 2, True)):
        assert flow.autograd.gradcheck(function, x, raise_exception=False) is fits


def test_single_precision_is_checked_with_a_warning():
    x = flow.tensor([0.5], requires_grad=True)
    with pytest.warns(UserWarning, match="input 0 has dtype oneflow.float32"):
        assert not flow.autograd.gradcheck(lambda x: x.exp(), x, raise_exception=False)


def test_checks_draw_nothing_from_the_users_generator():
    state = flow.get_rng_state()
    flow.autograd.gradgradcheck(lambda x, y: x * y, _pair(flow))
    assert flow.equal(flow.get_rng_state(), state)


OUTPUTS = {
    "an input itself": lambda lib: lambda x, y: (x + y, y),
    "a part of an input": lambda lib: lambda x, y: (x * y, y[:1]),
    "a view of an input": lambda lib: lambda x, y: (x * y, y.view_as(y)),
    "another shape nearby": lambda lib: (
        lambda x, y: lib.cat([x, x]) if bool((x >= x.round()).all()) else x
    ),
    "another dtype nearby": lambda lib: (
        lambda x, y: x.to(lib.float32) if bool((x >= x.round()).all()) else x
    ),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_are_those_of_the_inputs_as_they_are_then(name):
    def case(lib):
        x, y = (lib.tensor([n, 2.0], dtype=lib.float64, requires_grad=True) for n in (1.0, 3.0))
        return lib.autograd.gradcheck(OUTPUTS[name](lib), (x, y))

    agree(case, ("nearby" in name and "with the same") or None)


def _with_jvp(lib, factor):
    """Three times a number, with a `jvp` of that factor, and a right `backward`."""

    class Tripled(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, g):
            return g * 3

        @staticmethod
        def jvp(ctx, x_t):
            return x_t * factor

    return Tripled.apply


@pytest.mark.parametrize("backward", [True, False])
@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("factor", [3, 2])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_forward_mode_is_checked_when_it_is_asked_for(dtype, factor, forward, backward):
    def check(lib):
        x = lib.tensor(VALUES[dtype], dtype=getattr(lib, dtype), requires_grad=True)
        options = {"check_forward_ad": forward, "check_backward_ad": backward}
        options |= {"check_batched_grad": False, "raise_exception": False}
        return lib.autograd.gradcheck(_with_jvp(lib, factor), (x,), **options)

    ours, theirs = outcome(check, flow), outcome(check, torch)
    if not forward and not backward:
        assert (ours[0], theirs[0]) == ("AssertionError", "AssertionError")
    else:
        assert ours == theirs


def test_forward_mode_needs_no_backward():
    class Sum(flow.autograd.Function):
        @staticmethod
        def forward(ctx, number, x, y):
            return x * number + y

        @staticmethod
        def jvp(ctx, _, x_t, y_t):
            return x_t * 2 + y_t

    x, y = (flow.rand(2, dtype=flow.float64, requires_grad=True) for _ in range(2))
    options = {"check_forward_ad": True, "check_backward_ad": False}
    assert flow.autograd.gradcheck(Sum.apply, (2, x, y), **options)
    with pytest.raises(RuntimeError, match="input 1 in forward mode differs"):
        flow.autograd.gradcheck(Sum.apply, (3, x, y), **options)


def _matrix(lib, layout):
    x = lib.tensor([[0.5, 0.0], [-1.5, 2.0]], dtype=lib.float64)
    return x.to_sparse(layout=getattr(lib, layout)).requires_grad_()


SPARSE = {
    "product": lambda lib, x: x @ lib.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=lib.float64),
    "sine, sparse": lambda lib, x: x.sin(),
    "dense": lambda lib, x: x.to_dense() ** 2,
}


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("check", ["gradcheck", "gradgradcheck"])
@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_stored_values_of_sparse_tensors_are_checked(layout, name, check):
    def function(x):
        return SPARSE[name](flow, x)

    assert getattr(flow.autograd, check)(function, (_matrix(flow, layout),))


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_gradients_of_sparse_results_can_be_sparse(layout):
    x = _matrix(flow, layout)
    assert flow.autograd.gradgradcheck(lambda x: x.sin(), (x,), (_matrix(flow, layout),))


def test_a_wrong_gradient_of_stored_values_is_found():
    x = _matrix(flow, "sparse_coo")
    wrong = _wrong(flow, 2)
    with pytest.raises(RuntimeError, match="input 0 in backward mode differs"):
        flow.autograd.gradcheck(lambda x: wrong(x.values()), (x.coalesce(),))
    assert flow.autograd.gradcheck(lambda x: _wrong(flow, 1)(x.values()), (x.coalesce(),))


def test_the_components_of_nested_tensors_are_checked():
    parts = [flow.rand(2, 3, dtype=flow.float64), flow.rand(1, 3, dtype=flow.float64)]
    x = flow.nested.nested_tensor(parts).requires_grad_()
    assert flow.autograd.gradcheck(lambda x: x.sin() * 2, (x,))
