"""Jacobians, Hessians, their products with vectors, and gradient checks."""

import pytest
import torch

import oneflow as flow
from tests.autograd.both import agree


def points(lib):
    return lib.tensor([0.5, -1.0]), lib.tensor([[2.0], [3.0]])


def two(x, y):
    return x * x, (y.sum() * x).sum()


def test_jacobian_of_one():
    def case(lib):
        derive = lib.autograd.functional.jacobian
        x = points(lib)[0]
        return derive(lambda x: x * x.sum(), x), derive(lambda x: x.sum(), x)

    agree(case)


def test_jacobian_of_several():
    agree(lambda lib: lib.autograd.functional.jacobian(two, points(lib)))


def test_jacobian_with_graph():
    def case(lib):
        x = lib.tensor([0.5, -1.0], requires_grad=True)
        matrix = lib.autograd.functional.jacobian(lambda x: x * x * x, x, create_graph=True)
        matrix.sum().backward()
        return matrix, matrix.requires_grad, x.grad

    agree(case)


def test_jacobian_of_what_does_not_depend():
    def case(lib):
        return lib.autograd.functional.jacobian(lambda x, y: (x * 2, x.sum()), points(lib))

    agree(case)


def test_strict_jacobian_refuses_independence():
    def case(lib):
        derive = lib.autograd.functional.jacobian
        derive(lambda x, y: (x * 2) * y.sum().detach(), points(lib), strict=True)

    with pytest.raises(RuntimeError, match="independent of input 1"):
        case(flow)


# Functions, and which derivatives `strict` refuses: all, or with `create_graph` alone.
STRICT = {
    "linear": lambda lib, x: x * 2,
    "the sum": lambda lib, x: x.sum(),
    "the sum of squares": lambda lib, x: (x * x).sum(),
    "cubes": lambda lib, x: (x**3).sum(),
    "one output depends": lambda lib, x: (x * x, lib.ones(2)),
    "nothing depends": lambda lib, x: lib.ones(2),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("api", ["jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"])
@pytest.mark.parametrize("name", STRICT)
def test_what_strict_refuses(name, api, create_graph):
    outcomes = []
    for lib in (flow, torch):
        x = lib.tensor([1.0, -2.0])
        result = STRICT[name](lib, x)
        ones = [
            lib.ones(tensor.shape) for tensor in (result if isinstance(result, tuple) else [result])
        ]
        v = {
            "jacobian": (),
            "hessian": (),
            "vjp": (tuple(ones) if isinstance(result, tuple) else ones[0],),
        }.get(api, (lib.ones(2),))
        derive = getattr(lib.autograd.functional, api)
        try:
            found = derive(
                lambda x, lib=lib: STRICT[name](lib, x),
                x,
                *v,
                strict=True,
                create_graph=create_graph,
            )
            outcomes.append([tensor.tolist() for tensor in flatten(found)])
        except RuntimeError:
            outcomes.append("refused")
    assert outcomes[0] == outcomes[1]


def flatten(results):
    return (
        [x for result in results for x in flatten(result)]
        if isinstance(results, tuple)
        else [results]
    )


def test_hessian():
    def case(lib):
        derive = lib.autograd.functional.hessian
        single = derive(lambda x: (x * x * x).sum(), points(lib)[0])
        return single, derive(lambda x, y: (x * x).sum() * (y * y).sum(), points(lib))

    agree(case)


@pytest.mark.parametrize("name", ["vjp", "jvp"])
def test_products_with_the_jacobian(name):
    def case(lib):
        derive = getattr(lib.autograd.functional, name)
        x, y = points(lib)
        v = (x + 1, lib.tensor(2.0)) if name == "vjp" else (x + 1, y * 2)
        return derive(two, (x, y), v), derive(lambda x: x * x, x, x + 3)

    agree(case)


@pytest.mark.parametrize("name", ["vhp", "hvp"])
def test_products_with_the_hessian(name):
    def case(lib):
        derive = getattr(lib.autograd.functional, name)
        x, y = points(lib)
        return derive(lambda x, y: (x * x).sum() * (y * y).sum(), (x, y), (x + 1, y * 2))

    agree(case)


def test_vector_may_be_left_out_for_one_element():
    agree(lambda lib: lib.autograd.functional.vjp(lambda x: (x * x).sum(), points(lib)[0]))
    agree(
        lambda lib: lib.autograd.functional.vjp(lambda x: x * x, points(lib)[0]),
        "The vector v can only be None if",
    )


def test_gradient_checks_agree_with_right_gradients():
    x = flow.tensor([0.5, 2.0], dtype=flow.float64, requires_grad=True)
    y = flow.tensor([1.5], dtype=flow.float64, requires_grad=True)
    assert flow.autograd.gradcheck(lambda x, y: (x * y).tanh(), (x, y))
    assert flow.autograd.gradgradcheck(lambda x, y: (x * y).tanh(), (x, y))


def test_gradient_check_finds_a_wrong_gradient():
    class Wrong(flow.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    x = flow.tensor([0.5, 2.0], dtype=flow.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="in backward mode differs from the difference quotient"):
        flow.autograd.gradcheck(Wrong.apply, x)
    assert not flow.autograd.gradcheck(Wrong.apply, x, raise_exception=False, fast_mode=True)


def test_gradient_checks_refuse_what_pytorch_does_not_know():
    x = flow.ones(1, dtype=flow.float64, requires_grad=True)
    with pytest.raises(TypeError, match="fats_mode"):
        flow.autograd.gradcheck(flow.exp, x, fats_mode=True)


def test_gradient_of_an_angle_at_the_origin():
    def case(lib):
        x = lib.tensor([0.0, 0.0, 1.0], requires_grad=True)
        y = lib.tensor([0.0, 1.0, 0.0], requires_grad=True)
        return lib.autograd.grad(lib.atan2(x, y).sum(), [x, y])

    agree(case)


RESULTS = {
    "one element": lambda x: (x * x).sum().reshape(1, 1),
    "several elements": lambda x: x * x,
    "a tuple": lambda x: ((x * x).sum(),),
    "something else beside a tensor": lambda x: ((x * x).sum(), "more"),
    "something else": lambda x: 1.0,
}


@pytest.mark.parametrize("function", ["hessian", "hvp", "vhp"])
@pytest.mark.parametrize("result", RESULTS)
def test_functions_with_second_derivatives_return_one_element(function, result):
    def case(lib):
        x = lib.tensor([1.0, 2.0])
        vector = () if function == "hessian" else (lib.ones(2),)
        try:
            return getattr(lib.autograd.functional, function)(RESULTS[result], x, *vector)
        except (RuntimeError, TypeError) as error:
            return type(error).__name__

    agree(case)


@pytest.mark.parametrize("create_graph", [False, True])
def test_zeros_for_missing_gradients_can_be_differentiated(create_graph):
    def case(lib):
        x = lib.tensor(0.5, requires_grad=True)
        y = lib.tensor(1.0, requires_grad=True)
        options = {"create_graph": create_graph, "materialize_grads": True}
        (gradient,) = lib.autograd.grad(y * 2, x, **options)
        return gradient, gradient.requires_grad

    agree(case)


def test_a_tensor_is_not_its_own_gradient():
    def case(lib):
        x = lib.ones(2)
        try:
            x.grad = x
        except RuntimeError:
            return x.grad
        return "assigned"

    agree(case)


def test_what_pytorch_refuses_has_these_derivatives():
    x = flow.tensor([1.0, 2.0], requires_grad=True)
    result = flow.utils.checkpoint.checkpoint(lambda x: x * x * x, x, use_reentrant=True)
    assert flow.autograd.grad(result.sum(), x)[0].tolist() == [3, 12]
    derive = flow.autograd.functional.jacobian
    assert derive(lambda x: x * x, x, strict=True, vectorize=True).tolist() == [[2, 0], [0, 4]]
