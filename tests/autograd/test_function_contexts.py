"""Contexts and nodes of custom `autograd.Function`s say and refuse what PyTorch's do."""

from tests.autograd.both import agree


def square(lib):
    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

    return Square


def marked(lib, forward):
    class Marked(lib.autograd.Function):
        @staticmethod
        def backward(ctx, *grads):
            return sum(grads), None

    Marked.forward = staticmethod(forward)
    return Marked.apply(lib.ones(2, requires_grad=True) * 2, 1)


def unreturned(ctx, x, number):
    ctx.mark_dirty(x.add_(number))
    return x.clone(), x + 1


def returned(ctx, x, number):
    ctx.mark_dirty(x.add_(number))
    return x, x + 1


def test_what_is_marked_dirty_must_be_returned():
    agree(lambda lib: marked(lib, returned))
    agree(lambda lib: marked(lib, unreturned), "marked as dirty")


def test_backward_and_vjp_are_two_names_of_one():
    def case(lib):
        class Both(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, grad):
                return grad

            @staticmethod
            def vjp(ctx, grad):
                return grad

        Both.apply(lib.ones(1, requires_grad=True)).sum().backward()

    agree(case, "Implementing both 'backward' and 'vjp'")


def test_nodes_show_what_was_saved():
    def case(lib):
        x = lib.tensor([3.0], requires_grad=True)
        node = square(lib).apply(x).grad_fn
        saved = node.saved_tensors
        return len(saved), saved[0], saved[0] is x, square(lib).generate_vmap_rule

    agree(case)


def test_inplace_function_is_a_function():
    def case(lib):
        class Add(lib.autograd.function.InplaceFunction):
            @staticmethod
            def forward(ctx, x, y):
                ctx.mark_dirty(x)
                return x.add_(y), y + 2

            @staticmethod
            def backward(ctx, grad_x, grad_y):
                return grad_x, grad_x + grad_y

        x, y = lib.zeros(2), lib.ones(2, requires_grad=True)
        first, second = Add.apply(x, y)
        (first + 3 * second).sum().backward()
        return first is x, Add().inplace, y.grad

    agree(case)
