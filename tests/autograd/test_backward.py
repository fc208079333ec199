"""`backward` and `autograd.grad` against PyTorch."""

import gc
import weakref

import pytest

import oneflow as flow
from oneflow.autograd import gradients
from oneflow.tensor.views import unwrap
from tests.autograd.both import agree


def leaf(lib, *numbers):
    return lib.tensor(numbers, requires_grad=True)


def test_gradients_add_up_over_uses():
    def case(lib):
        x = leaf(lib, 1.0, 2.0, 3.0)
        y = x * x
        (y * x + y).sum().backward()
        return x.grad

    agree(case)


def test_gradients_accumulate_over_passes_in_the_same_tensor():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        (x * x).sum().backward()
        first = x.grad
        (3 * x).sum().backward()
        return first is x.grad, first

    agree(case)


def test_gradient_of_a_create_graph_pass_is_a_new_tensor():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        (x * x).sum().backward()
        first = x.grad
        (x * x * x).sum().backward(create_graph=True)
        return first is x.grad, first, x.grad, x.grad.requires_grad

    with pytest.warns(UserWarning, match="reference cycle"):
        agree(case)


def test_second_backward_is_an_error():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        y = (x * x).sum()
        y.backward()
        y.backward()

    agree(case, "Trying to backward through the graph a second time")


def test_second_backward_without_saved_values_works():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        y = (x + x).sum()
        y.backward()
        y.backward()
        return x.grad

    agree(case)


def test_retain_graph_allows_a_second_backward():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        y = (x.exp() * x).sum()
        y.backward(retain_graph=True)
        y.backward()
        return x.grad

    agree(case)


def test_higher_derivatives():
    def case(lib):
        x = leaf(lib, 0.5, 2.0)
        results = []
        y = (x**4).sum()
        for _ in range(4):
            (y,) = lib.autograd.grad(y.sum(), x, create_graph=True)
            results.append(y)
        return results

    agree(case)


def test_gradient_penalty():
    def case(lib):
        w, x = leaf(lib, 1.0, -2.0, 0.5), lib.tensor([0.3, 0.7, -0.1])
        loss = ((w * x).sum().tanh() - 0.3) ** 2
        (slope,) = lib.autograd.grad(loss, w, create_graph=True)
        (loss + slope.pow(2).sum()).backward()
        return w.grad

    agree(case)


def test_non_scalar_needs_a_gradient():
    agree(lambda lib: (leaf(lib, 1.0, 2.0) * 2).backward(), "grad can be implicitly created only")


def test_given_gradient():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        (x * x).backward(lib.tensor([10.0, 100.0]))
        return x.grad

    agree(case)


def test_given_gradient_of_another_shape_is_an_error():
    agree(lambda lib: (leaf(lib, 1.0, 2.0) * 2).backward(lib.ones(3)), "Mismatch in shape")


def test_given_gradient_stays_out_of_the_graph():
    def case(lib):
        x, g = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
        (x + 0.0).backward(g)
        return x.grad.requires_grad, x.grad

    agree(case)


def test_backward_of_something_without_history_is_an_error():
    agree(lambda lib: lib.ones(1).backward(), "element 0 of tensors does not require grad")


def test_backward_with_inputs():
    def case(lib):
        x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
        z = x * y
        (z * z).sum().backward(inputs=[x, z])
        return x.grad, y.grad, z.grad

    agree(case)


def test_backward_with_inputs_accumulates_in_place():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        (x * 2).sum().backward(inputs=x)
        first = x.grad
        (x * 3).sum().backward(inputs=x)
        return first is x.grad, x.grad, x.grad.requires_grad

    agree(case)


def test_backward_of_several_tensors():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        lib.autograd.backward([(x * x).sum(), x * 3], [None, lib.tensor([1.0, 10.0])])
        return x.grad

    agree(case)


def test_grad_of_several_inputs_and_outputs():
    def case(lib):
        x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
        grads = lib.autograd.grad([(x * y).sum(), x * 2], [x, y], [None, lib.tensor([1.0, 5.0])])
        return grads, x.grad, y.grad

    agree(case)


def test_grad_of_an_intermediate():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        y = x * x
        return lib.autograd.grad((y * 3).sum(), [y, x])

    agree(case)


def test_grad_of_an_output_itself():
    def case(lib):
        x = leaf(lib, 2.0)
        y = x * x
        return lib.autograd.grad(y, [y, x, x])

    agree(case)


def test_grad_of_an_unused_input_is_an_error():
    def case(lib):
        x, y = leaf(lib, 1.0), leaf(lib, 2.0)
        return lib.autograd.grad(x * 2, [x, y])

    agree(case, "appears to not have been used in the graph")


def test_grad_of_an_unused_input_when_allowed():
    def case(lib):
        x, y = leaf(lib, 1.0), leaf(lib, 2.0)
        return (
            lib.autograd.grad(x * 2, [x, y], allow_unused=True),
            lib.autograd.grad(x * 2, [x, y], materialize_grads=True),
        )

    agree(case)


def test_grad_of_an_input_without_gradient_is_an_error():
    agree(
        lambda lib: lib.autograd.grad(leaf(lib, 1.0) * 2, lib.ones(1)),
        "One of the differentiated Tensors does not require grad",
    )


def test_grad_without_inputs_is_an_error():
    agree(
        lambda lib: lib.autograd.grad(leaf(lib, 1.0) * 2, []),
        "`inputs` argument to `grad()` cannot be empty.",
    )


def test_grad_with_batched_gradients():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        return lib.autograd.grad(x * x, x, lib.eye(2), is_grads_batched=True, only_inputs=True)

    agree(case)


@pytest.mark.parametrize("shape", [(2,), (3, 1), (1, 3, 2)])
def test_batched_gradients_that_do_not_fit(shape):
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        return lib.autograd.grad(x * x, x, lib.ones(shape), is_grads_batched=True)

    agree(case, "we interpret the first dimension of each grad_output")


def test_grad_leaves_retain_grad_and_leaves_alone():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        y = x * 2
        y.retain_grad()
        (y * y).sum().backward()
        return y.grad, x.grad, y.retains_grad, x.retains_grad

    agree(case)


def test_retain_grad_needs_a_gradient():
    agree(lambda lib: lib.ones(1).retain_grad(), "can't retain_grad on Tensor")


def test_write_to_a_leaf_is_an_error():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        x.add_(1)

    agree(case, "a leaf Variable that requires grad is being used in an in-place operation")


def test_write_to_a_view_of_a_leaf_is_an_error():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        x[0].add_(1.0)

    agree(case, "a view of a leaf Variable that requires grad is being used in an in-place")


def test_write_to_a_leaf_without_recording():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        with lib.no_grad():
            x.mul_(2)
            x[0] = 7.0
        (x * x).sum().backward()
        return x, x.is_leaf, x.grad

    agree(case)


def test_write_to_a_saved_tensor_is_an_error():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        y = x * 2
        z = y * y
        y.add_(1)
        z.sum().backward()

    agree(case, "has been modified by an inplace operation")


def test_write_to_a_saved_result_is_an_error():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        y = x.exp()
        y.mul_(2)
        y.sum().backward()

    agree(case, "has been modified by an inplace operation")


def test_write_to_a_tensor_nobody_saved():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        y = x + 1
        y.mul_(3)
        y.sum().backward()
        return y, x.grad, y.is_leaf

    agree(case)


@pytest.mark.parametrize("of_leaf", [True, False])
def test_write_to_a_view_made_without_recording_is_an_error(of_leaf):
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        base = x if of_leaf else x * 2
        with lib.no_grad():
            view = base[0:1]
        view.mul_(2)

    agree(case, "A view was created in no_grad mode and is being modified inplace with grad mode")


def test_view_made_and_written_without_recording():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        with lib.no_grad():
            x[0:1].mul_(5)
        (x * x).sum().backward()
        return x, x.grad

    agree(case)


def test_detach_in_place_keeps_the_memory():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        y = x * 2
        view = y[0]
        y.detach_()
        with lib.no_grad():
            view.add_(1)
        return y, y.requires_grad, y.is_leaf

    agree(case)


def test_view_cannot_be_detached_in_place():
    agree(lambda lib: (leaf(lib, 1.0) * 2)[0].detach_(), "Can't detach views in-place.")


@pytest.mark.parametrize(
    "gradient", [lambda lib: 1, lambda lib: lib.ones(2).double(), lambda lib: lib.ones(3)]
)
def test_assigned_gradient_must_fit(gradient):
    def case(lib):
        leaf(lib, 1.0, 2.0).grad = gradient(lib)

    agree(case, "")


def test_assigned_gradient_is_added_to():
    def case(lib):
        x = leaf(lib, 1.0, 2.0)
        x.grad = mine = lib.ones(2)
        (x * 2).sum().backward()
        return x.grad is mine, mine

    agree(case)


def test_requires_grad_of_an_intermediate_cannot_be_taken_away():
    def case(lib):
        y = leaf(lib, 1.0) * 2
        y.requires_grad = False

    agree(case, "you can only change requires_grad flags of leaf variables")


def test_requires_grad_of_whole_numbers_is_an_error():
    agree(lambda lib: lib.tensor([1]).requires_grad_(), "loating point")


def test_complex_gradients():
    def case(lib):
        x = lib.tensor([1.0 + 2.0j, 0.5 - 1.0j], requires_grad=True)
        (x * x * 3j).abs().sum().backward()
        return x.grad

    agree(case)


def test_next_functions_lead_to_the_leaf():
    x, y = leaf(flow, 1.0), flow.ones(1)
    node = (y * x).grad_fn
    assert node.next_functions[0] == (None, 0)
    (accumulate, index), empty = node.next_functions[1], (y * 2).grad_fn
    assert accumulate.variable is x
    assert index == 0
    assert empty is None


@pytest.mark.parametrize("length", [10_000])
def test_long_chain_neither_recurses_in_backward_nor_when_freed(length):
    x = leaf(flow, 1.0)
    y = x
    for _ in range(length):
        y = y + 1.0
    y.backward()
    assert x.grad.item() == 1.0
    del y


def test_graph_is_freed_without_the_garbage_collector():
    gc.disable()
    try:
        x = leaf(flow, 1.0, 2.0)
        y = x.exp() * x
        y.register_hook(lambda grad: None)
        y.retain_grad()
        z = y.view(2, 1).tanh().sum()
        nodes = [weakref.ref(y.grad_fn), weakref.ref(z.grad_fn)]
        values = [weakref.ref(unwrap(y)), weakref.ref(unwrap(x)), weakref.ref(unwrap(x).node)]
        z.backward()
        assert x.grad is not None
        del x, y, z
        assert [reference() for reference in (*nodes, *values)] == [None] * 5
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("written", "function"),
    [
        ("result", lambda lib, x: lib.nn.functional.max_pool1d(x, 2)),
        ("result", lambda lib, x: lib.nn.functional.relu6(x)),
        ("result", lambda lib, x: x.topk(3)[0]),
        ("operand", lambda lib, x: 2 / x),
        ("operand", lambda lib, x: lib.nn.functional.cross_entropy(x, lib.tensor([2, 0]))),
        ("operand", lambda lib, x: lib.nn.functional.pairwise_distance(x, 2 * x)),
    ],
)
def test_programs_keep_what_is_overwritten_before_the_backward_pass(written, function):
    """Also the third time, when a program is compiled as a whole and reuses memory."""

    def case(lib):
        grads = []
        for step in range(4):
            x = leaf(lib, [1.0 + 0.25 * step, 2.0, 5.0, 3.0], [7.0, 0.5, 4.0, 6.0])
            operand = x * 1
            result = function(lib, operand)
            loss = (result if written == "operand" else result * 1).sum()
            (operand if written == "operand" else result).zero_()
            loss.backward()
            grads.append(x.grad)
        return grads

    agree(case)


@pytest.mark.parametrize(
    "function",
    [
        lambda lib, x: lib.nn.functional.avg_pool1d(x, 2),
        lambda lib, x: lib.nn.functional.max_pool1d(x, 2),
        lambda lib, x: lib.nn.functional.adaptive_avg_pool1d(x, 3),
        lambda lib, x: lib.nn.functional.relu6(x),
    ],
    ids=["avg_pool1d", "max_pool1d", "adaptive_avg_pool1d", "relu6"],
)
def test_gradients_that_do_not_depend_on_the_operand_have_zero_gradients_there(function):
    def case(lib):
        x = leaf(lib, [[1.0, 3.0, 2.0, 4.0]])
        y = function(lib, x)
        g = lib.ones_like(y).requires_grad_()
        (dx,) = lib.autograd.grad(y, x, g, create_graph=True)
        (of_x,) = lib.autograd.grad(dx, x, lib.ones_like(dx), retain_graph=True)
        return dx, of_x, *lib.autograd.grad(dx, [x, g], lib.ones_like(dx))

    agree(case)


def test_many_outputs_begin_with_one_number(monkeypatch):
    calls = []
    make = gradients.ones
    monkeypatch.setattr(gradients, "ones", lambda **named: calls.append(named) or make(**named))
    x = flow.tensor([[1.0, 2.0], [3.0, 4.0]] * 20, requires_grad=True)
    (grad,) = flow.autograd.grad(flow.unbind((x * x).sum(1)), x)
    assert grad.tolist() == [[2.0, 4.0], [6.0, 8.0]] * 20
    assert len(calls) == 1
    flow.autograd.backward([first := flow.ones(()).requires_grad_(), second := leaf(flow, 1.0)])
    first.grad.mul_(5)
    assert (first.grad.item(), second.grad.item()) == (5.0, 1.0)
