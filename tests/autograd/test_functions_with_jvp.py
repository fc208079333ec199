"""Functions of users with a `jvp`: derivatives of their tangents, and passes that they run."""

import pytest

import oneflow as flow
from oneflow.utils.checkpoint import checkpoint

POINT, DIRECTION = [0.5, -1.0], [1.0, 2.0]


class SavesInput(flow.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_forward(None, x)
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        return grad * 3 * ctx.saved_tensors[0] ** 2

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 3 * ctx.saved_tensors[1] ** 2


class SavesResult(flow.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_forward(result)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * ctx.saved_tensors[0]


class SavesBoth(flow.autograd.Function):
    @staticmethod
    def forward(x):
        return x.exp(), x * x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs, *output)
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx, grad, grad_of_product):
        _, power, product = ctx.saved_tensors
        return grad * power + grad_of_product * (power + product)

    @staticmethod
    def jvp(ctx, tangent):
        _, power, product = ctx.saved_tensors
        return tangent * power, tangent * (power + product)


class OfAnother(flow.autograd.Function):
    """Its `jvp` calls a function that has one."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_forward(x)
        ctx.save_for_backward(x)
        return x.exp() ** 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2 * SavesResult.apply(ctx.saved_tensors[0]) ** 2

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 2 * SavesResult.apply(ctx.saved_tensors[0]) ** 2


FUNCTIONS = {
    "saved input": (SavesInput.apply, lambda x: x**3),
    "saved result": (SavesResult.apply, flow.exp),
    "both": (lambda x: sum(SavesBoth.apply(x)), lambda x: x.exp() + x * x.exp()),
    "of another": (OfAnother.apply, lambda x: (2 * x).exp()),
    "one of another": (lambda x: SavesResult.apply(SavesInput.apply(x)), lambda x: (x**3).exp()),
    "checkpointed": (lambda x: checkpoint(SavesResult.apply, x), flow.exp),
}


def _tangent(function, x):
    return flow.func.jvp(function, (x,), (flow.tensor(DIRECTION),))[1]


def _gradient(function, x):
    return flow.func.grad(lambda x: function(x).sum())(x)


DERIVATIVES = {
    "jvp": _tangent,
    "grad of jvp": lambda f, x: _gradient(lambda x: _tangent(f, x), x),
    "jvp of jvp": lambda f, x: _tangent(lambda x: _tangent(f, x), x),
    "jvp of grad": lambda f, x: _tangent(lambda x: _gradient(f, x), x),
    "jvp of jvp of jvp": lambda f, x: _tangent(lambda x: _tangent(lambda x: _tangent(f, x), x), x),
    "grad of grad of jvp": lambda f, x: _gradient(
        lambda x: _gradient(lambda x: _tangent(f, x), x), x
    ),
    "hessian": lambda f, x: flow.func.hessian(lambda x: f(x).sum())(x),
    "jacfwd of jacfwd": lambda f, x: flow.func.jacfwd(flow.func.jacfwd(f))(x),
}


@pytest.mark.parametrize("is_put_away", [False, True])
@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_the_formula(name, derivative, is_put_away):
    function, formula = FUNCTIONS[name]
    x = flow.tensor(POINT)
    expected = DERIVATIVES[derivative](formula, x)
    if is_put_away:
        with flow.autograd.graph.save_on_cpu():
            result = DERIVATIVES[derivative](function, x)
    else:
        result = DERIVATIVES[derivative](function, x)
    assert flow.allclose(result, expected, rtol=1e-5), (result, expected)


@pytest.mark.parametrize("function", [SavesInput, SavesResult])
def test_what_was_written_to_since_is_refused(function):
    def written(x):
        point = x * 1
        result = function.apply(point)
        (point if function is SavesInput else result).mul_(2)
        return result

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        flow.func.jvp(written, (flow.tensor(POINT),), (flow.tensor(DIRECTION),))


def test_only_tensors_are_saved():
    class Function(flow.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x, 2.0)
            return x

    with pytest.raises(TypeError, match=r"save_for_forward can only save .* argument 1 .* float"):
        Function.apply(flow.ones(1))


class Asked(flow.autograd.Function):
    """Its gradient is 3 if `backward` was asked, and 100 if `jvp` was."""

    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, grad):
        return grad * 3

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 100


@flow.enable_grad()
def _own_pass():
    """The gradient in a backward pass that code of a user runs."""
    leaf = flow.ones(2).requires_grad_()
    return flow.autograd.grad(Asked.apply(leaf).sum(), leaf)[0]


class PassInJvp(flow.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * _own_pass()


class PassInBackward(flow.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, grad):
        return grad * _own_pass()


def _hooked(x):
    hooks = flow.autograd.graph.saved_tensors_hooks(
        lambda tensor: tensor, lambda tensor: tensor * 0 + _own_pass() / 2
    )
    with hooks:
        return x * x.detach().requires_grad_() * 2


@pytest.mark.parametrize(
    "function",
    [
        PassInJvp.apply,
        PassInBackward.apply,
        _hooked,
        lambda x: checkpoint(lambda x: x * _own_pass(), x),
        lambda x: checkpoint(PassInJvp.apply, x),
    ],
)
def test_passes_of_users_ask_for_backward(function):
    _, tangent = flow.func.jvp(function, (flow.tensor(POINT),), (flow.tensor(DIRECTION),))
    assert tangent.tolist() == [3.0, 6.0]


def test_forward_mode_runs_no_hooks():
    calls = []

    def function(x):
        result = x * 2
        result.register_hook(calls.append)
        return Asked.apply(result)

    _, tangent = flow.func.jvp(function, (flow.tensor(POINT),), (flow.tensor(DIRECTION),))
    assert tangent.tolist() == [200.0, 400.0]
    assert not calls
