"""Custom `autograd.Function`s."""

import gc
import weakref

import pytest

import oneflow as flow
from tests.autograd.both import agree


def square(lib):
    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    return Square


def test_backward_is_used():
    def case(lib):
        x = lib.tensor([3.0], requires_grad=True)
        y = square(lib).apply(x)
        y.sum().backward()
        return y, y.requires_grad, y.is_leaf, x.grad

    agree(case)


def test_instance_is_called_like_apply():
    Square = square(flow)
    x = flow.tensor([3.0], requires_grad=True)
    Square()(x).sum().backward()
    assert x.grad.tolist() == [6.0]


def test_attributes_of_an_instance_are_on_the_context():
    class Scale(flow.autograd.Function):
        def __init__(self, factor):
            self.factor = factor

        def forward(self, x):
            return x * self.factor

        def backward(self, grad):
            return grad * self.factor

    x = flow.ones(2, requires_grad=True)
    Scale(4.0)(x).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_double_backward_through_differentiable_operators():
    def case(lib):
        x = lib.tensor([3.0, -1.0], requires_grad=True)
        (slope,) = lib.autograd.grad((square(lib).apply(x) * x).sum(), x, create_graph=True)
        return slope, lib.autograd.grad(slope.sum(), x)

    agree(case)


def test_saved_result():
    def case(lib):
        class Exp(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = x.exp()
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.saved_tensors[0]

        x = lib.tensor([0.5, 1.0], requires_grad=True)
        (slope,) = lib.autograd.grad(Exp.apply(x).sum(), x, create_graph=True)
        return slope, lib.autograd.grad(slope.sum(), x)

    agree(case)


def test_several_inputs_outputs_and_other_arguments():
    def case(lib):
        seen = []

        class Mix(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor, y, name=None):
                ctx.factor = factor
                ctx.save_for_backward(x, None, y)
                seen.append(ctx.needs_input_grad)
                return x * y, factor, x + y

            @staticmethod
            def backward(ctx, product, factor, total):
                x, nothing, y = ctx.saved_tensors
                seen.append((nothing, factor))
                return product * y + total, None, product * x + total, None

        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = lib.tensor([3.0, 4.0])
        product, factor, total = Mix.apply(x, 2.5, y, "name")
        (product * 2 + total).sum().backward()
        return x.grad, y.grad, factor, seen[0], seen[1][0]

    agree(case)


def test_missing_gradients_are_zeros_unless_told_otherwise():
    def case(lib):
        seen = []

        def make(materialize):
            class Two(lib.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    ctx.set_materialize_grads(materialize)
                    return x * 1, x * 2

                @staticmethod
                def backward(ctx, first, second):
                    seen.append((first, second))
                    return first

            return Two

        for materialize in (True, False):
            x = lib.ones(2, requires_grad=True)
            make(materialize).apply(x)[0].sum().backward()
        return seen

    agree(case)


def test_results_without_gradient():
    def case(lib):
        class Top(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                index, flag = x.argmax(), x * 0
                ctx.mark_non_differentiable(index, flag)
                return x * 2, index, flag

            @staticmethod
            def backward(ctx, grad, index, flag):
                return grad * 2

        x = lib.tensor([1.0, 5.0], requires_grad=True)
        y, index, flag = Top.apply(x)
        y.sum().backward()
        return x.grad, index, flag.requires_grad, index.requires_grad, y.requires_grad

    agree(case)


def test_argument_changed_in_place():
    def case(lib):
        class Double(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                x.mul_(2)
                ctx.mark_dirty(x)
                return x

            @staticmethod
            def backward(ctx, grad):
                return grad * 2

        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        z = Double.apply(y)
        z.sum().backward()
        return z is y, y, x.grad

    agree(case)


def test_leaf_changed_in_place_is_an_error():
    def case(lib):
        class Double(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                x.mul_(2)
                ctx.mark_dirty(x)
                return x

            @staticmethod
            def backward(ctx, grad):
                return grad * 2

        Double.apply(lib.ones(2, requires_grad=True))

    agree(case, "a leaf Variable that requires grad has been used in an in-place operation")


def test_argument_returned_as_it_is():
    def case(lib):
        class Reverse(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x

            @staticmethod
            def backward(ctx, grad):
                return -grad

        x = lib.ones(2, requires_grad=True)
        y = Reverse.apply(x)
        y.sum().backward()
        return y is x, x.grad, x.is_leaf

    agree(case)


def test_setup_context():
    def case(lib):
        class Cube(lib.autograd.Function):
            @staticmethod
            def forward(x, power):
                return x**power

            @staticmethod
            def setup_context(ctx, inputs, output):
                x, ctx.power = inputs
                ctx.save_for_backward(x, output)

            @staticmethod
            def backward(ctx, grad):
                x, y = ctx.saved_tensors
                return grad * ctx.power * y / x, None

        x = lib.tensor([1.0, 2.0], requires_grad=True)
        Cube.apply(x, 3).sum().backward()
        return x.grad

    agree(case)


def test_nothing_is_recorded_without_grad():
    def case(lib):
        x = lib.ones(2, requires_grad=True)
        with lib.no_grad():
            y = square(lib).apply(x)
        z = square(lib).apply(lib.ones(2))
        return y.requires_grad, z.requires_grad, y.grad_fn, z.grad_fn

    agree(case)


def test_forward_is_not_recorded():
    def case(lib):
        seen = []

        class Look(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = x * 2
                seen.append((lib.is_grad_enabled(), y.requires_grad, x.requires_grad))
                with lib.enable_grad():
                    seen.append((x.detach().requires_grad_() * 3).requires_grad)
                return y

            @staticmethod
            def backward(ctx, grad):
                seen.append(lib.is_grad_enabled())
                return grad

        x = lib.ones(2, requires_grad=True)
        Look.apply(x).sum().backward()
        lib.autograd.grad(Look.apply(x).sum(), x, create_graph=True)
        return seen

    agree(case)


def test_write_to_a_saved_argument_is_an_error():
    def case(lib):
        x = lib.ones(2, requires_grad=True) * 1
        y = square(lib).apply(x)
        x.add_(1)
        y.sum().backward()

    agree(case, "has been modified by an inplace operation")


def test_second_backward_is_an_error():
    def case(lib):
        y = square(lib).apply(lib.ones(2, requires_grad=True)).sum()
        y.backward()
        y.backward()

    agree(case, "Trying to backward through the graph a second time")


def test_retained_graph_runs_again():
    def case(lib):
        x = lib.ones(2, requires_grad=True)
        y = square(lib).apply(x).sum()
        y.backward(retain_graph=True)
        y.backward()
        return x.grad

    agree(case)


def returning(lib, result):
    class Return(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, other):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return result(grad)

    Return.apply(lib.ones(3, requires_grad=True), 1).sum().backward()


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda grad: grad, "returned an incorrect number of gradients (expected 2, got 1)"),
        (lambda grad: (grad, None, grad), "returned an incorrect number of gradients"),
        (lambda grad: (grad[:2], None), "returned an invalid gradient at index 0"),
    ],
)
def test_wrong_gradients_are_errors(result, message):
    agree(lambda lib: returning(lib, result), message)


def test_too_many_nones_are_fine():
    agree(lambda lib: returning(lib, lambda grad: (grad, None, None)))


def test_only_tensors_can_be_saved():
    def case(lib):
        class Save(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x, 3)
                return x

        Save.apply(lib.ones(1, requires_grad=True))

    agree(case, "save_for_backward can only save variables, but argument 1 is of type int")


def test_once_differentiable():
    def case(lib):
        class Once(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            @lib.autograd.function.once_differentiable
            def backward(ctx, grad):
                return grad * 2

        x = lib.ones(2, requires_grad=True)
        y = Once.apply(x)
        (slope,) = lib.autograd.grad((y * y).sum(), x, create_graph=True)
        slope.sum().backward()

    agree(
        case, "trying to differentiate twice a function that was marked with @once_differentiable"
    )


def test_forward_must_be_written():
    class Empty(flow.autograd.Function):
        pass

    with pytest.raises(NotImplementedError, match="forward"):
        Empty.apply(flow.ones(1))


def test_graph_is_freed_without_the_garbage_collector():
    class Both(flow.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            _, y = ctx.saved_tensors
            return grad * y

    gc.disable()
    try:
        x = flow.ones(2, requires_grad=True)
        y = Both.apply(x)
        node = weakref.ref(y.grad_fn)
        y.sum().backward()
        del y
        assert node() is None
    finally:
        gc.enable()


def test_name_of_the_node():
    y = square(flow).apply(flow.ones(1, requires_grad=True))
    assert y.grad_fn.name() == "SquareBackward"
    assert y.grad_fn.next_functions[0][0].name() == "accumulate_grad"


def test_nodes_have_a_class_of_the_function():
    def case(lib):
        Square = square(lib)
        node = Square.apply(lib.ones(1, requires_grad=True)).grad_fn
        return type(node).__name__, node.name(), type(node) is Square._backward_cls

    assert case(flow) == ("SquareBackward", "SquareBackward", True)
    agree(case)


def test_a_result_that_is_returned_twice_is_one_tensor():
    def case(lib):
        class Twice(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                output = x * 2
                return output, "between", output, x + 1

            @staticmethod
            def backward(ctx, first, between, second, third):
                return 2 * first + 2 * second + third

        x = lib.tensor([3.0], requires_grad=True)
        first, _, second, third = Twice.apply(x)
        (first * 3 + second * 5 + third * 7).sum().backward()
        return first is second, first, third, x.grad

    agree(case)
