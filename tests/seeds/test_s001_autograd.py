"""Features named by the v0.6.0 release notes: automatic differentiation."""

import oneflow as flow

T = flow.tensor


def test_s001_57_custom_function_has_its_own_backward():
    class Sq(flow.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = T([3.0], requires_grad=True)
    Sq.apply(x).sum().backward()
    assert x.grad.tolist() == [6.0]


def test_s001_57_result_without_gradient():
    class SignOf(flow.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            positive = x > 0
            ctx.mark_non_differentiable(positive)
            return x * 2, positive

        @staticmethod
        def backward(ctx, doubled, positive):
            return doubled * 2

    x = T([3.0, -1.0], requires_grad=True)
    doubled, positive = SignOf.apply(x)
    doubled.sum().backward()
    assert positive.tolist() == [True, False]
    assert not positive.requires_grad
    assert x.grad.tolist() == [2.0, 2.0]
