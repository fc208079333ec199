"""Hooks on tensors and on nodes."""

import pytest
import torch

import oneflow as flow
from tests.autograd.both import agree


def test_hook_sees_and_replaces_the_gradient():
    def case(lib):
        seen = []
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = x * x
        y.register_hook(lambda grad: seen.append(grad.clone()))
        y.register_hook(lambda grad: grad * 10)
        x.register_hook(lambda grad: grad + 1)
        (y * 3).sum().backward()
        return seen, x.grad

    agree(case)


def test_hooks_of_a_leaf_outlive_its_freezing():
    """As of the networks of a pair that is trained in turns."""

    def case(lib):
        seen = []
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        handle = x.register_hook(lambda grad: grad * 10)
        x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.clone()))
        for _ in range(2):
            x.requires_grad_(False)
            x.requires_grad = True
            (x * 3).sum().backward()
        handle.remove()
        x.requires_grad_(False).requires_grad_()
        x.register_hook(lambda grad: grad + 1)
        (x * 3).sum().backward()
        return seen

    agree(case)


def test_hook_sees_the_complete_gradient_once():
    def case(lib):
        seen = []
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        y.register_hook(lambda grad: seen.append(grad.clone()))
        (y * y + y).sum().backward()
        return seen

    agree(case)


def test_hooks_run_in_order_and_retain_grad_last():
    def case(lib):
        order = []
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        y.retain_grad()
        y.register_hook(lambda grad: order.append("first"))
        y.register_hook(lambda grad: (order.append("second"), grad * 5)[1])
        x.register_hook(lambda grad: order.append("leaf"))
        x.register_post_accumulate_grad_hook(lambda tensor: order.append(tensor.grad.clone()))
        (y * y).sum().backward()
        return order, y.grad, x.grad

    agree(case)


def test_removed_hook_does_not_run():
    def case(lib):
        x = lib.tensor([1.0], requires_grad=True)
        handle = x.register_hook(lambda grad: grad * 100)
        handle.remove()
        handle.remove()
        with x.register_hook(lambda grad: grad * 10):
            (x * 2).backward()
        (x * 2).backward()
        return x.grad

    agree(case)


def test_hook_of_a_tensor_without_gradient_is_an_error():
    agree(
        lambda lib: lib.ones(1).register_hook(lambda grad: grad),
        "cannot register a hook on a tensor that doesn't require gradient",
    )


def test_post_accumulate_hook_of_an_intermediate_is_an_error():
    def case(lib):
        y = lib.ones(1, requires_grad=True) * 2
        y.register_post_accumulate_grad_hook(lambda tensor: None)

    agree(case, "post accumulate grad hooks cannot be registered on non-leaf tensors")


def test_post_accumulate_hook_may_use_the_gradient_up():
    def case(lib):
        x = lib.tensor([1.0, 2.0], requires_grad=True)

        def step(tensor):
            with lib.no_grad():
                tensor.sub_(tensor.grad * 0.1)
            tensor.grad = None

        x.register_post_accumulate_grad_hook(step)
        (x * x).sum().backward()
        return x, x.grad

    agree(case)


def test_hooks_run_for_autograd_grad_too():
    def case(lib):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = x * x
        y.register_hook(lambda grad: grad * 2)
        x.register_hook(lambda grad: grad + 1)
        return lib.autograd.grad(y.sum(), x)

    agree(case)


def test_hooks_of_what_grad_does_not_need_stay_quiet():
    def case(lib):
        seen = []
        x, y = lib.ones(1, requires_grad=True), lib.ones(1, requires_grad=True)
        unneeded = y * 2
        unneeded.register_hook(lambda grad: seen.append("unneeded"))
        y.register_hook(lambda grad: seen.append("leaf"))
        lib.autograd.grad(x * unneeded, x)
        return seen

    agree(case)


def test_hook_is_recorded_with_create_graph():
    def case(lib):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = x * x
        y.register_hook(lambda grad: grad * grad)
        (g,) = lib.autograd.grad((y * y).sum(), x, create_graph=True)
        return g, lib.autograd.grad(g.sum(), x)

    agree(case)


def test_node_hooks():
    def case(lib):
        seen = []
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = x * lib.tensor([3.0, 4.0])
        y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))

        def after(inputs, outputs):
            seen.append((inputs[0].clone(), outputs[0].clone()))
            return (inputs[0] * 10, *inputs[1:])

        y.grad_fn.register_hook(after)
        y.sum().backward()
        return seen, x.grad

    agree(case)


def test_hook_in_place_before_a_write_stays_with_the_old_tensor():
    def case(lib):
        seen = []
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        y.register_hook(lambda grad: seen.append(grad.clone()))
        y.mul_(3)
        y.sum().backward()
        return seen, x.grad

    agree(case)


def test_leaf_keeps_its_hooks_when_its_data_is_replaced():
    x = flow.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad * 7)
    x.data = flow.tensor([5.0, 6.0])
    (x * 1).sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_error_in_a_hook_comes_through():
    x = flow.ones(2, requires_grad=True)
    x.register_hook(lambda grad: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        x.sum().backward()


@pytest.mark.parametrize(
    ("hook", "error"),
    [
        (lambda grad: grad[:1], RuntimeError),
        (lambda grad: grad.double(), RuntimeError),
        (lambda grad: 2.0, TypeError),
    ],
)
def test_hook_that_returns_no_such_gradient(hook, error):
    for lib in (flow, torch):
        x = lib.ones(2, requires_grad=True)
        x.register_hook(hook)
        with pytest.raises(error, match="hook"):
            x.sum().backward()
        assert x.grad is None


def test_deleting_a_gradient():
    for lib in (flow, torch):
        x = lib.ones(2, requires_grad=True)
        x.sum().backward()
        del x.grad
        assert x.grad is None


def _penalty(lib, act, layer, x):
    y = act(layer(x)).sum()
    (slope,) = lib.autograd.grad(y, x, create_graph=True)
    (slope * slope).sum().backward()


def _penalty_and_value(lib, act, layer, x):
    y = act(layer(x)).sum()
    (slope,) = lib.autograd.grad(y, x, create_graph=True)
    ((slope * slope).sum() + y).backward()


def _third_order(lib, act, layer, x):
    found = act(layer(x)).sum()
    for _ in range(3):
        (slope,) = lib.autograd.grad(found, x, create_graph=True)
        found = (slope * slope).sum()


def _by_the_weight(lib, act, layer, x):
    y = act(layer(x)).sum()
    (slope,) = lib.autograd.grad(y, layer.weight, create_graph=True)
    (slope * slope).sum().backward()


def _twice(lib, act, layer, x):
    y = act(layer(x)).sum()
    y.backward(retain_graph=True)
    y.backward()


@pytest.mark.parametrize(
    "passes", [_penalty, _penalty_and_value, _third_order, _by_the_weight, _twice]
)
def test_hooks_of_modules_fire_where_gradients_came_in_by_their_outputs(passes):
    def case(lib):
        layer, act = lib.nn.Linear(2, 1, bias=False), lib.nn.Tanh()
        with lib.no_grad():
            layer.weight.copy_(lib.tensor([[1.0, 2.0]]))
        seen = []
        for name, module in (("layer", layer), ("act", act)):
            module.register_full_backward_hook(
                lambda m, inputs, outputs, name=name: seen.append((name, inputs, outputs))
            )
            module.register_full_backward_pre_hook(
                lambda m, outputs, name=name: seen.append((name, outputs))
            )
        x = lib.tensor([[0.3, 0.5]], requires_grad=True)
        passes(lib, act, layer, x)
        return seen, x.grad, layer.weight.grad

    agree(case)


def given_inputs(lib, inputs):
    """Gradients and calls of hooks of a backward pass that gives gradients to some tensors only."""
    x, y = (lib.tensor([n, 3.0], requires_grad=True) for n in (1.0, 2.0))
    hidden = x * 2
    result = hidden * y
    tensors, calls = {"x": x, "y": y, "hidden": hidden, "result": result}, []
    if "retained" in inputs:
        hidden.retain_grad()
    for name, tensor in tensors.items():
        node = tensor.grad_fn if tensor.grad_fn is not None else hidden.grad_fn.next_functions[0][0]
        tensor.register_hook(lambda grad, name=name: calls.append((name, grad.tolist())))
        if name in ("x", "hidden"):
            node.register_prehook(lambda grads, name=name: calls.append((name, "before")))
            node.register_hook(lambda *grads, name=name: calls.append((name, "after")))
    x.register_post_accumulate_grad_hook(lambda leaf: calls.append(("x", leaf.grad.tolist())))
    for _ in range(2):
        chosen = [tensors[name] for name in inputs if name in tensors]
        result.sum().backward(inputs=chosen, retain_graph=True)
    grads = [tensor.grad for tensor in tensors.values() if tensor.is_leaf or tensor.retains_grad]
    # Nodes that do not depend on each other may run in any order.
    calls.sort(key=lambda call: call[0])
    return calls, grads, [tensor.retains_grad for tensor in tensors.values()]


@pytest.mark.parametrize(
    "inputs",
    [
        ("x",),
        ("hidden",),
        ("hidden", "x", "x"),
        ("hidden", "hidden", "y"),
        ("hidden", "retained"),
        ("x", "y", "retained"),
        ("result",),
    ],
    ids=" ".join,
)
def test_backward_that_gives_gradients_to_some_tensors(inputs):
    agree(lambda lib: given_inputs(lib, inputs))


def test_hooks_of_tensors_run_before_those_of_their_nodes():
    def case(lib):
        log = []

        def threefold(grad):
            log.append("tensor")
            return grad * 3

        def twofold(grads):
            log.append("node")
            return tuple(grad * 2 for grad in grads)

        x = lib.tensor(1.0, requires_grad=True)
        y = x.clone()
        y.grad_fn.register_prehook(twofold)
        y.register_hook(threefold)
        leaf = y.grad_fn.next_functions[0][0]
        leaf.register_prehook(twofold)
        x.register_hook(threefold)
        y.sum().backward(retain_graph=True)
        (grad,) = lib.autograd.grad(y.sum(), (x,), retain_graph=True)
        y.sum().backward(inputs=(y,))
        return log, x.grad, grad, y.grad

    agree(case)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_node_is_called_with_the_gradients_of_its_outputs(count):
    def case(lib):
        x = lib.tensor([2.0, 3.0], requires_grad=True)
        return (x**3).grad_fn(*[lib.tensor([1.0, 10.0])] * count)

    agree(case, None if count == 1 else "arguments")


@pytest.mark.parametrize("framework", [torch, flow], ids=["torch", "oneflow"])
def test_hooks_of_one_tensor_see_one_gradient(framework):
    x = framework.ones(2, requires_grad=True)
    y, seen = x * 3, []
    y.retain_grad()
    y.register_hook(lambda grad: setattr(grad, "note", "first"))
    y.register_hook(lambda grad: seen.append(grad.note))
    y.register_hook(lambda grad: grad * 2)
    y.register_hook(lambda grad: seen.append(getattr(grad, "note", None)))
    y.sum().backward()
    assert seen == ["first", None]


@pytest.mark.parametrize("framework", [torch, flow], ids=["torch", "oneflow"])
def test_hooks_write_into_gradients(framework):
    def multiply(grad):
        grad.mul_(5)

    x = framework.ones(2, requires_grad=True)
    y = x * 3
    y.retain_grad()
    for hook in (lambda grad: grad * 2, multiply):
        y.register_hook(hook)
    x.register_hook(multiply)
    y.sum().backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([10.0] * 2, [150.0] * 2)


@pytest.mark.parametrize("framework", [torch, flow], ids=["torch", "oneflow"])
def test_hooks_of_one_layer_see_one_gradient(framework):
    layer, seen = framework.nn.Linear(2, 2), []
    for _ in range(2):
        layer.register_full_backward_hook(lambda module, inputs, grads: seen.append(grads[0]))
    layer(framework.ones(2, requires_grad=True)).sum().backward()
    assert len(seen) == 2
    assert seen[0] is seen[1]


def _same_memory(tensors):
    """Per tensor, the place of the first one whose elements are at the same address."""
    addresses = [tensor.data_ptr() for tensor in tensors]
    return [addresses.index(address) for address in addresses]


def test_modules_with_backward_hooks_pass_the_memory_on():
    """A tensor that goes from one to the next is the same memory to both."""

    def case(lib):
        seen = []
        layers = lib.nn.Sequential(
            lib.nn.Conv2d(1, 2, 3), lib.nn.MaxPool2d(2), lib.nn.Flatten(), lib.nn.Identity()
        )
        for layer in layers:
            layer.register_forward_hook(lambda _, args, out: seen.extend((args[0], out)))
            layer.register_full_backward_hook(lambda *_: None)
        seen.append(layers(lib.ones(2, 1, 4, 4, requires_grad=True) * 1))
        bases = [tensor._is_view() for tensor in seen[1:]]
        return [lib.tensor(_same_memory(seen)), lib.tensor(bases)]

    agree(case)


def test_modules_with_backward_hooks_write_to_the_tensor_of_the_caller():
    def case(lib):
        seen = []

        class Module(lib.nn.Module):
            def forward(self, x):
                seen.append(x)
                with lib.no_grad():
                    x.add_(1)
                return lib.ones(1)

        module = Module()
        module.register_full_backward_hook(lambda *_: None)
        x = lib.ones(3, requires_grad=True) * 2
        module(x)
        return [x, lib.tensor(seen[0]._base is x), lib.tensor(seen[0].is_set_to(x))]

    agree(case)


def test_a_function_that_returns_its_argument_returns_its_memory():
    def case(lib):
        class Scaled(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                return x, y * 2

            @staticmethod
            def backward(ctx, x_grad, y_grad):
                return x_grad * 3, y_grad * 2

        x, y = (lib.ones(3, requires_grad=True) for _ in range(2))
        middle = x * 1
        same, other = Scaled.apply(middle, y)
        (same.sum() + other.sum()).backward()
        is_view = [same._base is middle, same._is_view(), other._is_view()]
        with lib.no_grad():
            same.mul_(2)
        return [lib.tensor(is_view), lib.tensor(_same_memory([middle, same])), middle, x.grad]

    agree(case)


def test_a_write_behind_a_backward_hook_keeps_gradients():
    """PyTorch refuses such writes; they are what a clone and the write give."""
    x = flow.tensor([-1.0, 2.0], requires_grad=True)
    module = flow.nn.ReLU(inplace=True)
    seen = []
    module.register_full_backward_hook(lambda _, grad_input, grad_output: seen.append(grad_input))
    middle = x * 3
    result = module(middle)
    assert middle.tolist() == result.tolist() == [0.0, 6.0]
    (result.sum() + middle.sum()).backward()
    assert x.grad.tolist() == [0.0, 6.0]
    assert [grad.tolist() for (grad,) in seen] == [[0.0, 2.0]]
