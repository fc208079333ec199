"""Transformed functions in every mode, against PyTorch: values, history, gradients.

A cell is a transform, a mode in which it is called or a thing that the function does, and which of
the tensors require grad: the primal, a tensor that the function closes over, the (co)tangent. Its
outcome are the values and the gradients of all leaves; or that the call or the backward pass is
refused.
"""

from __future__ import annotations

import contextlib
import itertools

import pytest
import torch

import oneflow as flow
from tests.autograd.both import plain, same

PRIMAL, CLOSED, TANGENT = [0.3, -0.7], [1.5, 0.4], [2.0, -1.0]


class Cell:
    """One call of a transform.

    Attributes:
        t: the library.
        x: the primal.
        w: the tensor that functions close over.
        v: the tangent or cotangent.
        act: what happens inside functions to their argument.
    """

    def __init__(self, t, requires_grad, act):
        self.t, self._act = t, act
        data = (PRIMAL, CLOSED, TANGENT)
        self.leaves = tuple(
            t.tensor(entry, requires_grad=wanted)
            for entry, wanted in zip(data, requires_grad, strict=True)
        )
        self.x, self.w, self.v = self.leaves

    def curve(self, x):
        """A function of a tensor, of the same shape."""
        return (self._act(self, x) * self.w).sin() * x

    def loss(self, x):
        """A function without dimensions."""
        return self.curve(x).sum()


def _module_gradients(cell):
    layer = cell.t.nn.Linear(2, 1, bias=False)

    def loss(weights):
        return cell.t.func.functional_call(layer, weights, (cell.w,)).sin().sum()

    return cell.t.func.grad(loss)({"weight": cell.x[None]})["weight"]


def _linearized(cell):
    value, change = cell.t.func.linearize(cell.curve, cell.x)
    return value, change(cell.v)


def _pulled_back(cell):
    return cell.t.func.vjp(cell.curve, cell.x)


TRANSFORMS = {
    "grad": lambda c: c.t.func.grad(c.loss)(c.x),
    "grad with aux": lambda c: c.t.func.grad(
        lambda x: (c.loss(x), (x * c.w, c.w * 1)), has_aux=True
    )(c.x),
    "grad_and_value": lambda c: c.t.func.grad_and_value(c.loss)(c.x),
    "grad by structures": lambda c: c.t.func.grad(lambda p: c.loss(p["a"]))({"a": c.x})["a"],
    "grad by several": lambda c: c.t.func.grad(
        lambda x, v: (c.curve(x) * v * v).sum(), argnums=(0, 1)
    )(c.x, c.v),
    "grad by one of several": lambda c: c.t.func.grad(lambda x, v: (c.curve(x) * v).sum())(
        c.x, c.v
    ),
    "grad of nothing": lambda c: c.t.func.grad(lambda x: c.w.sum())(c.x),
    "value of vjp": lambda c: _pulled_back(c)[0],
    "vjp": lambda c: _pulled_back(c)[1](c.v)[0],
    "value and vjp": lambda c: (_pulled_back(c)[0], _pulled_back(c)[1](c.v)[0]),
    "aux of vjp": lambda c: c.t.func.vjp(lambda x: (c.curve(x), x * c.w), c.x, has_aux=True)[2],
    "vjp of linear": lambda c: c.t.func.vjp(lambda x: x * c.w, c.x)[1](c.v)[0],
    "vjp called twice": lambda c: (lambda f: (f(c.v)[0], f(2 * c.v)[0]))(_pulled_back(c)[1]),
    "jvp": lambda c: c.t.func.jvp(c.curve, (c.x,), (c.v,)),
    "jvp of linear": lambda c: c.t.func.jvp(lambda x: x * c.w, (c.x,), (c.v,)),
    "jvp of nothing": lambda c: c.t.func.jvp(lambda x: c.w * 1, (c.x,), (c.v,)),
    "jvp with aux": lambda c: c.t.func.jvp(
        lambda x: (c.curve(x), x * c.w), (c.x,), (c.v,), has_aux=True
    ),
    "jacrev": lambda c: c.t.func.jacrev(c.curve)(c.x),
    "jacrev of linear": lambda c: c.t.func.jacrev(lambda x: x * c.w)(c.x),
    "jacrev of nothing": lambda c: c.t.func.jacrev(lambda x: c.w * 1)(c.x),
    "jacrev with aux": lambda c: c.t.func.jacrev(lambda x: (c.curve(x), x * c.w), has_aux=True)(
        c.x
    ),
    "jacfwd": lambda c: c.t.func.jacfwd(c.curve)(c.x),
    "hessian": lambda c: c.t.func.hessian(c.loss)(c.x),
    "linearize": _linearized,
    "functional_call": _module_gradients,
    "vmap": lambda c: c.t.func.vmap(c.curve)(c.t.stack([c.x, c.v])),
    "vmap of grad": lambda c: c.t.func.vmap(c.t.func.grad(c.loss))(c.t.stack([c.x, c.v])),
    "vmap of vjp": lambda c: c.t.func.vmap(
        lambda x, v: c.t.func.vjp(c.curve, x)[1](v)[0], in_dims=(0, None)
    )(c.t.stack([c.x, c.x * 2]), c.v),
    "vmap of jvp": lambda c: c.t.func.vmap(lambda v: c.t.func.jvp(c.curve, (c.x,), (v,))[1])(
        c.t.stack([c.v, c.v * 2])
    ),
    "vmap of jacrev": lambda c: c.t.func.vmap(c.t.func.jacrev(c.curve))(c.t.stack([c.x, c.v])),
    "grad of grad": lambda c: c.t.func.grad(lambda x: c.t.func.grad(c.loss)(x).sum())(c.x),
    "grad of grad of the closed": lambda c: c.t.func.grad(
        lambda y: c.t.func.grad(lambda x: (c.curve(x) * y).sum())(c.x).sum()
    )(c.v),
    "grad of vmap": lambda c: c.t.func.grad(
        lambda x: c.t.func.vmap(lambda y: c.curve(y) * c.v)(c.t.stack([x, x * 2])).sum()
    )(c.x),
    "grad of vmap of grad": lambda c: c.t.func.grad(
        lambda x: c.t.func.vmap(c.t.func.grad(c.loss))(c.t.stack([x, x * 2])).sum()
    )(c.x),
    "grad of vjp by its cotangent": lambda c: c.t.func.grad(
        lambda y: (_pulled_back(c)[1](y)[0] * c.w).sum()
    )(c.v),
    "grad of an outer vjp by its cotangent": lambda c: (
        lambda f: c.t.func.grad(lambda y: (f(y)[0] * c.w).sum())(c.v)
    )(_pulled_back(c)[1]),
    "jvp of grad": lambda c: c.t.func.jvp(c.t.func.grad(c.loss), (c.x,), (c.v,)),
    "vjp of grad": lambda c: c.t.func.vjp(c.t.func.grad(c.loss), c.x)[1](c.v)[0],
    "grad of jvp": lambda c: c.t.func.grad(lambda x: c.t.func.jvp(c.curve, (x,), (c.v,))[1].sum())(
        c.x
    ),
    "jacrev of jacfwd": lambda c: c.t.func.jacrev(c.t.func.jacfwd(c.loss))(c.x),
    "jacfwd of jacrev": lambda c: c.t.func.jacfwd(c.t.func.jacrev(c.loss))(c.x),
}

PRODUCTS = {
    "jacobian": lambda c, **o: c.t.autograd.functional.jacobian(c.curve, c.x, **o),
    "functional.hessian": lambda c, **o: c.t.autograd.functional.hessian(c.loss, c.x, **o),
    "functional.vjp": lambda c, **o: c.t.autograd.functional.vjp(c.curve, c.x, c.v, **o),
    "functional.jvp": lambda c, **o: c.t.autograd.functional.jvp(c.curve, c.x, c.v, **o),
    "vhp": lambda c, **o: c.t.autograd.functional.vhp(c.loss, c.x, c.v, **o),
    "hvp": lambda c, **o: c.t.autograd.functional.hvp(c.loss, c.x, c.v, **o),
}
for _name, _product in PRODUCTS.items():
    TRANSFORMS[_name] = _product
    TRANSFORMS[f"{_name} with create_graph"] = lambda c, p=_product: p(c, create_graph=True)


def _in_forward(cell, call):
    """The results of a call inside the forward function of an operator."""

    class Operator(cell.t.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, v):
            cell.x, cell.w, cell.v = x, w, v
            return tuple(_flat(call()))

        @staticmethod
        def backward(ctx, *grads):
            return (grads[0].sum(), None, None)

    return Operator.apply(*cell.leaves)


def _checkpointed(cell, call):
    def run(x, w, v):
        cell.x, cell.w, cell.v = x, w, v
        return tuple(_flat(call()))

    return cell.t.utils.checkpoint.checkpoint(run, *cell.leaves, use_reentrant=False)


def _within(*names):
    """A mode made of context managers of the library."""

    def mode(cell, call):
        with contextlib.ExitStack() as stack:
            for name, *args in names:
                stack.enter_context(getattr(cell.t, name)(*args))
            return call()

    return mode


def _of_computed(cell, call):
    """The call on tensors that are no leaves."""
    cell.x, cell.w, cell.v = (leaf * 1 for leaf in cell.leaves)
    return call()


MODES = {
    "plain": lambda cell, call: call(),
    "no_grad": _within(("no_grad",)),
    "set_grad_enabled": _within(("set_grad_enabled", False)),
    "enable_grad in no_grad": _within(("no_grad",), ("enable_grad",)),
    "inference_mode": _within(("inference_mode",)),
    "forward": _in_forward,
    "checkpoint": _checkpointed,
    "computed": _of_computed,
}


def _without_gradients(cell, x):
    with cell.t.no_grad():
        return x * 2


def _hooked(cell, x):
    y = x * 1
    y.register_hook(lambda g: g * 3)
    return y


def _retained(cell, x):
    y = x * 1
    y.retain_grad()
    return y


def _written_copy(cell, x):
    y = x * 1
    y.mul_(cell.w)
    y[0] = 2.0
    return y


def _written_view(cell, x):
    y = x * 1
    y[:1].mul_(3)
    return y


def _checkpointed_inside(cell, x):
    return cell.t.utils.checkpoint.checkpoint(lambda y: y * y, x, use_reentrant=False)


ACTS = {
    "nothing": lambda cell, x: x,
    "no_grad": _without_gradients,
    "detach": lambda cell, x: x.detach() * x,
    "hook": _hooked,
    "retain_grad": _retained,
    "write to a copy": _written_copy,
    "write to a view": _written_view,
    "write to the argument": lambda cell, x: x.mul_(2),
    "write to the closed": lambda cell, x: x * cell.w.mul_(2),
    "checkpoint": _checkpointed_inside,
    # The results of others.
    "copy": lambda cell, x: x * 1,
    "square": lambda cell, x: x * x,
}


def _flat(results):
    if isinstance(results, tuple | list):
        return [tensor for item in results for tensor in _flat(item)]
    return [results]


def outcome(lib, names, requires_grad):
    """The outcome of a cell: values and gradients, or that the call or the pass is refused.

    A leaf that gets no gradient counts as one with a gradient of zeros, and so does a result
    without history: what depends on something in form alone requires grad in one library or the
    other.
    """
    name, mode, act = names
    cell = Cell(lib, requires_grad, ACTS[act])
    try:
        results = _flat(MODES[mode](cell, lambda: TRANSFORMS[name](cell)))
    except (RuntimeError, ValueError, AttributeError):
        return "refused"
    values, tracked = (
        plain(results),
        [result for result in enumerate(results) if result[1].requires_grad],
    )
    try:
        if tracked:
            sum((n + 2) * (tensor * tensor).sum() for n, tensor in tracked).backward()
    except RuntimeError:
        return values, "refused"
    none = lib.zeros(2)
    return values, [plain(none if leaf.grad is None else leaf.grad) for leaf in cell.leaves]


# Transforms that PyTorch computes by forward-mode differentiation of the innermost function.
FORWARD = {
    "jvp",
    "jvp with aux",
    "jacfwd",
    "linearize",
    "vmap of jvp",
    "grad of jvp",
    "jacrev of jacfwd",
}
OF_VMAP = {"vmap", "grad of vmap"}
# Transforms in which PyTorch finds forward-mode differentiation somewhere.
MIXED = FORWARD | {"hessian", "jvp of grad", "jacfwd of jacrev"}


def reference(name, mode, act):
    """The cell of PyTorch's that tells what a cell must give; None: there is none.

    PyTorch's own limits are no law. It refuses checkpoints and hooks in some transforms. Its
    `linearize` takes everything but the tangent for constant, and gives zeros without grad mode.
    `autograd.functional` gives zeros in inference mode.
    """
    if name == "linearize":
        name = "jvp"
    if mode == "inference_mode" and name.removesuffix(" with create_graph") in PRODUCTS:
        name, mode = name.removesuffix(" with create_graph"), "no_grad"
    if mode == "checkpoint":
        mode = "plain"
    if act == "checkpoint":
        act = "square"
    if act == "hook" and name in FORWARD:
        act = "copy"
    if (
        (act == "hook" and name in OF_VMAP)
        # These two are in docs/differences.md.
        or (act == "no_grad" and name in MIXED)
        or (act == "write to the argument" and name in PRODUCTS.keys() | FORWARD | OF_VMAP)
        or (act == "write to the argument" and name.endswith("create_graph"))
    ):
        return None
    return name, mode, act


def compare(name, mode, act, combinations):
    """Compare a row of cells, and return those that differ."""
    wrong = []
    expected = reference(name, mode, act)
    if expected is None:
        return []
    for requires_grad in combinations:
        if act == "write to the closed" and not requires_grad[CLOSES]:
            continue  # see docs/differences.md
        ours = outcome(flow, (name, mode, act), requires_grad)
        theirs = outcome(torch, expected, requires_grad)
        if mode == "inference_mode" and "refused" not in (ours, theirs):
            ours, theirs = ours[0], theirs[0]  # nothing has history there
        if not same(_listed(ours), _listed(theirs)):
            wrong.append(f"{requires_grad}\n   ours:   {ours}\n   theirs: {theirs}")
    return wrong


def _listed(outcome):
    return list(outcome) if isinstance(outcome, tuple) else outcome


CLOSES = 1
EVERY = list(itertools.product([False, True], repeat=3))


@pytest.mark.parametrize("mode", ["plain", "no_grad"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name, mode):
    wrong = compare(name, mode, "nothing", [(False, True, False), (True, True, True)])
    assert not wrong, "\n".join(wrong)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_in_modes(name, mode):
    wrong = compare(name, mode, "nothing", EVERY)
    assert not wrong, "\n".join(wrong)


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    "act", [behavior for behavior in ACTS if behavior not in ("nothing", "copy", "square")]
)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_of_functions_that_act(name, act):
    wrong = compare(name, "plain", act, EVERY)
    assert not wrong, "\n".join(wrong)


def _backward_inside(lib, transform):
    w = lib.tensor(CLOSED, requires_grad=True)

    def loss(x):
        (w * w).sum().backward()
        return (x * w).sum()

    return transform(loss)(lib.tensor(PRIMAL))


@pytest.mark.parametrize("name", ["grad", "jacrev", "jacfwd", "hessian"])
def test_backward_passes_that_deposit_are_refused_inside(name):
    for lib in (flow, torch):
        with pytest.raises(RuntimeError, match=r"backward\(\) called inside a func"):
            _backward_inside(lib, getattr(lib.func, name))


def test_hooks_of_a_function_see_the_gradients_of_its_transform_alone():
    seen = []

    def loss(x):
        y = x * 1
        y.register_hook(lambda g: seen.append(g.item()))
        return y**3

    x = flow.tensor(2.0, requires_grad=True)
    value, pull = flow.func.vjp(loss, x)
    value.backward(retain_graph=True)
    assert seen == []
    pull(flow.tensor(1.0))[0].backward()
    assert seen == [12.0]
    assert x.grad.item() == 12.0 + 12.0


def test_results_are_no_leaves_of_the_transform():
    x = flow.tensor(2.0, requires_grad=True)
    value = flow.func.vjp(lambda x: x, x)[0]
    assert not value.is_leaf
    value.backward()
    assert x.grad.item() == 1.0
    assert not flow.func.vjp(lambda x: x, x.detach())[0].requires_grad


def _set(cell, x, w, v):
    cell.x, cell.w, cell.v = x, w, v
    return cell


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_in_graphs(name):
    cell = Cell(flow, (False, True, False), ACTS["nothing"])
    expected = _flat(TRANSFORMS[name](cell))

    class Graph(flow.nn.Graph):
        def build(self, x, w, v):
            return tuple(_flat(TRANSFORMS[name](_set(cell, x, w, v))))

    found = Graph()(*[leaf.detach() for leaf in cell.leaves])
    assert same(plain(list(found)), plain(expected))


class Physics:
    """Training by a loss of which a part is a derivative by the input.

    Args:
        lib: the library.
    """

    def __init__(self, lib):
        class Net(lib.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = lib.nn.Parameter(lib.tensor(CLOSED))

            def forward(self, x):
                slopes = lib.func.vmap(lib.func.grad(lambda y: (y * self.weight).sin().sum()))(x)
                return (slopes * slopes).sum() + (self.weight * x).sum()

        self.net = Net()
        self.optimizer = lib.optim.SGD(self.net.parameters(), lr=0.1)
        self.x = lib.tensor([PRIMAL, TANGENT])

    def steps(self):
        """The weight after three steps."""
        for _ in range(3):
            self.optimizer.zero_grad()
            self.net(self.x).backward()
            self.optimizer.step()
        return plain(self.net.weight)


def test_losses_of_derivatives_train_in_eager_mode_and_in_graphs():
    expected = Physics(torch).steps()
    assert same(Physics(flow).steps(), expected)
    training = Physics(flow)

    class Step(flow.nn.Graph):
        def __init__(self):
            super().__init__()
            self.net = training.net
            self.add_optimizer(training.optimizer)

        def build(self, x):
            loss = self.net(x)
            loss.backward()
            return loss

    step = Step()
    for _ in range(3):
        step(training.x)
    assert same(plain(training.net.weight), expected)
