"""``torch.autograd.forward_ad`` in PyTorch's place, compared with PyTorch."""

from __future__ import annotations

import contextlib

import pytest
import torch
import torch.autograd.forward_ad

from tests.in_place import in_place_of
from tests.oracle import difference


def mocked():
    in_place_of("torch.autograd.forward_ad")
    return in_place_of("torch")


def both(program):
    """The results of a program in PyTorch's place, and in PyTorch."""
    return program(mocked()), program(torch)


FUNCTIONS = {
    "product": lambda t, x: x * x.sin(),
    "matrix": lambda t, x: t.linalg.inv(x @ x.T + t.eye(2)),
    "softmax": lambda t, x: x.softmax(-1).log().sum(0),
    "branches": lambda t, x: x.exp() if x.sum() > 0 else x.neg(),
    "index": lambda t, x: t.cat([x[1], x[0, ::2]]),
    "in place": lambda t, x: x.mul_(2).add_(x),
    "written": lambda t, x: t.zeros(2, 3).index_copy_(0, t.tensor([1, 0]), x) * 3,
    "constant": lambda t, x: t.ones(2) * 2,
    "itself": lambda t, x: x,
    "layer": lambda t, x: t.nn.functional.layer_norm(x, (3,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangents_are_those_of_pytorch(name):
    def program(t):
        forward_ad = t.autograd.forward_ad
        x = t.tensor([[0.5, 1.0, -2.0], [0.1, 3.0, 0.2]])
        tangent = t.tensor([[1.0, 0.5, 2.0], [-1.0, 0.0, 0.3]])
        with forward_ad.dual_level():
            result = FUNCTIONS[name](t, forward_ad.make_dual(x.clone(), tangent))
            primal, found = forward_ad.unpack_dual(result)
        again = forward_ad.unpack_dual(result)
        return primal, [] if found is None else [found], again.tangent is None, primal.requires_grad

    found, expected = both(program)
    assert difference(found, expected) is None


def test_tangents_of_several_tensors_with_parameters():
    def program(t):
        forward_ad = t.autograd.forward_ad
        layer = t.nn.Linear(3, 2)
        layer.load_state_dict(
            {"weight": t.tensor([[1.0, 2, 3], [4, 5, 6]]), "bias": t.tensor([1.0, -1.0])}
        )
        with forward_ad.dual_level():
            x = forward_ad.make_dual(t.ones(4, 3), t.full((4, 3), 0.5))
            y = forward_ad.make_dual(t.ones(4, 2), t.full((4, 2), 2.0))
            primal, tangent = forward_ad.unpack_dual((layer(x) * y).tanh())
            other = forward_ad.unpack_dual(x + 1)
        (tangent.sum() + primal.sum()).backward()
        gradients = layer.weight.grad, layer.bias.grad
        return primal.detach(), tangent.detach(), gradients, tuple(other)

    found, expected = both(program)
    assert difference(found, expected) is None


def test_given_tangents_and_levels_are_found():
    def program(t):
        forward_ad, x, tangent = t.autograd.forward_ad, t.ones(2), t.full((2,), 3.0)
        levels = [forward_ad._current_level]
        with forward_ad.dual_level():
            levels.append(forward_ad._current_level)
            dual = forward_ad.make_dual(x.clone(), tangent)
            first = forward_ad.unpack_dual(dual)
            values = [tensor.clone() for tensor in first]
            dual.mul_(2)
            second = forward_ad.unpack_dual(dual)
        return levels, first.tangent is tangent, values, tuple(second)

    found, expected = both(program)
    assert difference(found, expected) is None


MISTAKES = {
    "outside": lambda t, ad: ad.make_dual(t.ones(1), t.ones(1)),
    "left twice": lambda t, ad: ad.exit_dual_level(),
    "nested": lambda t, ad: [ad.enter_dual_level() for _ in range(2)],
    "shape": lambda t, ad: [ad.enter_dual_level(), ad.make_dual(t.ones(2), t.ones(3))],
    "integers": lambda t, ad: [ad.enter_dual_level(), ad.make_dual(t.tensor(1), t.ones(()))],
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_raise_as_in_pytorch(name):
    def program(t):
        try:
            MISTAKES[name](t, t.autograd.forward_ad)
        except Exception as error:
            return type(error).__name__
        finally:
            with contextlib.suppress(RuntimeError):
                t.autograd.forward_ad.exit_dual_level()

    found, expected = both(program)
    assert found == expected is not None


def test_functionalize_computes_what_the_function_does():
    def program(t):
        def changed(x):
            return x.view(-1).add_(1).sum()

        x = t.ones(2, 2)
        with pytest.raises(RuntimeError):
            t.func.functionalize(changed, remove="views")(x)
        result = t.func.functionalize(changed, remove="mutations_and_views")(x)
        return result, x

    found, expected = both(program)
    assert difference(found, expected) is None


def _functions(t):
    """Functions whose `jvp` differs from their `backward`, so that values tell who was asked."""

    class Scaled(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale, y):
            result = x.exp() * scale * y
            ctx.save_for_backward(y)
            ctx.save_for_forward(result, x)
            ctx.scale = scale
            return result, x + y

        @staticmethod
        def backward(ctx, grad, other):
            return grad, None, grad

        @staticmethod
        def jvp(ctx, x, _, y):
            result, point = ctx.saved_tensors
            return 7 * x * result + y * point.exp() * ctx.scale, x + y

    class Tripled(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(3)

        @staticmethod
        def jvp(ctx, x):
            return x.mul_(3)

    class Square(t.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs)
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.saved_tensors[0] * grad

        @staticmethod
        def jvp(ctx, x):
            return 2 * ctx.saved_tensors[0] * x

    return Scaled.apply, Tripled.apply, Square.apply


def test_a_function_with_jvp_gives_its_tangents():
    def program(t):
        scaled, tripled, square = _functions(t)
        forward_ad = t.autograd.forward_ad
        x, y = t.tensor([1.0, 2.0], requires_grad=True), t.tensor([3.0, 4.0])
        v = t.tensor([0.5, 0.25])
        with forward_ad.dual_level():
            dual, other = forward_ad.make_dual(x.detach(), v), forward_ad.make_dual(y, 2 * v)
            results = [*scaled(dual, 2.0, other), scaled(dual, 2.0, y)[0], square(dual * 2)]
            results += [tripled(dual * 1) * dual]
            tangents = [forward_ad.unpack_dual(result).tangent for result in results]
        scaled(x, 2.0, y)[0].sum().backward()
        return tangents, x.grad, t.func.jvp(square, (y,), (v,))

    found, expected = both(program)
    assert difference(found, expected) is None


def test_tangents_of_functions_with_jvp_are_differentiated():
    def slope_of_tangent(t, square):
        x, v = t.tensor([1.0, 2.0]), t.tensor([0.5, 0.25])
        return t.func.grad(lambda x: t.func.jvp(lambda x: square(x).sin(), (x,), (v,))[1].sum())(x)

    t = mocked()
    found = slope_of_tangent(t, _functions(t)[2])
    assert difference(found, slope_of_tangent(torch, torch.square)) is None


def test_a_jvp_that_forgets_a_result_is_an_error():
    t = mocked()

    class Pair(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x * 2

        @staticmethod
        def jvp(ctx, x):
            return x

    with pytest.raises(RuntimeError, match="1 tangents for 2 results"):
        t.func.jvp(Pair.apply, (t.ones(2),), (t.ones(2),))


def test_tangents_in_inference_mode_are_refused():
    t = mocked()
    with (
        t.inference_mode(),
        t.autograd.forward_ad.dual_level(),
        pytest.raises(RuntimeError, match=r"use `torch\.no_grad"),
    ):
        t.autograd.forward_ad.make_dual(t.ones(2), t.ones(2))
    with t.no_grad(), t.autograd.forward_ad.dual_level():
        dual = t.autograd.forward_ad.make_dual(t.tensor(3.0), t.tensor(1.0))
        assert t.autograd.forward_ad.unpack_dual(dual * dual).tangent.item() == 6


def test_backward_passes_run_whether_they_may_have_threads():
    def program(t):
        x = t.ones(2, requires_grad=True)
        with t.autograd.set_multithreading_enabled(False):
            (x * 2).sum().backward()

        @t.autograd.set_multithreading_enabled(True)
        def again():
            (x * 3).sum().backward()

        again()
        t.autograd.grad_mode.set_multithreading_enabled(True).clone()
        return x.grad

    found, expected = both(program)
    assert difference(found, expected) is None
